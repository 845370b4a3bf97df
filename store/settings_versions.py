"""Versions of the settings, once for both adapters: which follows on the one in force."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from market.decide.settings import Settings
from store.app_actions import person
from store.errors import VersionConflictError
from store.records.audit_entry import AuditEntry

FIRST_AUTHOR = "start"

Following = Callable[[Settings | None], Settings | None]
"""The settings in force → those in force afterwards: the same if nothing changes."""


class SettingsVersions(ABC):
    """The part of `store.ports.parts.SettingsStore` that decides."""

    @abstractmethod
    async def put(self, following: Following, who: str) -> Settings | None:
        """Apply `following` in one transaction, so that no race is lost; those in force afterwards."""

    async def create(self, settings: Settings) -> Settings:
        first = settings.model_copy(update={"version": 1})
        return await self.put(lambda current: current or first, FIRST_AUTHOR) or first

    async def change(self, changed: Settings, expected_version: int, who: str) -> Settings:
        following = changed.model_copy(update={"version": expected_version + 1})

        def expected(current: Settings | None) -> Settings:
            if current is None or current.version != expected_version:
                raise VersionConflictError(0 if current is None else current.version)
            return following

        return await self.put(expected, person(who)) or following

    async def amend(self, amendment: Callable[[Settings], Settings], who: str) -> Settings | None:
        """From whatever version is in force; None if there are none. An amendment that changes nothing stores
        nothing. Raises ValueError before it stores what could not be read again: a copy is not checked."""

        def amended(current: Settings | None) -> Settings | None:
            if current is None:
                return None
            after = amendment(current)
            if after == current:
                return current
            return Settings.model_validate(after.model_dump() | {"version": current.version + 1})

        return await self.put(amended, person(who))


def without_exchange(current: Settings | None, exchange: str) -> Settings | None:
    """Return the next version, without the exchange; None if it is off already, or if there are no settings."""
    if current is None or exchange not in current.enabled_exchanges:
        return None
    others = tuple(name for name in current.enabled_exchanges if name != exchange)
    return current.model_copy(update={"enabled_exchanges": others, "version": current.version + 1})


def is_enabling(before: Settings | None, after: Settings, exchange: str) -> bool:
    """Whether somebody switched the exchange on; the first version does not."""
    return before is not None and exchange not in before.enabled_exchanges and exchange in after.enabled_exchanges


def halt_entry(entry: AuditEntry, before: Settings, after: Settings, at: int) -> AuditEntry:
    """`at`: microseconds, by the store's clock."""
    return replace(entry, outcome="done", before=_enabled(before), after=_enabled(after), at=at)


def _enabled(settings: Settings) -> dict[str, object]:
    return {"enabled_exchanges": list(settings.enabled_exchanges), "version": settings.version}
