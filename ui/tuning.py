"""Changing the settings: one function for REST and for the page."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from market.settings import Settings, TradingState
from store.errors import VersionConflictError
from ui.dashboard import Dashboard
from ui.field_problems import FieldProblem, field_problems

log = logging.getLogger("ui")


@dataclass(slots=True)
class SettingsInvalidError(Exception):
    """`errors`: which field is wrong and why."""

    errors: list[FieldProblem]


class SettingsMissingError(Exception):
    """There are no settings yet; they come with the first start of a bot or of the supervisor."""


async def change_settings(
    dashboard: Dashboard, changes: Mapping[str, object], expected_version: int, who: str
) -> Settings:
    """Replace the fields in `changes`; the settings in force afterwards.

    Raises VersionConflictError where `expected_version` is not the newest, SettingsInvalidError, SettingsMissingError,
    StoreUnavailableError.
    """
    current = await dashboard.reader.settings()
    if current is None:
        raise SettingsMissingError
    if current.version != expected_version:
        raise VersionConflictError(current.version)
    changed = changed_settings(current, changes, dashboard.session.exchanges)
    saved = await dashboard.reader.change_settings(changed, expected_version, who)
    dashboard.hub.note_settings(saved)
    log.info("settings changed", extra={"version": saved.version, "who": who, "fields": sorted(changes)})
    return saved


async def switch_trading(dashboard: Dashboard, state: TradingState, who: str) -> Settings:
    """The kill switch: from whatever settings are in force, so that no other change at the same time comes before it.

    The settings in force afterwards; nothing is kept in the history where the state was so already. Raises
    SettingsMissingError, StoreUnavailableError.
    """
    saved = await dashboard.reader.amend_settings(lambda now: now.model_copy(update={"trading_state": state}), who)
    if saved is None:
        raise SettingsMissingError
    dashboard.hub.note_settings(saved)
    log.warning("trading switched", extra={"version": saved.version, "who": who, "trading_state": state})
    return saved


def changed_settings(current: Settings, changes: Mapping[str, object], exchanges: tuple[str, ...]) -> Settings:
    """`current` with `changes`, checked. Raises SettingsInvalidError."""
    try:
        changed = Settings.model_validate({**current.model_dump(), **changes})
    except ValidationError as error:
        raise SettingsInvalidError(field_problems(error.errors(), "settings")) from None
    unknown = sorted((set(changed.enabled_exchanges) | set(changed.taker_fees)) - set(exchanges))
    if unknown:
        why = f"this session has no exchange {', '.join(unknown)}; it has {', '.join(exchanges)}"
        named = "enabled_exchanges" if set(unknown) & set(changed.enabled_exchanges) else "taker_fees"
        raise SettingsInvalidError([{"field": named, "why": why}])
    return changed
