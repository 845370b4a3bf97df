"""The audit log in MongoDB: written before each change and again at its end; never edited or deleted."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from pydantic import TypeAdapter, ValidationError

from store.errors import StoreError
from store.records.audit_entry import AuditEntry, AuditOutcome
from store.server.client import Database, Document, translated_errors
from store.server.clock import server_now
from store.server.documents import AUDIT
from store.server.page_reader import Page, read_page

_ENTRY = TypeAdapter(AuditEntry)


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which entries: those that have all that is named. `since` and `until` in microseconds UTC, the latter not in."""

    who: str | None = None
    action: str | None = None
    target: str | None = None
    outcome: AuditOutcome | None = None
    since: int | None = None
    until: int | None = None


class MongoAudit:
    """The audit log of one database, over all its sessions."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, entry: AuditEntry) -> AuditEntry:
        """Keep it, at the server's time. Raises StoreUnavailableError: what cannot be recorded must not be done."""
        with translated_errors():
            now = await server_now(self._database)
            kept = _ENTRY.validate_python(asdict(entry) | {"at": now})
        # a repeated write of the driver, or of ours, is the same entry
        await self.record(kept)
        return kept

    async def record(self, entry: AuditEntry) -> None:
        """Store an entry of what was done elsewhere, at its own time; a repeat changes nothing."""
        document = audit_document(entry)
        with translated_errors():
            await self._database[AUDIT].update_one({"_id": entry.entry_id}, {"$setOnInsert": document}, upsert=True)

    async def end(
        self,
        entry_id: str,
        outcome: AuditOutcome,
        before: Mapping[str, object],
        after: Mapping[str, object],
        reason: str = "",
        at: int | None = None,
    ) -> None:
        """Record how it ended. `at`: when it was done, if what was changed keeps a time of its own (microseconds by the
        server's clock); None: the entry keeps the time at which it was begun."""
        ended: Document = {"outcome": outcome, "before": dict(before), "after": dict(after), "reason": reason}
        ended |= {} if at is None else {"at": at}
        with translated_errors():
            await self._database[AUDIT].update_one({"_id": entry_id}, {"$set": ended})

    async def page(self, wanted: AuditFilter, cursor: str | None, limit: int) -> Page[AuditEntry]:
        """Newest first. Raises CursorError."""
        return await read_page(self._database, AUDIT, audit_entry_of, _wanted(wanted), cursor, limit)


def _wanted(wanted: AuditFilter) -> Document:
    named: Document = {"who": wanted.who, "action": wanted.action, "target": wanted.target, "outcome": wanted.outcome}
    conditions: Document = {name: value for name, value in named.items() if value is not None}
    span = {"$gte": wanted.since, "$lt": wanted.until}
    at = {operator: value for operator, value in span.items() if value is not None}
    return conditions | ({"at": at} if at else {})


def audit_document(entry: AuditEntry) -> Document:
    document: Document = _ENTRY.dump_python(entry, mode="json")
    return {"_id": document.pop("entry_id"), **document}


def audit_entry_of(document: Mapping[str, object]) -> AuditEntry:
    """Raise StoreError for a damaged one."""
    try:
        return _ENTRY.validate_python({**document, "entry_id": document["_id"]})
    except ValidationError as error:
        raise StoreError(f"An entry of the audit log is damaged: {error}") from error
