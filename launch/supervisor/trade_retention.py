"""Removes ended arbitrages older than the configured days while a session runs, a few at a time."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock
from session.session import Session
from store.errors import StoreError
from store.mongo.store import MongoTradeStore, open_store

ROUND_SECONDS = 3_600.0
PAUSE_SECONDS = 1.0
"""Pause between two transactions of a few milliseconds: whoever sums what is there sums all of it after each."""
DAY = 86_400 * MICROSECONDS

log = logging.getLogger("launch")


async def run_retention(session: Session, echo: Callable[[str], None]) -> None:
    """Remove arbitrages until cancelled; ends at once if nothing is to be removed. A session that is recorded keeps
    all, because it is verified against its recording."""
    if session.upkeep.keep_trades_days == 0 or session.upkeep.recordings_mb is not None:
        return
    while True:
        try:
            async with await open_store(session) as store:
                moment = await store.server_now() - session.upkeep.keep_trades_days * DAY
                removed = await remove_all_before(store, moment, PAUSE_SECONDS)
            if removed:
                day = f"{datetime.fromtimestamp(moment / MICROSECONDS, UTC):%Y-%m-%d}"
                echo(f"{removed:,} arbitrages that ended before {day} were removed; their sums by month are kept")
        except StoreError as error:
            # the next round tries again
            log.warning("ended arbitrages were not removed", extra={"error": str(error)})
        await SystemClock().sleep(ROUND_SECONDS)


async def remove_all_before(store: MongoTradeStore, moment: int, pause_seconds: float) -> int:
    """Remove them. Returns how many. Raises StoreError."""
    removed = 0
    while count := await store.remove_ended_before(moment):
        removed += count
        await SystemClock().sleep(pause_seconds)
    return removed
