"""Removes arbitrages that ended long ago, with their steps and fills, and keeps their sums by month."""

import logging
from collections.abc import Iterable

from pymongo import DeleteMany, ReplaceOne, UpdateOne

from market.trade.arbitrages import Arbitrage
from market.trade.reservation_state import fill_key
from store.aggregates.month_sums import REVISION, MonthRow, added_row, month_document, month_row_of, rows_of
from store.errors import StoreError
from store.server.client import Database, Document
from store.server.documents import ARBITRAGES, FILLS, MONTH_SUMS, ORDER_RESULTS, STEPS, arbitrage_of
from store.server.transactions import Transaction, in_transaction

REMOVABLE = ("closed", "unwound", "unfilled")
"""What is residual may be continued, and waits for somebody to look at it."""
AT_ONCE = 100
"""Milliseconds of one transaction, which no trade meets."""

log = logging.getLogger(__name__)


async def remove_ended_before(database: Database, moment: int, at_most: int = AT_ONCE) -> int:
    """How many of those that ended before `moment` (the server's time) were removed, in one transaction with their
    sums; 0 if no others are left. Raises StoreError."""

    def step(transaction: Transaction) -> int:
        arbitrages = _removable(transaction, moment, at_most)
        keys = [one.arbitrage_id for _, one in arbitrages]
        if not keys:
            return 0
        fills = [fill_key(fill) for _, one in arbitrages for leg in one.legs for fill in leg.fills]
        _add_sums(transaction, _summed(transaction, arbitrages, fills))
        transaction.write(FILLS, [DeleteMany({"_id": {"$in": fills}})])
        transaction.write(STEPS, [DeleteMany({"arbitrage_id": {"$in": keys}})])
        transaction.write(ARBITRAGES, [DeleteMany({"_id": {"$in": keys}})])
        return len(keys)

    return await in_transaction(database, step)


def _removable(transaction: Transaction, moment: int, at_most: int) -> list[tuple[str, Arbitrage]]:
    """(session, arbitrage) of the oldest; those that cannot be read stay, and keep none behind them."""
    # what was reported of it and not booked yet opens it again
    left_out = {result["arbitrage_id"] for result in transaction.find(ORDER_RESULTS, {})}
    wanted: Document = {"state": {"$in": list(REMOVABLE)}, "at": {"$lt": moment}, "times.ended": {"$lt": moment}}
    unreadable: list[str] = []
    while True:
        match = wanted | {"_id": {"$nin": list(left_out)}}
        found = transaction.aggregate(ARBITRAGES, [{"$match": match}, {"$sort": {"at": 1}}, {"$limit": at_most}])
        readable: list[tuple[str, Arbitrage]] = []
        for document in found:
            try:
                readable.append((str(document["session_id"]), arbitrage_of(document)))
            except StoreError:
                unreadable.append(str(document["_id"]))
                left_out.add(document["_id"])
        if readable:
            return readable
        if not found:
            if unreadable:
                log.warning("arbitrages that cannot be read are kept", extra={"arbitrages": unreadable})
            return []


def _summed(
    transaction: Transaction, arbitrages: Iterable[tuple[str, Arbitrage]], fills: list[str]
) -> dict[str, MonthRow]:
    entries = transaction.find(FILLS, {"_id": {"$in": fills}})
    sessions = {str(entry["_id"]): str(entry["session_id"]) for entry in entries}
    rows: dict[str, MonthRow] = {}
    for session_id, arbitrage in arbitrages:
        for row in rows_of(arbitrage, session_id, sessions):
            rows[row.key] = added_row(rows.get(row.key), row)
    return rows


def _add_sums(transaction: Transaction, rows: dict[str, MonthRow]) -> None:
    known = {row.key: row for row in map(month_row_of, transaction.find(MONTH_SUMS, {"_id": {"$in": list(rows)}}))}
    sums = [month_document(added_row(known.get(key), row)) for key, row in rows.items()]
    transaction.write(
        MONTH_SUMS,
        [
            *(ReplaceOne({"_id": document["_id"]}, document, upsert=True) for document in sums),
            UpdateOne({"_id": REVISION}, {"$inc": {"number": 1}}, upsert=True),
        ],
    )
