"""Derives the versions of the settings that stream apps made again, from the versions before them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from backtest.verify.first_difference import NOTHING, FirstDifference
from market.decide.settings import Settings
from market.decide.settings_entries import changed_entries, entry_change
from store.app_actions import EntryAuthor, entry_refusal, is_app
from store.server.documents import SettingsVersion
from store.settings_versions import without_exchange


def app_difference(versions: Sequence[SettingsVersion]) -> FirstDifference | None:
    """Return the first version of an app that does not follow: it changes one entry of its own, or takes one exchange
    off, and nothing else. `versions`: all of them, in their order."""
    history = _History()
    for version in versions:
        if is_app(version.who):
            found = history.difference(version)
            if found is not None:
                return found
        history.add(version)
    return None


@dataclass(slots=True)
class _History:
    """Who changed each entry last, and the settings of the newest version."""

    authors: dict[str, EntryAuthor] = field(default_factory=dict)
    newest: Settings | None = None

    def add(self, version: SettingsVersion) -> None:
        changed = (one.name for one in changed_entries(version.before, version.after))
        self.authors |= dict.fromkeys(changed, EntryAuthor(version.who, version.at))
        self.newest = version.after

    def difference(self, version: SettingsVersion) -> FirstDifference | None:
        where, before = f"settings version {version.version} by {version.who}", version.before
        if before is None or (self.newest is not None and before != self.newest):
            return FirstDifference(where, "before", "another", "the version before it")
        if _is_halt(before, version.after):
            return None
        change = entry_change(before, version.after)
        if change is None:
            return FirstDifference(where, "changes", "other settings too", "one entry, or one exchange taken off")
        stands = change.value_in(before)
        refused = entry_refusal(stands, version.who, self.authors.get(change.name), version.at)
        if refused is not None:
            recorded, derived = (NOTHING if one is None else one for one in (change.value, stands))
            return FirstDifference(where, change.name, recorded, f"{derived} ({refused})")
        return None


def _is_halt(before: Settings, after: Settings) -> bool:
    return any(without_exchange(before, name) == after for name in before.enabled_exchanges)
