"""Trades that a reconnecting client missed and that the live state no longer holds, read from the store."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from store.errors import StoreError
from store.queries.trade_reader import TradeReader

SLACK_MICROSECONDS = 120 * MICROSECONDS
"""Between an arbitrage's reservation and its last news; two hosts' clocks differ by less."""
MAX_MISSED = 2_000
PAGE_ROWS = 500
ANSWER_SECONDS = 3.0
"""Who comes back while MongoDB is away sees the rest meanwhile."""


@dataclass(frozen=True, slots=True)
class MissedTrades:
    """Newest first. Not complete: there are more, or the store did not answer."""

    arbitrages: tuple[Arbitrage, ...] = ()
    is_complete: bool = True


def reserved_since(arbitrage: Arbitrage, heard: int) -> bool:
    """Whether the arbitrage may have changed after `heard` (microseconds)."""
    return _reserved_at(arbitrage) >= heard - SLACK_MICROSECONDS


def reaches_back(kept: Sequence[Arbitrage], most: int, heard: int) -> bool:
    """Whether every change after `heard` is among those `kept`, newest first and at most `most`."""
    return len(kept) < most or not reserved_since(kept[-1], heard)


async def read_missed(reader: TradeReader, heard: int) -> MissedTrades:
    """All arbitrages that may have changed since; the newest of them where they are too many."""
    found: list[Arbitrage] = []
    cursor: str | None = None
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            while len(found) < MAX_MISSED:
                page = await reader.arbitrages((), cursor, PAGE_ROWS)
                found += page.items
                cursor = page.next_cursor
                if cursor is None or not any(reserved_since(arbitrage, heard) for arbitrage in page.items):
                    return MissedTrades(tuple(one for one in found if reserved_since(one, heard)))
    except (StoreError, TimeoutError):
        return MissedTrades(tuple(found), is_complete=False)
    return MissedTrades(tuple(found), is_complete=False)


def _reserved_at(arbitrage: Arbitrage) -> int:
    """0 for one that never was: it is shown to nobody."""
    return arbitrage.times.get("reserved", 0)
