"""Reconciliation in MongoDB: each difference once, and the time up to which each exchange was compared."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pymongo import DESCENDING, ReplaceOne

from market.accounting.differences import (
    HANDLING,
    PersonsVerdict,
    RowCorrection,
    Settlement,
    StoredDifference,
    explained,
    is_found_again,
    is_of_balance,
    settled_difference,
    taken_back,
)
from market.decide.circuit_breaker import Health
from market.money import ZERO
from market.trade.arbitrages import Arbitrage, TradeOfLegs
from market.trade.leases import Actor
from market.trade.reservation_state import BalanceRow
from store.errors import StoreError
from store.mongo.arbitrages import OLDEST_FIRST, OPEN, read_cycle_trades
from store.mongo.balances import MongoBalances
from store.mongo.leases import check_not_fenced_out
from store.server.client import Database, Document, translated_errors
from store.server.documents import (
    ARBITRAGES,
    COMPARISONS,
    CYCLE_TRADES,
    DIFFERENCES,
    HEALTH,
    arbitrage_of,
    health_document,
    health_of,
    integer_of,
    stored_amount,
)
from store.server.transactions import Transaction, in_transaction

_DIFFERENCE = TypeAdapter(StoredDifference)
SIDES = ("buy", "sell")
OPEN_DIFFERENCES: Document = {
    "kind": {"$in": [kind for kind, handling in HANDLING.items() if handling.is_unexplained]},
    "settled": {"$type": "null"},
}
"""Those that keep their exchange reduce-only; none of an earlier version, which did not know of that."""
LEGS_ALONE: Document = {"history": 0, **{f"opportunity.{side}.levels": 0 for side in SIDES}}
"""Without most of each document, which a comparison does not read: a storm has 700 of them in the time it looks at."""


class MongoDifferences:
    """`store.ports.parts.Differences` in one database, over all its sessions: the accounts are the same in each."""

    def __init__(self, database: Database, balances: MongoBalances) -> None:
        self._database = database
        self._balances = balances

    async def store(self, difference: StoredDifference) -> bool:
        def step(transaction: Transaction) -> bool:
            known = transaction.find_one(DIFFERENCES, {"_id": difference.difference_id})
            if known is not None and not is_found_again(difference_of(known), difference):
                return False
            _write(transaction, difference)
            _update_health(transaction, difference.exchange, difference.found_at)
            return True

        return await in_transaction(self._database, step)

    async def settle(self, difference_id: str, verdict: PersonsVerdict, who: str) -> StoredDifference | None:
        def step(transaction: Transaction) -> StoredDifference | None:
            document = transaction.find_one(DIFFERENCES, {"_id": difference_id})
            if document is None:
                return None
            known = difference_of(document)
            row = self._balances.row_in(transaction, known.exchange, known.subject)
            settlement = Settlement(verdict, who, transaction.now())
            settled = settled_difference(known, settlement, row.unexplained)
            if settled is known:
                return known
            if settled.booked:
                self._balances.book_in(transaction, row, settlement.at)
            _write(transaction, settled)
            for one in _open_at(transaction, known.exchange):
                if is_of_balance(one, settled):
                    _write(transaction, settled_difference(one, replace(settlement, verdict="acknowledged"), ZERO))
            _update_health(transaction, known.exchange, settlement.at)
            return settled

        return await in_transaction(self._database, step)

    async def take_back(self, found: StoredDifference, row: BalanceRow, by: Actor) -> bool:
        def step(transaction: Transaction) -> bool:
            check_not_fenced_out(transaction, by)
            if self._balances.row_in(transaction, row.exchange, row.currency) != row:
                return False
            document = transaction.find_one(DIFFERENCES, {"_id": found.difference_id})
            known = None if document is None else difference_of(document)
            _write(transaction, taken_back(found, row, known))
            self._balances.book_in(transaction, row)
            return True

        return await in_transaction(self._database, step)

    async def open_at(self, exchange: str) -> list[StoredDifference]:
        with translated_errors():
            found = self._database[DIFFERENCES].find({"exchange": exchange, **OPEN_DIFFERENCES})
            return [difference_of(document) async for document in found]

    async def explain(self, exchange: str, difference_ids: Collection[str], at: int) -> None:
        def step(transaction: Transaction) -> None:
            for one in _open_at(transaction, exchange):
                if one.difference_id in difference_ids and explained(one, at) is not one:
                    _write(transaction, explained(one, at))
            _update_health(transaction, exchange, at)

        await in_transaction(self._database, step)

    async def stored(self) -> list[StoredDifference]:
        with translated_errors():
            found = self._database[DIFFERENCES].find().sort([("at", DESCENDING), ("_id", DESCENDING)])
            return [difference_of(document) async for document in found]

    async def compared_until(self, exchange: str) -> int | None:
        with translated_errors():
            document = await self._database[COMPARISONS].find_one({"_id": exchange})
        return None if document is None else integer_of(document["until"])

    async def record_compared(self, exchange: str, until: int) -> None:
        with translated_errors():
            await self._database[COMPARISONS].update_one({"_id": exchange}, {"$max": {"until": until}}, upsert=True)

    async def trades_since(self, exchange: str, since: int) -> list[TradeOfLegs]:
        wanted = _at(exchange, since, "orders.leg")
        of_pairs, of_cycles = await asyncio.gather(
            self._pairs_since(exchange, since), read_cycle_trades(self._database, wanted)
        )
        return [*of_pairs, *of_cycles]

    async def _pairs_since(self, exchange: str, since: int) -> list[Arbitrage]:
        with translated_errors():
            found = self._database[ARBITRAGES].find(_at(exchange, since), LEGS_ALONE).sort(OLDEST_FIRST)
            return [_without_levels(document) async for document in found]

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        fields = ("exchange", "client_order_id", "exchange_order_id")
        wanted = {f"legs.{name}": True for name in fields}
        with translated_errors():
            found = self._database[ARBITRAGES].find(_at(exchange, since), wanted)
            legs = [leg async for document in found for leg in document["legs"]]
            cycles = self._database[CYCLE_TRADES].find(_at(exchange, since, "orders.leg"), {"orders.leg": True})
            legs += [order["leg"] async for document in cycles for order in document["orders"]]
        return {
            str(leg["client_order_id"]): str(leg["exchange_order_id"])
            for leg in legs
            if leg["exchange"] == exchange and leg.get("exchange_order_id") is not None
        }

    async def correct(self, correction: RowCorrection, by: Actor) -> bool:
        return await self._balances.correct(correction.expected, correction.corrected, by)


def _without_levels(document: Mapping[str, Any]) -> Arbitrage:
    """Raise StoreError if the document is of another version of this program."""
    for side in SIDES:
        quote = document.get("opportunity", {}).get(side)
        if quote is not None:
            quote["levels"] = ()
    return arbitrage_of(document)


def _at(exchange: str, since: int, legs: str = "legs") -> Document:
    """Trades with a leg there, open or ended since; `legs`: where their documents have them."""
    there = {f"{legs}.exchange": exchange}
    return {"$or": [there | {"times.ended": {"$gte": since}}, there | OPEN]}


def _write(transaction: Transaction, difference: StoredDifference) -> None:
    document = asdict(difference) | {
        "_id": difference.difference_id,
        "at": difference.found_at,
        "booked": stored_amount(difference.booked),
    }
    transaction.write(DIFFERENCES, [ReplaceOne({"_id": difference.difference_id}, document, upsert=True)])


def _open_at(transaction: Transaction, exchange: str) -> list[StoredDifference]:
    """Those of an exchange that keep it reduce-only."""
    found = transaction.find(DIFFERENCES, {"exchange": exchange, **OPEN_DIFFERENCES})
    return [difference_of(document) for document in found]


def _update_health(transaction: Transaction, exchange: str, at: int) -> None:
    """`at`, the server's time: since when the exchange is reduce-only if it was not."""
    found = transaction.find_one(HEALTH, {"_id": exchange})
    before = Health(exchange) if found is None else health_of(found)
    since = (before.unexplained_since or at) if _open_at(transaction, exchange) else 0
    if since != before.unexplained_since:
        after = health_document(replace(before, unexplained_since=since))
        transaction.write(HEALTH, [ReplaceOne({"_id": exchange}, after, upsert=True)])


def difference_of(document: Mapping[str, object]) -> StoredDifference:
    """Raise StoreError if the document is of another version of this program."""
    try:
        # earlier versions settled none, and kept nothing from trading for them
        return _DIFFERENCE.validate_python({"settled": "explained", **document})
    except ValidationError as error:
        raise StoreError(
            f"difference {document.get('_id')!r} was written by another version of this program: {error}"
        ) from error
