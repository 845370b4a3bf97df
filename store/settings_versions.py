"""Versions of the settings, once for both adapters: which follows on the one in force."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from market.decide.settings import Settings
from session.audit_entry import AuditEntry
from store.errors import VersionConflictError

FIRST_AUTHOR = "start"

Following = Callable[[Settings | None], Settings | None]
"""The settings in force → those in force afterwards: the same where nothing changes."""
Audited = Callable[[Settings, Settings], AuditEntry]
"""The settings before and after → what the audit log keeps of the change."""


class SettingsVersions(ABC):
    """The part of `store.store_port.SettingsStore` that decides."""

    @abstractmethod
    async def put(self, following: Following, who: str, audited: Audited | None = None) -> Settings | None:
        """Apply `following` in one transaction, so that no race is lost; those in force afterwards. With `audited` its
        entry is kept in the same transaction, and where the entry's id is there already nothing is changed."""

    async def create(self, settings: Settings) -> Settings:
        first = settings.model_copy(update={"version": 1})
        return await self.put(lambda current: current or first, FIRST_AUTHOR) or first

    async def change(self, changed: Settings, expected_version: int, who: str) -> Settings:
        following = changed.model_copy(update={"version": expected_version + 1})

        def expected(current: Settings | None) -> Settings:
            if current is None or current.version != expected_version:
                raise VersionConflictError(0 if current is None else current.version)
            return following

        return await self.put(expected, who) or following

    async def amend(self, amendment: Callable[[Settings], Settings], who: str) -> Settings | None:
        """From whatever version is in force; None where there are none. An amendment that changes nothing stores
        nothing."""

        def amended(current: Settings | None) -> Settings | None:
            if current is None:
                return None
            after = amendment(current)
            return current if after == current else after.model_copy(update={"version": current.version + 1})

        return await self.put(amended, who)

    async def halt_exchange(self, exchange: str, entry: AuditEntry) -> Settings | None:
        def halted(current: Settings | None) -> Settings | None:
            if current is None or exchange not in current.enabled_exchanges:
                return current
            others = tuple(name for name in current.enabled_exchanges if name != exchange)
            return current.model_copy(update={"enabled_exchanges": others, "version": current.version + 1})

        def audited(before: Settings, after: Settings) -> AuditEntry:
            return replace(entry, outcome="done", before=_enabled(before), after=_enabled(after))

        return await self.put(halted, entry.who, audited)


def _enabled(settings: Settings) -> dict[str, object]:
    return {"enabled_exchanges": list(settings.enabled_exchanges), "version": settings.version}
