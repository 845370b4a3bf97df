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
"""Time for the store: a client that reconnects while MongoDB is away sees the rest meanwhile."""


@dataclass(frozen=True, slots=True)
class MissedTrades:
    """Newest first. Not complete: there are more, or the store did not answer."""

    arbitrages: tuple[Arbitrage, ...] = ()
    is_complete: bool = True


def reserved_since(arbitrage: Arbitrage, since: int) -> bool:
    """Return whether the arbitrage may have changed after `since` (microseconds)."""
    return _reserved_at(arbitrage) >= since - SLACK_MICROSECONDS


def reaches_back(kept: Sequence[Arbitrage], limit: int, since: int) -> bool:
    """Return whether every change after `since` is among those `kept`, newest first and at most `limit`."""
    return len(kept) < limit or not reserved_since(kept[-1], since)


async def read_missed(reader: TradeReader, since: int, answer_seconds: float = ANSWER_SECONDS) -> MissedTrades:
    """Return all arbitrages that may have changed since; if there are too many, the newest of them."""
    found: list[Arbitrage] = []
    cursor: str | None = None
    try:
        async with asyncio.timeout(answer_seconds):
            while len(found) < MAX_MISSED:
                page = await reader.arbitrages((), cursor, PAGE_ROWS)
                found += page.items
                cursor = page.next_cursor
                if cursor is None or not any(reserved_since(arbitrage, since) for arbitrage in page.items):
                    return MissedTrades(tuple(one for one in found if reserved_since(one, since)))
    except (StoreError, TimeoutError):
        return MissedTrades(tuple(found), is_complete=False)
    return MissedTrades(tuple(found), is_complete=False)


def _reserved_at(arbitrage: Arbitrage) -> int:
    """Return when it was reserved; 0 for one that never was: it is shown to nobody."""
    return arbitrage.times.get("reserved", 0)
