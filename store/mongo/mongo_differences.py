"""Reconciliation in MongoDB: each difference once, and the time up to which each exchange was compared."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pymongo import DESCENDING

from market.accounting.differences import RowCorrection, StoredDifference
from market.trade.arbitrages import Arbitrage
from market.trade.leases import Actor
from store.errors import StoreError
from store.mongo.mongo_arbitrages import OLDEST_FIRST, OPEN
from store.mongo.mongo_balances import MongoBalances
from store.server.documents import ARBITRAGES, COMPARISONS, DIFFERENCES, arbitrage_of, integer_of
from store.server.mongo_client import Database, Document, translated_errors

_DIFFERENCE = TypeAdapter(StoredDifference)
SIDES = ("buy", "sell")
LEGS_ALONE: Document = {"history": 0, **{f"opportunity.{side}.levels": 0 for side in SIDES}}
"""Without most of each document, which a comparison does not read: a storm has 700 of them in the time it looks at."""


class MongoDifferences:
    """`store.store_port.Differences` in one database, over all its sessions: the accounts are the same in each."""

    def __init__(self, database: Database, balances: MongoBalances) -> None:
        self._database = database
        self._balances = balances

    async def store(self, difference: StoredDifference) -> bool:
        document = asdict(difference) | {"at": difference.found_at}
        with translated_errors():
            written = await self._database[DIFFERENCES].update_one(
                {"_id": difference.difference_id}, {"$setOnInsert": document}, upsert=True
            )
        return written.upserted_id is not None

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

    async def arbitrages_since(self, exchange: str, since: int) -> list[Arbitrage]:
        with translated_errors():
            found = self._database[ARBITRAGES].find(_at(exchange, since), LEGS_ALONE).sort(OLDEST_FIRST)
            return [_without_levels(document) async for document in found]

    async def orders_since(self, exchange: str, since: int) -> dict[str, str]:
        fields = ("exchange", "client_order_id", "exchange_order_id")
        wanted = {f"legs.{name}": True for name in fields}
        with translated_errors():
            found = self._database[ARBITRAGES].find(_at(exchange, since), wanted)
            legs = [leg async for document in found for leg in document["legs"]]
        return {
            str(leg["client_order_id"]): str(leg["exchange_order_id"])
            for leg in legs
            if leg["exchange"] == exchange and leg.get("exchange_order_id") is not None
        }

    async def foreign_currencies(self, exchange: str) -> frozenset[str]:
        opened = await self._balances.opened_at(exchange)
        with translated_errors():
            named = await self._database[DIFFERENCES].distinct(
                "currencies", {"exchange": exchange, "found_at": {"$gte": opened}}
            )
        return frozenset(str(name) for name in named)

    async def correct(self, correction: RowCorrection, by: Actor) -> bool:
        return await self._balances.correct(correction.expected, correction.corrected, by)


def _without_levels(document: Mapping[str, Any]) -> Arbitrage:
    """Raises StoreError where the document is of another version of this program."""
    for side in SIDES:
        quote = document.get("opportunity", {}).get(side)
        if quote is not None:
            quote["levels"] = ()
    return arbitrage_of(document)


def _at(exchange: str, since: int) -> Document:
    """Arbitrages with a leg there, open or ended since."""
    there = {"legs.exchange": exchange}
    return {"$or": [there | {"times.ended": {"$gte": since}}, there | OPEN]}


def difference_of(document: Mapping[str, object]) -> StoredDifference:
    """Raises StoreError where the document is of another version of this program."""
    try:
        return _DIFFERENCE.validate_python(document)
    except ValidationError as error:
        raise StoreError(
            f"difference {document.get('_id')!r} was written by another version of this program: {error}"
        ) from error
