"""Each symbol's watch against the simulated exchange that speaks its wire protocol."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from exchanges.simulated_markets import simulated_markets
from pricefeeds.feed.timeouts import FeedTimeouts
from session.clock import wall_now
from tests.pricefeeds.conftest import World
from tests.pricefeeds.watched import PATIENT, watching

SYMBOLS = [(market.exchange, market.symbol) for market in simulated_markets()]


@asynccontextmanager
async def moving(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


@pytest.mark.parametrize(("exchange", "symbol"), SYMBOLS)
async def test_a_feed_shows_the_exchanges_own_book(world: World, exchange: str, symbol: str) -> None:
    async with watching(world.session, exchange, symbol) as watched:
        async with moving(world):
            await watched.until_quotes(5)
        # the world stands still now, and so does its book
        bids, asks = world.levels(exchange, symbol)
        await watched.until(lambda: (watched.quotes[-1].bids, watched.quotes[-1].asks) == (bids, asks))
        assert all((one.bids, one.asks) != (two.bids, two.asks) for one, two in pairwise(watched.quotes))


@pytest.mark.parametrize(("exchange", "symbol"), SYMBOLS)
async def test_a_moving_book_agrees_with_rest(world: World, exchange: str, symbol: str) -> None:
    async with moving(world), watching(world.session, exchange, symbol, PATIENT) as watched:
        await watched.until(lambda: watched.state.rest_checks >= 4)
        assert (watched.state.rest_mismatches, watched.state.rest_failures) == (0, 0)
        assert (watched.state.status, watched.state.reconnects, watched.state.rejected) == ("live", 0, {})


@pytest.mark.parametrize(("exchange", "symbol"), SYMBOLS)
async def test_a_quiet_market_stays_live_because_rest_agrees(world: World, exchange: str, symbol: str) -> None:
    """For longer than a book may be without a sign that it holds."""
    alive = "fx_alive" if world.market(exchange, symbol).is_fx else "alive"
    async with watching(world.session, exchange, symbol, PATIENT) as watched:
        async with moving(world):
            await watched.until_quotes(1)
        checks, number = watched.state.rest_checks, len(watched.rows)
        until = wall_now() + 3 * PATIENT.late_after // 2
        # ten a second, and late on a busy machine
        await watched.until(lambda: wall_now() > until and watched.kinds.count(alive) >= 30)
        assert watched.state.rest_checks > checks
        assert (watched.state.status, watched.state.reconnects) == ("live", 0)
        # but for what was still under way
        assert watched.kinds[number:].count(alive) >= len(watched.rows) - number - 2


@pytest.mark.parametrize(("exchange", "symbol"), SYMBOLS)
async def test_at_public_prices_a_book_comes_without_keys(world: World, exchange: str, symbol: str) -> None:
    """The simulated exchange stands for the real one's public side, asked as seldom as that allows."""
    gateways = dict.fromkeys(world.session.exchanges, str(world.session.exchanges_url))
    session = replace(world.session, mode="public", exchanges_url=None, gateways=gateways)
    async with moving(world), watching(session, exchange, symbol, FeedTimeouts.of_limit(3.0)) as watched:
        await watched.until_quotes(10)
        assert watched.source.credentials is None
        assert (watched.state.status, watched.state.reconnects, watched.state.rejected) == ("live", 0, {})
