"""Keeps one symbol's feed going: follows its books, notices silence, tears down and subscribes anew."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import NoReturn

from market.backoff import backoff
from market.clock import MICROSECONDS, Clock, SystemClock
from pricefeeds.books import BookTop
from pricefeeds.errors import FeedDroppedError
from pricefeeds.symbolfeed import Row, SymbolFeed

log = logging.getLogger("pricefeeds")

OpenBooks = Callable[[], AbstractAsyncContextManager[AsyncIterator[BookTop]]]
"""One connection: books until it raises FeedDroppedError (open another) or FeedRefusedError (give up)."""
Publish = Callable[[list[Row]], None]


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds without a book that can be believed until the connection is given up."""

    first_book: float = 10.0
    """Counted from opening; loading markets and the first snapshot lie within."""
    silence: float = 2.0


async def watch_symbol(
    feed: SymbolFeed, open_books: OpenBooks, publish: Publish, clock: Clock, patience: Patience = Patience()
) -> NoReturn:
    """Publish what the feed makes of the books, for ever. Raises FeedRefusedError and what `publish` raises."""
    delays = backoff()
    while True:
        publish(feed.lose("resyncing", clock.now()))
        opened_at = clock.now()
        try:
            async with open_books() as books:
                await _follow(feed, books, publish, clock, patience)
        except FeedDroppedError as error:
            if feed.state.status != "stale":
                publish(feed.lose("down", clock.now()))
            log.warning("feed dropped", extra=_ids(feed) | {"error": str(error), "status": feed.state.status})
        feed.count_reconnect()
        if feed.last_accepted >= opened_at:
            delays = backoff()
        await _pause(delays)


async def _follow(
    feed: SymbolFeed, books: AsyncIterator[BookTop], publish: Publish, clock: Clock, patience: Patience
) -> NoReturn:
    """Raises FeedDroppedError once the books end, break or stop to be believable."""
    deadline = clock.now() + int(patience.first_book * MICROSECONDS)
    pending = asyncio.ensure_future(_next_book(books))
    try:
        while True:
            # `wait` leaves the pending read alone where `wait_for` would cancel it in the middle of a frame.
            done, _ = await asyncio.wait({pending}, timeout=max(0.0, (deadline - clock.now()) / MICROSECONDS))
            if done:
                now = clock.now()
                publish(feed.take(pending.result(), now))
                if feed.last_accepted == now:
                    deadline = now + int(patience.silence * MICROSECONDS)
                pending = asyncio.ensure_future(_next_book(books))
            if clock.now() >= deadline:
                publish(feed.lose("stale", clock.now()))
                raise FeedDroppedError("no believable book in time")
    finally:
        pending.cancel()
        await asyncio.gather(pending, return_exceptions=True)


async def _next_book(books: AsyncIterator[BookTop]) -> BookTop:
    try:
        return await anext(books)
    except StopAsyncIteration:
        raise FeedDroppedError("the exchange ended the stream") from None


async def _pause(delays: Iterator[float]) -> None:
    await SystemClock().sleep(next(delays))


def _ids(feed: SymbolFeed) -> dict[str, object]:
    return {"exchange": feed.market.exchange, "symbol": feed.market.symbol}
