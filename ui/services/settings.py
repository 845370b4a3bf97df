"""Changing the settings: one function for REST and for the page."""

import logging
from collections.abc import Iterable, Mapping, Set

from pydantic import ValidationError

from market.decide.kill_switch import TradingState
from market.decide.settings import Settings
from market.decide.thresholds import exchanges_of_cycle, exchanges_of_pair
from session.session import Session
from store.app_actions import is_app
from store.errors import VersionConflictError
from ui.auth.callers import Caller
from ui.rows.field_problems import FieldProblem, field_problems, words_of
from ui.services.change_audit import AuditNote, auditing
from ui.services.dashboard import Dashboard

log = logging.getLogger("ui")

MOST_BY_APPS = 200
"""Versions that apps may have made since those that a person changes; more are a conflict."""


class SettingsInvalidError(Exception):
    """`errors`: which field is wrong and why."""

    def __init__(self, errors: list[FieldProblem]) -> None:
        super().__init__(words_of(errors))
        self.errors = errors


class SettingsMissingError(Exception):
    """There are no settings yet; they come with the first start of a bot or of the supervisor."""


async def known_settings(dashboard: Dashboard) -> Settings | None:
    """Return the settings in force, None before the first start. If the page's region reaches no primary, they are from
    its own member, since a search for the primary would delay the answer for long. Raises StoreUnavailableError."""
    reader, standing = dashboard.reader, dashboard.hub.regions
    is_cut = standing is not None and standing.primary_lost_since is not None
    return await (reader.settings_nearby if is_cut else reader.settings).current()


async def change_settings(
    dashboard: Dashboard, changes: Mapping[str, object], expected_version: int, caller: Caller, on_behalf: str = ""
) -> Settings:
    """Replace the fields in `changes`; return the settings in force afterwards. `on_behalf`: the name for the history.

    Raises VersionConflictError if `expected_version` is not the newest, SettingsInvalidError, SettingsMissingError,
    StoreUnavailableError.
    """
    async with auditing(dashboard, caller, "settings.change", "settings", on_behalf) as note:
        note.after = changes
        saved = await _changed_over_apps(dashboard, changes, expected_version, on_behalf or caller.name, note)
        dashboard.hub.apply_settings(saved)
        note.after, note.settings_version = values_of(saved, changes), saved.version
    log.info("settings changed", extra={"version": saved.version, "who": caller.name, "fields": sorted(changes)})
    return saved


async def _changed_over_apps(
    dashboard: Dashboard, changes: Mapping[str, object], expected_version: int, who: str, note: AuditNote
) -> Settings:
    """Change the settings; versions that apps alone made since, of other fields, are no conflict: people go first."""
    settings = dashboard.reader.settings
    while True:
        current = await settings.current()
        if current is None:
            raise SettingsMissingError
        note.before = values_of(current, changes)
        if current.version != expected_version and not await _are_by_apps(
            dashboard, expected_version, current.version, set(changes)
        ):
            raise VersionConflictError(current.version)
        changed = changed_settings(current, changes, dashboard.session.exchanges, dashboard.session.bases)
        try:
            return await settings.change(changed, current.version, who)
        except VersionConflictError:
            # who came first is looked at again: an app, or a person
            continue


async def _are_by_apps(dashboard: Dashboard, since: int, until: int, fields: Set[str]) -> bool:
    """Return whether apps alone made the versions after `since` up to `until`, and none of these fields differs."""
    if not 0 < until - since <= MOST_BY_APPS:
        return False
    newest = (await dashboard.reader.settings_history(None, until - since + 1)).items
    made = [one for one in newest if since < one.version <= until]
    return len(made) == until - since and all(
        is_app(one.who) and one.before is not None and not fields & differing(one.before, one.after) for one in made
    )


def differing(before: Settings, after: Settings) -> set[str]:
    """Return the fields, the version left out, whose values differ."""
    return {name for name in Settings.model_fields if getattr(before, name) != getattr(after, name)} - {"version"}


async def switch_trading(dashboard: Dashboard, state: TradingState, caller: Caller, on_behalf: str = "") -> Settings:
    """Set the kill switch. Applies to whatever settings are in force, so a concurrent change cannot block it.

    Returns the settings in force afterwards; no new version if the state was already so. Raises SettingsMissingError,
    StoreUnavailableError.
    """
    who = on_behalf or caller.name
    async with auditing(dashboard, caller, "trading.switch", "trading_state", on_behalf) as note:
        note.after = {"trading_state": state}
        current = await dashboard.reader.settings.current()
        note.before = {} if current is None else {"trading_state": current.trading_state, "version": current.version}
        saved = await dashboard.reader.settings.amend(lambda now: now.model_copy(update={"trading_state": state}), who)
        if saved is None:
            raise SettingsMissingError
        dashboard.hub.apply_settings(saved)
        note.after = {"trading_state": saved.trading_state, "version": saved.version}
        note.settings_version = saved.version
    log.warning("trading switched", extra={"version": saved.version, "who": caller.name, "trading_state": state})
    return saved


