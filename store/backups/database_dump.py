"""Copies a database as it was at one moment of the server's, while others write to it.

All reads of a snapshot session are of one cluster time (mongodb.com, "Read Concern snapshot"). The server keeps the
history for that for five minutes (`minSnapshotHistoryWindowInSeconds`, 300), so that the reads must be done by then.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any, Protocol

from bson.raw_bson import RawBSONDocument
from pymongo.client_session import ClientSession
from pymongo.errors import OperationFailure

from store.errors import StoreError
from store.server.client import (
    SNAPSHOT_TOO_OLD,
    SNAPSHOT_UNAVAILABLE,
    BlockingDatabase,
    Document,
    blocking,
    connect,
    database_of,
    translated_errors,
)
from store.server.documents import ARBITRAGES, CYCLE_TRADES

SNAPSHOT_LOST = {
    SNAPSHOT_TOO_OLD: "MongoDB keeps the past for five minutes, and copying took longer; try again while less trades",
    SNAPSHOT_UNAVAILABLE: "a collection was made while the database was copied; try again",
}
"""A collection that is younger than the moment is no empty one there."""
BATCH_BYTES = 8_000_000
LENGTH_BYTES = 4


class Target(Protocol):
    def write(self, chunk: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class DatabaseSnapshot:
    """One database at one moment; its reads block."""

    database: BlockingDatabase
    session: ClientSession
    """A session of any kind; by itself a moment only if it is a snapshot's."""

    def collections(self) -> list[str]:
        """By name; asked for before the first read, since those that are younger than it cannot be read."""
        with translated_errors():
            names: list[str] = self.database.list_collection_names()
        return sorted(name for name in names if not name.startswith("system."))

    def copy(self, collection: str, target: Target) -> int:
        """Write its documents one after the other, as BSON; how many. Raises StoreError, OSError of `target`."""
        count = 0
        with _translated_if_lost(), translated_errors():
            found: Iterator[Any] = self.database[collection].find_raw_batches({}, session=self.session)
            for batch in found:
                target.write(batch)
                count += _documents_in(batch)
        return count

    def granted_since(self, moment: int) -> frozenset[tuple[str, str]]:
        """(exchange, id) of orders that were granted at `moment` (the server's time) or later; ours and theirs."""
        return granted_orders(self.database, moment, self.session)


@contextmanager
def database_snapshot(uri: str, name: str) -> Iterator[DatabaseSnapshot]:
    """Return the database as it is at the first read of a collection that there is. Raises StoreUnavailableError if
    MongoDB is not reached."""
    with blocking_database(uri, name) as database, database.client.start_session(snapshot=True) as session:
        yield DatabaseSnapshot(database, session)


@contextmanager
def blocking_database(uri: str, name: str) -> Iterator[BlockingDatabase]:
    """For a command that has nothing else to do meanwhile."""
    client = connect(uri)
    try:
        yield blocking(database_of(client, name))
    finally:
        client.close()


def granted_orders(
    database: BlockingDatabase, moment: int, session: ClientSession | None = None
) -> frozenset[tuple[str, str]]:
    """As `DatabaseSnapshot.granted_since`; without a session as it is now."""
    found: set[tuple[str, str]] = set()
    with _translated_if_lost(), translated_errors():
        for leg in _granted_legs(database, moment, session):
            if leg.get("times", {}).get("granted", 0) >= moment:
                ids = (leg.get("client_order_id"), leg.get("exchange_order_id"))
                found.update((leg["exchange"], each) for each in ids if each is not None)
    return frozenset(found)


def _granted_legs(database: BlockingDatabase, moment: int, session: ClientSession | None) -> Iterator[dict[str, Any]]:
    """Yield the legs of arbitrages and of trades on cycles of which one was granted at or after `moment`."""
    for collection, place in ((ARBITRAGES, "legs"), (CYCLE_TRADES, "orders.leg")):
        names = ("exchange", "client_order_id", "exchange_order_id", "times.granted")
        fields = {f"{place}.{name}": 1 for name in names}
        wanted: Document = {f"{place}.times.granted": {"$gte": moment}}
        for document in database[collection].find(wanted, fields, session=session):
            rows = document[place.partition(".")[0]]
            for row in rows if isinstance(rows, list) else ():
                yield row["leg"] if collection == CYCLE_TRADES else row


def documents_of(source: IO[bytes]) -> Iterator[RawBSONDocument]:
    """Return what `copy` wrote. Raises StoreError if it is no BSON, or is cut off."""
    while head := source.read(LENGTH_BYTES):
        length = int.from_bytes(head, "little")
        rest = source.read(max(0, length - LENGTH_BYTES))
        if len(head) + len(rest) != length:
            raise StoreError("a collection of the backup is cut off")
        with translated_errors():
            yield RawBSONDocument(head + rest)


@contextmanager
def _translated_if_lost() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        cause = error.__cause__
        if isinstance(cause, OperationFailure) and cause.code in SNAPSHOT_LOST:
            raise StoreError(SNAPSHOT_LOST[cause.code]) from error
        raise


def _documents_in(batch: bytes) -> int:
    count = offset = 0
    while offset < len(batch):
        offset += int.from_bytes(batch[offset : offset + LENGTH_BYTES], "little")
        count += 1
    return count
