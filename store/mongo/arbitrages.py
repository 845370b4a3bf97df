"""Arbitrages as they lie in MongoDB."""

from pymongo import ASCENDING

from market.trade.arbitrages import OPEN_STATES, Arbitrage
from market.trade.leg_lifecycle import RESUMED
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, arbitrage_of

OLDEST_FIRST = [("at", ASCENDING), ("_id", ASCENDING)]
OPEN: Document = {"state": {"$in": list(OPEN_STATES)}}
RESUMABLE: Document = {"state": "residual", "reason": {"$in": list(RESUMED)}}


async def read_arbitrages(database: Database, wanted: Document) -> list[Arbitrage]:
    """Oldest first."""
    with translated_errors():
        found = database[ARBITRAGES].find(wanted).sort(OLDEST_FIRST)
        return [arbitrage_of(document) async for document in found]
