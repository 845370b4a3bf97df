"""The moving average strategy in MongoDB: one guarded document per market, one row per signal."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pymongo import InsertOne, ReplaceOne, UpdateOne

from market.trade.leases import Actor
from market.trade.moving_average import (
    UNSETTLED_STATES,
    AverageOrder,
    AverageRule,
    AverageState,
    AverageTrade,
    Close,
    after_close,
    order_of,
    with_order,
)
from store.mongo.arbitrages import OLDEST_FIRST, read_arbitrages
from store.mongo.batched_reads import BatchedRead, read_batch
from store.mongo.leases import check_lease_read, lease_read
from store.server.client import Database, Document, translated_errors
from store.server.documents import (
    AVERAGE_TRADES,
    AVERAGES,
    average_order_document,
    average_state_document,
    average_state_of,
    average_trade_document,
    average_trade_of,
)
from store.server.page_reader import Page, read_page
from store.server.transactions import Transaction, in_transaction


class MongoAverages:
    """`store.ports.parts.Averages` in one database; a session begins with no closes."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    async def record_closes(
        self, closes: Sequence[Close], rule: AverageRule, *, with_order: bool, by: Actor
    ) -> list[AverageTrade]:
        keys = [f"{close.exchange}|{close.symbol}" for close in closes]

        def step(transaction: Transaction) -> list[AverageTrade]:
            wanted = BatchedRead(AVERAGES, {"_id": {"$in": keys}})
            now, (leases, found) = read_batch(transaction, [lease_read(by), wanted])
            check_lease_read(leases, by)
            before, trades = self._states_in(found), list[AverageTrade]()
            states = dict(before)
            for key, close in zip(keys, closes, strict=True):
                known = states.get(key, AverageState())
                states[key], trade = after_close(known, close, rule, now, with_order=with_order)
                trades += [] if trade is None else [trade]
            changed = {key: state for key, state in states.items() if state is not before.get(key)}
            transaction.write(AVERAGES, [self._replacement(key, state) for key, state in changed.items()])
            rows = [average_trade_document(trade) | {"session_id": self._session_id} for trade in trades]
            transaction.write(AVERAGE_TRADES, [InsertOne(row) for row in rows])
            return trades

        return await in_transaction(self._database, step)

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor) -> None:
        def step(transaction: Transaction) -> None:
            wanted = BatchedRead(AVERAGE_TRADES, {"_id": trade_id})
            _, (leases, rows) = read_batch(transaction, [lease_read(by), wanted])
            check_lease_read(leases, by)
            if not rows:
                return
            before = average_trade_of(rows[0])
            after = with_order(before, order)
            if after is not before:
                changed = {"order": average_order_document(order)}
                transaction.write(AVERAGE_TRADES, [UpdateOne({"_id": trade_id}, {"$set": changed})])

        await in_transaction(self._database, step)

    async def unsettled(self, exchange: str) -> list[AverageTrade]:
        wanted: Mapping[str, object] = {"exchange": exchange, "order.state": {"$in": list(UNSETTLED_STATES)}}
        with translated_errors():
            found = self._database[AVERAGE_TRADES].find(wanted).sort(OLDEST_FIRST)
            return [average_trade_of(document) async for document in found]

    async def trades(self) -> list[AverageTrade]:
        with translated_errors():
            found = self._database[AVERAGE_TRADES].find({"session_id": self._session_id}).sort(OLDEST_FIRST)
            return [average_trade_of(document) async for document in found]

    def _states_in(self, found: Sequence[Document]) -> dict[str, AverageState]:
        """Return the states of this session by market: the closes of an earlier one are of another time."""
        own = [document for document in found if document.get("session_id") == self._session_id]
        return {str(document["_id"]): average_state_of(document) for document in own}

    def _replacement(self, key: str, state: AverageState) -> ReplaceOne[Document]:
        document = average_state_document(state) | {"session_id": self._session_id}
        return ReplaceOne({"_id": key}, document, upsert=True)


async def read_average_trades(
    database: Database, wanted: Mapping[str, object], cursor: str | None, limit: int
) -> Page[AverageTrade]:
    """Newest first. An order's state is read from its arbitrage, which has late fills. Raises CursorError."""
    page = await read_page(database, AVERAGE_TRADES, average_trade_of, wanted, cursor, limit)
    ordered = [trade.trade_id for trade in page.items if trade.order is not None]
    begun = await read_arbitrages(database, {"_id": {"$in": ordered}}) if ordered else []
    orders = {arbitrage.arbitrage_id: order_of(arbitrage) for arbitrage in begun}
    items = [replace(trade, order=orders.get(trade.trade_id, trade.order)) for trade in page.items]
    return Page(tuple(items), page.next_cursor)
