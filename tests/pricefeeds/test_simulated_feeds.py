"""Each symbol's watch against the simulated exchange that speaks its wire protocol, by our own reader and by ccxt."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from exchanges.books.errors import FeedRejectedError
from exchanges.simulated_markets import simulated_markets
from pricefeeds.feed.timeouts import FeedTimeouts
from runtime.clock import wall_now
from session.exchange_entries import ExchangeEntry
from session.session import Session
from tests.pricefeeds.conftest import World
from tests.pricefeeds.watched import PATIENT, watching

MARKETS = simulated_markets()
FEEDS = [(market.exchange, market.symbol, False) for market in MARKETS] + [
    (market.exchange, market.symbol, True) for market in MARKETS if not market.is_fx
]
"""Exchange, symbol, and whether ccxt reads its books."""
POLLED = "bitflyer"
"""ccxt has no stream of its books."""


def session_of(world: World, *, is_generic: bool) -> Session:
    entries = {name: ExchangeEntry(name, "generic") for name in world.session.exchanges} if is_generic else {}
    return replace(world.session, reach=replace(world.session.reach, entries=entries))


@asynccontextmanager
async def moving(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        world.send_what_waits()


@pytest.mark.parametrize(("exchange", "symbol", "is_generic"), FEEDS)
async def test_a_feed_shows_the_exchanges_own_book(world: World, exchange: str, symbol: str, is_generic: bool) -> None:
    async with watching(session_of(world, is_generic=is_generic), exchange, symbol) as watched:
        async with moving(world):
            await watched.until_quotes(5)
        # the world stands still now, and so does its book
        bids, asks = world.levels(exchange, symbol)
        await watched.until(lambda: (watched.quotes[-1].bids, watched.quotes[-1].asks) == (bids, asks))
        assert all((one.bids, one.asks) != (two.bids, two.asks) for one, two in pairwise(watched.quotes))


@pytest.mark.parametrize(("exchange", "symbol", "is_generic"), FEEDS)
async def test_a_moving_book_agrees_with_rest(world: World, exchange: str, symbol: str, is_generic: bool) -> None:
    async with moving(world), watching(session_of(world, is_generic=is_generic), exchange, symbol, PATIENT) as watched:
        is_polled = is_generic and exchange == POLLED
        await watched.until(lambda: is_polled or watched.state.rest_checks >= 4)
        await watched.until_quotes(4)
        assert (watched.state.rest_mismatches, watched.state.rest_failures) == (0, 0)
        # a slow machine may have dropped the connection in between, which is no difference
        assert (watched.state.status, watched.state.rejected) == ("live", {})


@pytest.mark.parametrize(("exchange", "symbol", "is_generic"), FEEDS)
async def test_a_quiet_market_stays_live_because_rest_agrees(
    world: World, exchange: str, symbol: str, is_generic: bool
) -> None:
    """For longer than a book may be without a sign that it holds."""
    alive = "fx_alive" if world.market(exchange, symbol).is_fx else "alive"
    async with watching(session_of(world, is_generic=is_generic), exchange, symbol, PATIENT) as watched:
        async with moving(world):
            await watched.until_quotes(1)
        checks, number = watched.state.rest_checks, len(watched.rows)
        until = wall_now() + 3 * PATIENT.late_after // 2
        # ten a second, and late on a busy machine
        await watched.until(lambda: wall_now() > until and watched.kinds.count(alive) >= 30)
        assert watched.state.rest_checks > checks or (is_generic and exchange == POLLED)
        assert (watched.state.status, watched.state.reconnects) == ("live", 0)
        # but for what was still under way
        assert watched.kinds[number:].count(alive) >= len(watched.rows) - number - 2


@pytest.mark.parametrize(("exchange", "symbol", "is_generic"), FEEDS)
async def test_at_public_prices_a_book_comes_without_keys(
    world: World, exchange: str, symbol: str, is_generic: bool
) -> None:
    """The simulated exchange stands for the real one's public side, asked as seldom as that allows."""
    gateways = dict.fromkeys(world.session.exchanges, str(world.session.simulated.url))
    session = session_of(world, is_generic=is_generic)
    session = replace(
        session,
        mode="public",
        simulated=replace(session.simulated, url=None),
        reach=replace(session.reach, gateways=gateways),
    )
    async with moving(world), watching(session, exchange, symbol, FeedTimeouts.of_limit(3.0)) as watched:
        if is_generic and exchange == "coinbaseexchange":
            # ccxt subscribes to its signed channel only
            with pytest.raises(FeedRejectedError, match="coinbaseexchange has no books for us"):
                await watched.until_quotes(1)
            return
        await watched.until_quotes(3 if is_generic else 10)
        assert watched.source.credentials is None
        assert (watched.state.status, watched.state.reconnects, watched.state.rejected) == ("live", 0, {})
