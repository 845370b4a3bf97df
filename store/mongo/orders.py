"""Grants and order results in MongoDB: what bots may post, and what they report of it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from functools import partial
from typing import TypeVar

from pymongo import ASCENDING, UpdateOne

from market.trade.grants import Grant, grants_in
from market.trade.leases import Actor
from market.trade.order_results import OrderResult
from store.mongo.arbitrages import OPEN, read_trades
from store.mongo.batched_reads import BatchedRead, read_batch
from store.preconditions import check_lease
from store.server.change_streams import ChangeFollower, ChangeStreamProgress, read_until_reachable
from store.server.client import Database, Document, translated_errors
from store.server.documents import (
    LEASES,
    ORDER_RESULTS,
    STEPS,
    grants_of,
    lease_of,
    order_result_document,
    order_result_of,
)
from store.server.transactions import Transaction, in_transaction

Row = TypeVar("Row")
AS_REPORTED = [("at", ASCENDING), ("_id", ASCENDING)]


class MongoOrders:
    """Orders of one database. Streams bring only what was inserted, so that the server looks nothing up for them."""

    def __init__(self, database: Database, grants_progress: ChangeStreamProgress, nearby: Database) -> None:
        """`nearby`: the same database, where new grants are heard of soonest."""
        self._database = database
        self._nearby = nearby
        self._grants_progress = grants_progress

    async def report(self, result: OrderResult, by: Actor) -> None:
        """Raise StoreUnavailableError, FencedOutError."""

        def step(transaction: Transaction) -> None:
            now, [leases] = read_batch(transaction, [BatchedRead(LEASES, {"_id": by.exchange})])
            check_lease(lease_of(leases[0]) if leases else None, by)
            document = order_result_document(result, now)
            key = {"_id": document["_id"]}
            transaction.write(ORDER_RESULTS, [UpdateOne(key, {"$setOnInsert": document}, upsert=True)])

        await in_transaction(self._database, step)

    async def results(self, arbitrage_id: str | None = None) -> list[OrderResult]:
        """As they were reported. Raises StoreUnavailableError."""
        wanted = {} if arbitrage_id is None else {"arbitrage_id": arbitrage_id}
        with translated_errors():
            found = self._database[ORDER_RESULTS].find(wanted).sort(AS_REPORTED)
            return [order_result_of(document) async for document in found]

    async def watch_results(self) -> AsyncGenerator[OrderResult]:
        """First those not booked yet, then each new one; after lost history again those not booked."""
        async with ChangeFollower(self._database[ORDER_RESULTS], [_inserted({})]) as changes:
            async for result in _followed(changes, self.results, order_result_of):
                yield result

    async def watch_grants(self, exchange: str) -> AsyncGenerator[Grant]:
        """First those of open arbitrages, then each new one; after lost history again those of open arbitrages."""
        there: list[Document] = [
            _inserted({"fullDocument.grants.leg.exchange": exchange}),
            {"$unset": "fullDocument.text"},
        ]
        # a member beside the bot has a commit half a round trip before the answer of a far primary is here; what was
        # granted before is read at the primary, which never has less
        async with ChangeFollower(self._nearby[STEPS], there, progress=self._grants_progress) as changes:
            async for grants in _followed(changes, partial(self._granted, exchange), grants_of):
                for grant in grants:
                    if grant.leg.exchange == exchange:
                        yield grant

    async def _granted(self, exchange: str) -> list[list[Grant]]:
        return [grants_in(await read_trades(self._database, OPEN, OPEN), exchange)]


def _inserted(wanted: Document) -> Document:
    return {"$match": {"operationType": "insert"} | wanted}


async def _followed(
    changes: ChangeFollower, read: Callable[[], Awaitable[list[Row]]], row_of: Callable[[Mapping[str, object]], Row]
) -> AsyncGenerator[Row]:
    while True:
        change = await changes.next()
        if change is None:
            for row in await read_until_reachable(read):
                yield row
        elif isinstance(document := change.get("fullDocument"), dict):
            yield row_of(document)
