"""One entry of the settings that a stream app may change: the pause of an asset, or a threshold of its own. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args

from market.decide.settings import Settings

EntrySetting = Literal["disabled_assets", "asset_thresholds", "pair_thresholds"]
ENTRY_SETTINGS: tuple[EntrySetting, ...] = get_args(EntrySetting)


@dataclass(frozen=True, slots=True)
class EntryChange:
    """What one entry is to be: `key` is an asset, or a pair as `market.decide.thresholds` names it.

    `value`: the threshold in bps, True for a paused asset; None: there is no such entry.
    """

    setting: EntrySetting
    key: str
    value: float | None

    @property
    def name(self) -> str:
        """Return the name of the entry among all."""
        return f"{self.setting} {self.key}"

    def value_in(self, settings: Settings) -> float | None:
        """Return what the entry is in `settings`."""
        if self.setting == "disabled_assets":
            return True if self.key in settings.disabled_assets else None
        return _thresholds(settings, self.setting).get(self.key)

    def applied(self, settings: Settings) -> Settings:
        """Return the settings with the entry, and the same version. Raises ValueError if they do not allow it."""
        if self.value_in(settings) == self.value:
            return settings
        changed: object
        if self.setting == "disabled_assets":
            others = tuple(name for name in settings.disabled_assets if name != self.key)
            changed = others if self.value is None else (*others, self.key)
        else:
            kept = {name: value for name, value in _thresholds(settings, self.setting).items() if name != self.key}
            changed = kept if self.value is None else {**kept, self.key: self.value}
        return Settings.model_validate(settings.model_dump() | {self.setting: changed})


def changed_entries(before: Settings | None, after: Settings) -> list[EntryChange]:
    """Return the entries that differ, as they are in `after`; all that it has, if there was nothing before."""
    found: list[EntryChange] = []
    for setting in ENTRY_SETTINGS:
        keys = {*getattr(after, setting), *(() if before is None else getattr(before, setting))}
        for key in sorted(keys):
            change = EntryChange(setting, key, EntryChange(setting, key, None).value_in(after))
            if before is None or change.value_in(before) != change.value:
                found.append(change)
    return found


def entry_change(before: Settings, after: Settings) -> EntryChange | None:
    """Return the one entry by which the two differ beside their versions; None if they differ otherwise."""
    found = changed_entries(before, after)
    if len(found) != 1:
        return None
    alike = before.model_copy(update={"version": after.version, found[0].setting: getattr(after, found[0].setting)})
    return found[0] if alike == after else None


def _thresholds(settings: Settings, setting: EntrySetting) -> dict[str, float]:
    return settings.asset_thresholds if setting == "asset_thresholds" else settings.pair_thresholds
