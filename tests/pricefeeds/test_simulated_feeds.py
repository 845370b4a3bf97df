"""Each symbol's watch against the simulated exchange that speaks its wire protocol, by our own reader and by ccxt."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from itertools import pairwise

import pytest

from exchanges.books.errors import FeedRejectedError
from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from market.prices.quotes import Quote
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row
from runtime.clock import wall_now
from session.exchange_entries import ExchangeEntry
from session.session import Session
from tests.pricefeeds.conftest import World
from tests.pricefeeds.watched import IMPATIENT, PATIENT, Watched, watching

READERS = pytest.mark.parametrize("is_generic", [False, True], ids=["our own reader", "ccxt"])
POLLED = "bitflyer"
"""ccxt has no stream of its books."""

Feeds = dict[Market, Watched]


def session_of(world: World, *, is_generic: bool) -> Session:
    entries = {name: ExchangeEntry(name, "generic") for name in world.session.exchanges} if is_generic else {}
    return replace(world.session, reach=replace(world.session.reach, entries=entries))


def markets_of(*, is_generic: bool) -> Iterator[Market]:
    """Yield those that such a reader is for."""
    return (market for market in simulated_markets() if not (is_generic and market.is_fx))


@asynccontextmanager
async def watching_all(session: Session, patience: FeedTimeouts, *, is_generic: bool) -> AsyncIterator[Feeds]:
    """All at once: one after the other each would wait as long as all of them do together."""
    async with AsyncExitStack() as stack:
        yield {
            market: await stack.enter_async_context(watching(session, market.exchange, market.symbol, patience))
            for market in markets_of(is_generic=is_generic)
        }


async def until_quotes(feeds: Feeds, number: int) -> None:
    await asyncio.gather(*(watched.until_quotes(number) for watched in feeds.values()))


@asynccontextmanager
async def moving(world: World) -> AsyncIterator[None]:
    task = asyncio.create_task(world.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        world.send_what_waits()


@READERS
async def test_feeds_show_the_exchanges_own_books(world: World, is_generic: bool) -> None:
    async with watching_all(session_of(world, is_generic=is_generic), IMPATIENT, is_generic=is_generic) as feeds:
        async with moving(world):
            await until_quotes(feeds, 5)
        # the world stands still now, and so do its books
        for market, watched in feeds.items():
            await until_shown(watched, world.levels(market.exchange, market.symbol))
            # a slow machine may have dropped the connection in between, after which the same book is news
            assert not any(is_repeat(one, two) for one, two in pairwise(watched.rows)), market


def is_repeat(one: Row, two: Row) -> bool:
    return isinstance(one, Quote) and isinstance(two, Quote) and (one.bids, one.asks) == (two.bids, two.asks)


async def until_shown(watched: Watched, levels: tuple[object, object]) -> None:
    await watched.until(lambda: (watched.quotes[-1].bids, watched.quotes[-1].asks) == levels)


@READERS
async def test_moving_books_agree_with_rest(world: World, is_generic: bool) -> None:
    session = session_of(world, is_generic=is_generic)
    async with moving(world), watching_all(session, PATIENT, is_generic=is_generic) as feeds:
        compared = [one for market, one in feeds.items() if not (is_generic and market.exchange == POLLED)]
        for watched in compared:
            await until_compared(watched, 4)
        await until_quotes(feeds, 4)
        for market, watched in feeds.items():
            state = watched.state
            assert (state.rest_mismatches, state.rest_failures) == (0, 0), market
            # a slow machine may have dropped the connection in between, which is no difference
            assert (state.status, state.rejected) == ("live", {}), market


async def until_compared(watched: Watched, times: int) -> None:
    await watched.until(lambda: watched.state.rest_checks >= times)


@READERS
async def test_quiet_markets_stay_live_because_rest_agrees(world: World, is_generic: bool) -> None:
    """For longer than a book may be without a sign that it holds."""
    async with watching_all(session_of(world, is_generic=is_generic), PATIENT, is_generic=is_generic) as feeds:
        async with moving(world):
            await until_quotes(feeds, 1)
        before = {market: (watched.state.rest_checks, len(watched.rows)) for market, watched in feeds.items()}
        await asyncio.gather(*(until_long_alive(market, watched) for market, watched in feeds.items()))
        for market, watched in feeds.items():
            checks, number = before[market]
            assert watched.state.rest_checks > checks or (is_generic and market.exchange == POLLED), market
            assert (watched.state.status, watched.state.reconnects) == ("live", 0), market
            # but for what was still under way
            assert watched.kinds[number:].count(alive(market)) >= len(watched.rows) - number - 2, market


def alive(market: Market) -> str:
    return "fx_alive" if market.is_fx else "alive"


async def until_long_alive(market: Market, watched: Watched) -> None:
    until = wall_now() + 3 * PATIENT.late_after // 2
    # ten a second, and late on a busy machine
    await watched.until(lambda: wall_now() > until and watched.kinds.count(alive(market)) >= 30)


@READERS
async def test_at_public_prices_books_come_without_keys(world: World, is_generic: bool) -> None:
    """The simulated exchanges stand for the real ones' public side, asked as seldom as that allows."""
    gateways = dict.fromkeys(world.session.exchanges, str(world.session.simulated.url))
    session = session_of(world, is_generic=is_generic)
    session = replace(
        session,
        mode="public",
        simulated=replace(session.simulated, url=None),
        reach=replace(session.reach, gateways=gateways),
    )
    async with moving(world), watching_all(session, FeedTimeouts.of_limit(3.0), is_generic=is_generic) as feeds:
        if is_generic:
            (rejected,) = [market for market in feeds if market.exchange == "coinbaseexchange"]
            # ccxt subscribes to its signed channel only
            with pytest.raises(FeedRejectedError, match="coinbaseexchange has no books for us"):
                await feeds.pop(rejected).until_quotes(1)
        await until_quotes(feeds, 3 if is_generic else 10)
        for market, watched in feeds.items():
            assert watched.source.credentials is None
            assert (watched.state.status, watched.state.reconnects, watched.state.rejected) == ("live", 0, {}), market
