"""ccxt's streams against the simulated exchanges, and what it does with frames that it cannot read."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from exchanges.credentials import credentials_path
from market.clock import SystemClock
from pricefeeds.errors import FeedRefusedError
from pricefeeds.sources import books_of
from pricefeeds.symbolfeed import Row, SymbolFeed
from pricefeeds.watching import Patience, watch_symbol
from tests.pricefeeds.conftest import World

DEADLINE_SECONDS = 20.0
FEEDS = [
    ("coinbaseexchange", "BTC/USD"),
    ("bitstamp", "BTC/EUR"),
    ("kraken", "BTC/USD"),
    ("kraken", "EUR/USD"),
    ("kraken", "USD/JPY"),
]


@pytest.mark.parametrize(("exchange", "symbol"), FEEDS, ids=[f"{exchange} {symbol}" for exchange, symbol in FEEDS])
async def test_books_follow_the_simulated_exchange(world: World, exchange: str, symbol: str) -> None:
    """After every move of the exchange the ten levels read become the exchange's own."""
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(asyncio.timeout(DEADLINE_SECONDS))
        books = await stack.enter_async_context(books_of(world.session, world.market(exchange, symbol))())
        reading = asyncio.ensure_future(anext(books))
        while not reading.done():  # bitstamp's first book needs messages to come before it
            await world.step()
            await asyncio.wait({reading}, timeout=0.01)
        top = await reading
        for _ in range(60):
            await world.step()
            while (top.bids, top.asks) != world.levels(exchange, symbol):
                top = await anext(books)


async def test_a_frame_that_kills_the_receive_loop_is_survived(world: World) -> None:
    """ccxt dies silently of an update for a product that it does not know; the watchdog subscribes anew."""
    feed = SymbolFeed(world.market("coinbaseexchange", "BTC/USD"), 0, 0)
    rows: list[str] = []

    def publish(made: list[Row]) -> None:
        rows.extend(type(row).__name__ for row in made)

    open_books = books_of(world.session, feed.market)
    patience = Patience(first_book=5, silence=0.3)
    deaths: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: deaths.append(repr(context.get("exception"))))
    task = asyncio.create_task(watch_symbol(feed, open_books, publish, SystemClock(), patience))
    try:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await _stepped_until(world, lambda: feed.state.quotes > 5)
            bad = {"type": "l2update", "product_id": "NO-SUCH", "time": "2024-01-01T00:00:00.000000Z", "changes": []}
            world.exchanges.gateways["coinbaseexchange"].subscribers.broadcast("level2:BTC-USD", bad)
            await _stepped_until(world, lambda: feed.state.reconnects == 1)
            quotes = feed.state.quotes
            await _stepped_until(world, lambda: feed.state.quotes > quotes + 5)
    finally:
        task.cancel()
        await asyncio.wait({task})
    assert feed.state.status == "live"
    assert rows.count("FeedMark") == 1
    assert len(deaths) == 1


async def test_missing_keys_are_a_refusal_in_one_sentence(world: World) -> None:
    credentials_path(world.session.home).unlink()
    with pytest.raises(FeedRefusedError, match="is missing"):
        async with books_of(world.session, world.market("coinbaseexchange", "BTC/USD"))():
            pass


async def test_a_symbol_that_the_exchange_does_not_have_is_refused(world: World) -> None:
    market = world.market("kraken", "BTC/USD")

    async with asyncio.timeout(DEADLINE_SECONDS), books_of(world.session, replace(market, symbol="XYZ/USD"))() as books:
        with pytest.raises(FeedRefusedError, match="kraken refused XYZ/USD"):
            await anext(books)


async def _stepped_until(world: World, condition: Callable[[], bool]) -> None:
    while not condition():
        await world.step()
        await SystemClock().sleep(0.01)
