"""The moving average strategy in MongoDB: one guarded document per market, one row per signal."""

from collections.abc import Mapping
from dataclasses import replace

from pymongo import InsertOne, ReplaceOne, UpdateOne

from market.trade.leases import Actor
from market.trade.moving_average import (
    UNSETTLED_STATES,
    AverageOrder,
    AverageState,
    AverageTrade,
    Close,
    after_close,
    order_of,
    with_order,
)
from store.mongo.mongo_arbitrages import OLDEST_FIRST, read_arbitrages
from store.mongo.mongo_leases import check_not_fenced_out
from store.server.documents import (
    AVERAGE_TRADES,
    AVERAGES,
    average_state_document,
    average_state_of,
    average_trade_document,
    average_trade_of,
)
from store.server.mongo_client import Database, translated_errors
from store.server.page_reader import Page, read_page
from store.server.transactions import Transaction, in_transaction


class MongoAverages:
    """`store.store_port.Averages` in one database; a session begins with no closes."""

    def __init__(self, database: Database, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    async def record_close(self, close: Close, *, with_order: bool, by: Actor) -> AverageTrade | None:
        key = f"{close.exchange}|{close.symbol}"

        def step(transaction: Transaction) -> AverageTrade | None:
            check_not_fenced_out(transaction, by)
            before = self._state(transaction, key)
            after, trade = after_close(before, close, transaction.now(), with_order=with_order)
            if after is before:
                return None
            document = average_state_document(after) | {"session_id": self._session_id}
            transaction.write(AVERAGES, [ReplaceOne({"_id": key}, document, upsert=True)])
            if trade is not None:
                row = average_trade_document(trade) | {"session_id": self._session_id}
                transaction.write(AVERAGE_TRADES, [InsertOne(row)])
            return trade

        return await in_transaction(self._database, step)

    async def record_order(self, trade_id: str, order: AverageOrder, by: Actor) -> None:
        def step(transaction: Transaction) -> None:
            check_not_fenced_out(transaction, by)
            row = transaction.find_one(AVERAGE_TRADES, {"_id": trade_id})
            if row is None:
                return
            before = average_trade_of(row)
            after = with_order(before, order)
            if after is not before:
                changed = {"order": average_trade_document(after)["order"]}
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

    def _state(self, transaction: Transaction, key: str) -> AverageState:
        """Of this session: the closes of an earlier one are of another time."""
        document = transaction.find_one(AVERAGES, {"_id": key})
        if document is None or document.get("session_id") != self._session_id:
            return AverageState()
        return average_state_of(document)


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
