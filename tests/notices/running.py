"""Work that runs for as long as a test looks at it."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager

from market.trade.leases import UNFENCED
from store.mongo.store import MongoTradeStore
from tests.store.booking import finish_leg
from tests.store.reservation_requests import close, opportunity, reserved


@asynccontextmanager
async def running(*work: Coroutine[object, object, None]) -> AsyncIterator[None]:
    """Run them; a failure of any is the test's."""
    tasks = [asyncio.create_task(each) for each in work]
    ended: list[object] = []
    try:
        yield
    finally:
        ended = [task.exception() for task in tasks if task.done()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert ended == []


async def traded(store: MongoTradeStore, number: int) -> str:
    """Return an arbitrage that is begun and closed; its id."""
    of = opportunity(f"opportunity-{number}", sequence=number)
    arbitrage = await reserved(store, of, "0.01")
    await finish_leg(store, arbitrage.arbitrage_id, "buy", None, close, UNFENCED)
    await finish_leg(store, arbitrage.arbitrage_id, "sell", None, close, UNFENCED)
    return arbitrage.arbitrage_id
