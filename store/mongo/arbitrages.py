"""Arbitrages and trades of cycles as they lie in MongoDB."""

import asyncio

from pymongo import ASCENDING

from market.trade.arbitrages import OPEN_STATES, Arbitrage, TradeOfLegs
from market.trade.cycle_trades import CycleTrade
from market.trade.leg_lifecycle import RESUMED
from store.server.client import Database, Document, translated_errors
from store.server.documents import ARBITRAGES, CYCLE_TRADES, arbitrage_of, cycle_trade_of

OLDEST_FIRST = [("at", ASCENDING), ("_id", ASCENDING)]
OPEN: Document = {"state": {"$in": list(OPEN_STATES)}}
RESUMABLE: Document = {"state": "residual", "reason": {"$in": list(RESUMED)}}


async def read_arbitrages(database: Database, wanted: Document) -> list[Arbitrage]:
    """Oldest first."""
    with translated_errors():
        found = database[ARBITRAGES].find(wanted).sort(OLDEST_FIRST)
        return [arbitrage_of(document) async for document in found]


async def read_cycle_trades(database: Database, wanted: Document) -> list[CycleTrade]:
    """Oldest first."""
    with translated_errors():
        found = database[CYCLE_TRADES].find(wanted).sort(OLDEST_FIRST)
        return [cycle_trade_of(document) async for document in found]


async def read_trades(database: Database, pairs: Document, cycles: Document) -> list[TradeOfLegs]:
    """Those of pairs, then those of cycles, read at the same time."""
    of_pairs, of_cycles = await asyncio.gather(read_arbitrages(database, pairs), read_cycle_trades(database, cycles))
    return [*of_pairs, *of_cycles]
