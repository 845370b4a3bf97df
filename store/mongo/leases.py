"""Leases: one per exchange for its bots, one per partition for who decides; and who is fenced out by them."""

from collections.abc import Iterable

from pymongo import ASCENDING, ReturnDocument, UpdateOne
from pymongo.errors import DuplicateKeyError

from market.trade.leases import LEASE_LENGTH, Actor, Lease, Veto, acquired, released
from store.mongo.batched_reads import BatchedRead
from store.preconditions import check_lease
from store.server.client import Database, Document, translated_errors
from store.server.clock import NOW, server_now, time_in
from store.server.deciding_region import Standpoint
from store.server.documents import CLAIMS, LEASES, SESSION_CLAIM, lease_document, lease_of
from store.server.field_updates import field_update
from store.server.transactions import Transaction, in_transaction

_NOW: Document = {"$multiply": [{"$toLong": "$$NOW"}, 1_000]}
"""The server's time in an update, microseconds in steps of a millisecond."""


class MongoLeases:
    """Leases of all exchanges in one database; every change is one write guarded by the token."""

    def __init__(self, database: Database, place: Standpoint | None = None) -> None:
        self._database = database
        self._place = place

    def may_decide(self) -> bool:
        return self._place is None or self._place.is_beside_primary()

    async def acquire(self, exchange: str, holder: str) -> Lease | None:
        """None while another holder's runs. Raises StoreUnavailableError."""
        with translated_errors():
            current, now = await self._current(exchange)
            wanted = acquired(current, exchange, holder, now)
            if wanted is None:
                return None
            if current is None:
                return await self._inserted(wanted)
            return wanted if await self._replaced(current, wanted) else None

    async def renew(self, lease: Lease, used: str | None = None) -> Lease | None:
        """None if another process has taken it. Raises StoreUnavailableError.

        By the rule of `market.trade.leases.renewed`, in one command: every process renews its leases all the time.
        """
        counted = {} if used is None else {"used": {"$literal": used}, "used_at": _NOW}
        renewal = [{"$set": {"until": {"$add": [_NOW, LEASE_LENGTH]}} | counted}]
        with translated_errors():
            found = await self._database[LEASES].find_one_and_update(
                {"_id": lease.exchange, "token": lease.token}, renewal, return_document=ReturnDocument.AFTER
            )
        return None if found is None else lease_of(found)

    async def release(self, lease: Lease, used: str | None = None) -> None:
        """Free for the next at once. Raises StoreUnavailableError."""
        with translated_errors():
            current, now = await self._current(lease.exchange)
            wanted = released(current, lease, now, used)
            if current is not None and wanted is not None:
                await self._replaced(current, wanted)

    async def set_veto(self, by: Actor, veto: Veto | None) -> None:
        """Raise StoreUnavailableError, FencedOutError."""

        def step(transaction: Transaction) -> None:
            check_not_fenced_out(transaction, by)
            transaction.write(LEASES, [UpdateOne({"_id": by.exchange}, {"$set": {"veto": veto}})])
            # every reservation writes this row: one that has read the lease without the veto conflicts here
            transaction.write(CLAIMS, [UpdateOne({"_id": SESSION_CLAIM}, {"$inc": {"vetoes": 1}})])

        await in_transaction(self._database, step)

    async def all(self) -> list[Lease]:
        """By exchange, those that ran out among them. Raises StoreUnavailableError."""
        with translated_errors():
            return [lease_of(document) async for document in self._database[LEASES].find().sort("_id", ASCENDING)]

    async def _current(self, exchange: str) -> tuple[Lease | None, int]:
        """With the server's time; in one command, since every process asks for its leases all the time."""
        found = self._database[LEASES].aggregate([{"$match": {"_id": exchange}}, {"$set": NOW}])
        document = next(iter(await found.to_list(None)), None)
        if document is None:
            return None, await server_now(self._database)
        return lease_of(document), time_in(document)

    async def _inserted(self, lease: Lease) -> Lease | None:
        try:
            await self._database[LEASES].insert_one(lease_document(lease))
        except DuplicateKeyError:
            # another process acquired it first
            return None
        return lease

    async def _replaced(self, current: Lease, wanted: Lease) -> bool:
        read: Document = {"_id": current.exchange, "token": current.token, "until": current.until}
        # its other fields may be changed meanwhile
        changed = field_update(lease_document(current), lease_document(wanted))
        written = await self._database[LEASES].update_one(read, changed or {"$set": {}})
        return written.matched_count == 1


def lease_read(by: Actor) -> BatchedRead:
    """Return what `check_lease_read` needs, to be read with other rows."""
    return BatchedRead(LEASES, {"_id": by.exchange})


def check_lease_read(found: Iterable[Document], by: Actor) -> None:
    """Raise FencedOutError if a later process acts for the actor's exchange."""
    if by.exchange is not None:
        check_lease(next(map(lease_of, found), None), by)


def check_not_fenced_out(transaction: Transaction, by: Actor) -> None:
    """Where nothing else is read. Raises FencedOutError as `check_lease_read`."""
    if by.exchange is not None:
        check_lease_read(transaction.find(LEASES, {"_id": by.exchange}), by)
