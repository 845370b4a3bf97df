"""The notices of each destination: queued, sent and failed; and its position in the change stream."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import TypeAdapter, ValidationError
from pymongo import ASCENDING, DESCENDING, UpdateOne
from pymongo.errors import BulkWriteError

from market.time_units import MICROSECONDS
from session.notice_destinations import Destination
from store.errors import StoreError
from store.records.notice import Notice
from store.server.client import Database, Document, translated_errors
from store.server.clock import server_now
from store.server.documents import NOTICE_DESTINATIONS, NOTICES, date_of, plain

MAX_QUEUED = 1_000
"""Queued notices per destination; beyond that the oldest trades fail first, then the oldest of all."""
MAX_FAILED_SHOWN = 100
READ_BEHIND = 5 * MICROSECONDS
"""A change is read that long after it was made, or sooner."""
DUPLICATE = 11_000
"""DuplicateKey (mongodb.com, "Error Codes")."""


_NOTICE = TypeAdapter(Notice)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NoticePosition:
    """How far a destination has read. Times by the server's clock, microseconds."""

    since: int
    """Nothing earlier is sent."""
    token: str | None = None
    """The token of the change stream; None before the first change was read."""
    read_at: int = 0
    """All that happened before was read."""
    standing: Mapping[str, int] = field(default_factory=dict)
    """Ongoing alerts: key → since when."""


@dataclass(frozen=True, slots=True)
class QueuedNotice:
    """A notice on its way to a destination; those with the same `batch` go in one message, however often it is tried.

    `recorded_at` by the server's clock.
    """

    notice: Notice
    recorded_at: int
    batch: str | None = None


@dataclass(frozen=True, slots=True)
class FailedNotice:
    """A notice that will not be delivered, and why."""

    destination: str
    notice: Notice
    reason: str
    failed_at: int


@dataclass(frozen=True, slots=True)
class DestinationState:
    """How a destination does. Counts are of notices since it was first configured; times in microseconds, 0: never."""

    name: str
    kind: str
    waiting: int
    sent: int
    failed: int
    failures: int
    """Attempts that failed since the last that did not."""
    last_sent_at: int
    last_error: str | None
    last_error_at: int
    next_try_at: int
    """Nothing is tried before it."""