async def switch_asset(dashboard: Dashboard, base: str, is_on: bool, caller: Caller) -> Settings:
    """Take an asset off the session, or back; one on standby is added. Applies to whatever settings are in force.

    Returns the settings in force afterwards; no new version if it was already so. Raises SettingsMissingError,
    StoreUnavailableError.
    """

    def switched(now: Settings) -> Settings:
        disabled = tuple(name for name in now.disabled_assets if name != base)
        if not is_on:
            return now.model_copy(update={"disabled_assets": (*disabled, base)})
        enabled = now.enabled_assets
        if base in dashboard.session.standby_assets and base not in enabled:
            enabled = (*enabled, base)
        return now.model_copy(update={"disabled_assets": disabled, "enabled_assets": enabled})

    async with auditing(dashboard, caller, "assets.switch", base) as note:
        note.after = {"enabled": is_on}
        current = await dashboard.reader.settings.current()
        was_on = current is not None and is_traded(dashboard.session, base, current)
        note.before = {} if current is None else {"enabled": was_on}
        if current is not None and was_on == is_on:
            return current
        saved = await dashboard.reader.settings.amend(switched, caller.name)
        if saved is None:
            raise SettingsMissingError
        dashboard.hub.apply_settings(saved)
        note.after, note.settings_version = {"enabled": is_on, "version": saved.version}, saved.version
    log.info("asset switched", extra={"version": saved.version, "who": caller.name, "base": base, "is_on": is_on})
    return saved


def is_traded(session: Session, base: str, settings: Settings) -> bool:
    """Return whether arbitrages may begin in the asset."""
    return base not in settings.disabled_assets and not session.is_on_standby(base, settings)


def changed_settings(
    current: Settings, changes: Mapping[str, object], exchanges: tuple[str, ...], bases: tuple[str, ...]
) -> Settings:
    """Return `current` with `changes`, checked. Raises SettingsInvalidError."""
    try:
        changed = Settings.model_validate({**current.model_dump(), **_merged(current, changes)})
    except ValidationError as error:
        raise SettingsInvalidError(field_problems(error.errors(), "settings")) from None
    # exchanges of earlier sessions may stay
    enabled = set(changed.enabled_exchanges) - set(current.enabled_exchanges) - set(exchanges)
    unknown = enabled | (set(changed.taker_fees) - set(current.taker_fees) - set(exchanges))
    if unknown:
        why = f"this session has no exchange {', '.join(sorted(unknown))}; it has {', '.join(exchanges)}"
        named = "enabled_exchanges" if enabled else "taker_fees"
        raise SettingsInvalidError([{"field": named, "why": why}])
    if changed.close_now != current.close_now:
        why = "an arbitrage is closed by POST /api/arbitrages/{id}/close, which looks at its price"
        raise SettingsInvalidError([{"field": "close_now", "why": why}])
    _check_bases(current, changed, bases)
    _check_pairs(current, changed, exchanges)
    return changed


def _check_bases(current: Settings, changed: Settings, bases: tuple[str, ...]) -> None:
    """Raise SettingsInvalidError for an asset that the session does not have; those of earlier ones may stay."""
    for field, named, before in (
        ("disabled_assets", changed.disabled_assets, current.disabled_assets),
        ("enabled_assets", changed.enabled_assets, current.enabled_assets),
        ("asset_limits", changed.asset_limits, current.asset_limits),
        ("asset_thresholds", changed.asset_thresholds, current.asset_thresholds),
    ):
        if unknown := set(named) - set(before) - set(bases):
            why = f"this session has no asset {', '.join(sorted(unknown))}; it has {', '.join(bases)}"
            raise SettingsInvalidError([{"field": field, "why": why}])


def _check_pairs(current: Settings, changed: Settings, exchanges: tuple[str, ...]) -> None:
    """Raise SettingsInvalidError for a pair of exchanges, or a cycle, that the session does not have; those of earlier
    ones may stay."""
    for field, exchanges_of in (
        ("pair_thresholds", exchanges_of_pair),
        ("cycle_thresholds", exchanges_of_cycle),
        ("cycle_notionals", exchanges_of_cycle),
    ):
        new = set(getattr(changed, field)) - set(getattr(current, field))
        if unknown := {exchange for name in new for exchange in exchanges_of(name)} - set(exchanges):
            why = f"this session has no exchange {', '.join(sorted(unknown))}; it has {', '.join(exchanges)}"
            raise SettingsInvalidError([{"field": field, "why": why}])


def _merged(current: Settings, changes: Mapping[str, object]) -> dict[str, object]:
    """Return the settings with the changes; fees that are not named keep their value."""
    fees = changes.get("taker_fees")
    return {**changes, "taker_fees": {**current.taker_fees, **fees}} if isinstance(fees, dict) else {**changes}


def values_of(settings: Settings, names: Iterable[str]) -> dict[str, object]:
    """Return those of `names` that exist, and the version."""
    every: dict[str, object] = settings.model_dump(mode="json")
    return {name: every[name] for name in ("version", *names) if name in every}