class MongoNotices:
    """Notices of all destinations in one database. Every call raises StoreUnavailableError if MongoDB is not
    reached."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def place(self, destination: Destination) -> NoticePosition:
        """Return the position to resume from; a new destination starts now."""
        with translated_errors():
            now = await server_now(self._database)
            first: Document = {"kind": destination.kind, "since": now, "read_at": now}
            await self._database[NOTICE_DESTINATIONS].update_one(
                {"_id": destination.name}, {"$setOnInsert": first}, upsert=True
            )
            found = await self._database[NOTICE_DESTINATIONS].find_one({"_id": destination.name}) or first
        return NoticePosition(
            since=_integer(found.get("since")),
            token=None if found.get("token") is None else str(found["token"]),
            read_at=_integer(found.get("read_at")),
            standing=_ongoing_of(found.get("standing")),
        )

    async def store_token(self, destination: str, token: str) -> int:
        """All that happened before it is in the queue; the `read_at` that is kept with it."""
        with translated_errors():
            read_at = await server_now(self._database) - READ_BEHIND
        await self._set(destination, {"token": token, "read_at": read_at})
        return read_at

    async def store_ongoing(self, destination: str, standing: Mapping[str, int]) -> None:
        rows = [{"key": key, "since": since} for key, since in sorted(standing.items())]
        await self._set(destination, {"standing": rows})

    async def put(self, destination: str, notices: Sequence[Notice]) -> int:
        """How many of them are new; those that were ever put before, whatever became of them, change nothing."""
        if not notices:
            return 0
        with translated_errors():
            now = await server_now(self._database)
            writes = [_insertion(destination, notice, now) for notice in notices]
            try:
                written = await self._database[NOTICES].bulk_write(writes, ordered=False)
            except BulkWriteError as error:
                if any(fault["code"] != DUPLICATE for fault in error.details["writeErrors"]):
                    raise
                # another notifier was faster
                return int(error.details["nUpserted"])
        if written.upserted_count:
            await self._bound(destination)
        return written.upserted_count

    async def waiting(self, destination: str) -> list[QueuedNotice]:
        """Oldest first; those that are part of a message already before all others. One of another version of this
        program is left where it is: it must not hold up the others."""
        rows: list[QueuedNotice] = []
        with translated_errors():
            found = self._database[NOTICES].find({"destination": destination, "state": "waiting"})
            async for row in found.sort([("noted_at_us", ASCENDING), ("_id", ASCENDING)]):
                try:
                    rows.append(_queued_of(row))
                except StoreError as error:
                    log.warning("a notice cannot be read", extra={"destination": destination, "error": str(error)})
        return sorted(rows, key=lambda row: row.batch is None)

    async def bind(self, destination: str, notice_ids: Iterable[str], batch: str) -> None:
        """From now on they are one message."""
        keys = [_key(destination, notice_id) for notice_id in notice_ids]
        with translated_errors():
            await self._database[NOTICES].update_many({"_id": {"$in": keys}}, {"$set": {"batch": batch}})

    async def record_sent(self, destination: str, batch: str) -> None:
        now, count = await self._end({"destination": destination, "batch": batch}, {"state": "sent"})
        fresh: Document = {"last_sent_at": now, "failures": 0, "next_try_at": 0}
        await self._set(destination, fresh, {"sent": count})

    async def record_failure(self, destination: str, error: str, next_try_at: int) -> None:
        """Record that it is to be tried again, not before `next_try_at`."""
        with translated_errors():
            now = await server_now(self._database)
        failed: Document = {"last_error": error, "last_error_at": now, "next_try_at": next_try_at}
        await self._set(destination, failed, {"failures": 1})

    async def mark_failed(self, destination: str, batch: str, reason: str) -> int:
        """Mark a message as failed; returns how many notices it had."""
        now, count = await self._end(
            {"destination": destination, "batch": batch}, {"state": "failed", "reason": reason}
        )
        await self._set(destination, {"last_error": reason, "last_error_at": now}, {"failed": count})
        return count

    async def states(self) -> list[DestinationState]:
        """By name; of all that were ever configured."""
        with translated_errors():
            rows = [row async for row in self._database[NOTICE_DESTINATIONS].find().sort("_id", ASCENDING)]
            counted = self._database[NOTICES].aggregate(
                [{"$match": {"state": "waiting"}}, {"$group": {"_id": "$destination", "waiting": {"$sum": 1}}}]
            )
            waiting = {str(row["_id"]): _integer(row["waiting"]) async for row in counted}
        return [_state_of(row, waiting.get(str(row["_id"]), 0)) for row in rows]

    async def failed(self, limit: int = MAX_FAILED_SHOWN) -> list[FailedNotice]:
        """Return the newest first; they are kept for a week."""
        with translated_errors():
            found = self._database[NOTICES].find({"state": "failed"})
            newest = found.sort([("ended_at", DESCENDING), ("_id", DESCENDING)])
            return [_failed_of(row) async for row in newest.limit(limit)]

    async def _bound(self, destination: str) -> None:
        """Give up what is more than `MAX_QUEUED`."""
        with translated_errors():
            free: Document = {"destination": destination, "state": "waiting", "batch": None}
            newest = self._database[NOTICES].find(free, {"_id": 1}).skip(MAX_QUEUED)
            order = [("is_at_once", DESCENDING), ("noted_at_us", DESCENDING)]
            keys = [row["_id"] async for row in newest.sort(order)]
        if keys:
            reason = f"more than {MAX_QUEUED} were waiting"
            now, count = await self._end({"_id": {"$in": keys}}, {"state": "failed", "reason": reason})
            await self._set(destination, {"last_error": reason, "last_error_at": now}, {"failed": count})

    async def _end(self, wanted: Document, end: Document) -> tuple[int, int]:
        """(now, how many were still waiting)."""
        with translated_errors():
            now = await server_now(self._database)
            ended = await self._database[NOTICES].update_many(
                wanted | {"state": "waiting"}, {"$set": end | {"ended_at": now}}
            )
        return now, ended.modified_count

    async def _set(self, destination: str, values: Document, added: Mapping[str, int] | None = None) -> None:
        change: Document = {"$set": values}
        if added:
            change["$inc"] = dict(added)
        with translated_errors():
            await self._database[NOTICE_DESTINATIONS].update_one({"_id": destination}, change)


def _key(destination: str, notice_id: str) -> str:
    return f"{destination}|{notice_id}"


def _insertion(destination: str, notice: Notice, now: int) -> UpdateOne:
    document: Document = {
        "destination": destination,
        "notice": plain(_NOTICE.dump_python(notice)),
        "state": "waiting",
        "is_at_once": notice.is_urgent,
        "batch": None,
        "recorded_at": date_of(now),
        "noted_at_us": now,
    }
    return UpdateOne({"_id": _key(destination, notice.notice_id)}, {"$setOnInsert": document}, upsert=True)


def _notice_of(row: Mapping[str, object]) -> Notice:
    try:
        return _NOTICE.validate_python(row.get("notice"))
    except ValidationError as error:
        raise StoreError(f"notice {row.get('_id')!r} is not as this version writes it: {error}") from error


def _queued_of(row: Mapping[str, object]) -> QueuedNotice:
    batch = row.get("batch")
    return QueuedNotice(_notice_of(row), _integer(row.get("noted_at_us")), None if batch is None else str(batch))


def _failed_of(row: Mapping[str, object]) -> FailedNotice:
    return FailedNotice(
        destination=str(row.get("destination")),
        notice=_notice_of(row),
        reason=str(row.get("reason")),
        failed_at=_integer(row.get("ended_at")),
    )


def _state_of(row: Mapping[str, object], waiting: int) -> DestinationState:
    error = row.get("last_error")
    return DestinationState(
        name=str(row["_id"]),
        kind=str(row.get("kind")),
        waiting=waiting,
        sent=_integer(row.get("sent")),
        failed=_integer(row.get("failed")),
        failures=_integer(row.get("failures")),
        last_sent_at=_integer(row.get("last_sent_at")),
        last_error=None if error is None else str(error),
        last_error_at=_integer(row.get("last_error_at")),
        next_try_at=_integer(row.get("next_try_at")),
    )


def _ongoing_of(rows: object) -> Mapping[str, int]:
    return {str(row["key"]): _integer(row["since"]) for row in rows} if isinstance(rows, list) else {}


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
