"""Compares the book of an exchange's stream with its book by REST."""

import asyncio
import random
from dataclasses import dataclass

from exchanges.books.errors import FeedDroppedError
from market.prices.book_top import BookTop
from market.time_units import MICROSECONDS
from pricefeeds.errors import BookMismatchError
from pricefeeds.feed.rest_reader import RestAnswer
from pricefeeds.feed.session import FeedSession
from pricefeeds.feed.source import FeedSource
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.book_comparison import Doubt, doubts, is_same
from runtime.backoff import jittered
from runtime.clock import Clock, SystemClock

COMPARISONS = 2
"""At most one request in so many is for a comparison: quiet markets are live only while others confirm them."""


def seconds_between_comparisons(symbols: int, pace: float, rest_seconds: float) -> float:
    """Return the least interval of one symbol's comparisons. Whatever the number of symbols, an exchange gets one such
    request every `rest_seconds / 2` at most."""
    return symbols * max(rest_seconds / 2, pace * COMPARISONS)


@dataclass(frozen=True, slots=True)
class _BookCheck:
    """Result of one comparison; `since` (microseconds UTC) is the start of the stream's books it covers."""

    since: int
    doubts: frozenset[Doubt]


class BookChecks:
    """The checks of one connection."""

    def __init__(
        self,
        endpoints: FeedSource,
        feed_session: FeedSession,
        clock: Clock,
        timeouts: FeedTimeouts,
        chance: random.Random,
    ) -> None:
        self._endpoints = endpoints
        self._feed_session = feed_session
        self._clock = clock
        self._timeouts = timeouts
        self._chance = chance
        self._path = endpoints.wire.rest_book(feed_session.feed.market)
        self._is_doubted = asyncio.Event()

    def doubt(self) -> None:
        """Request a REST check: no book came for a while, so the market is quiet or the stream is broken."""
        self._is_doubted.set()

    async def confirm_in_doubt(self) -> None:
        """Run for ever: while REST returns the newest book of the stream, a quiet feed stays live."""
        while True:
            await self._is_doubted.wait()
            found = await self._fetch_book()
            if found is not None:
                answer, top = found
                if is_same(top, self._feed_session.recent_books.newest()):
                    self._feed_session.confirm(answer.sent, self._clock.now())
            await SystemClock().sleep(self._timeouts.check_seconds * 2)
            self._is_doubted.clear()

    async def compare(self) -> None:
        """Run for ever at intervals. Raises BookMismatchError if two checks in a row find the same difference."""
        timeouts = self._timeouts
        usual = timeouts.compare_every if self._endpoints.wire.detects_loss else timeouts.compare_often
        interval = max(usual, self._endpoints.compare_seconds)
        # the symbols of an exchange begin together, and are not to be compared together
        pause = self._chance.uniform(usual, interval)
        while True:
            await SystemClock().sleep(jittered(pause, self._chance))
            pause = interval
            first = await self._check()
            if first is None or not first.doubts:
                continue
            await SystemClock().sleep(timeouts.compare_again)
            second = await self._check(first.since)
            if second is not None and first.doubts & second.doubts:
                self._feed_session.feed.count("rest_mismatches")
                raise BookMismatchError("the REST book differs from the stream's")

    async def _check(self, since: int | None = None) -> _BookCheck | None:
        """Compare REST with the stream's books of that time, or since `since`. None if there is nothing to
        compare."""
        if self._feed_session.recent_books.newest() is None:
            return None
        found = await self._fetch_book()
        if found is None:
            return None
        answer, top = found
        await SystemClock().sleep(self._timeouts.stream_lag)
        if since is None:
            since = answer.sent - int(self._timeouts.rest_lag * MICROSECONDS)
        until = answer.received + int(self._timeouts.stream_lag * MICROSECONDS)
        return _BookCheck(since, doubts(top, self._feed_session.recent_books.between(since, until)))

    async def _fetch_book(self) -> tuple[RestAnswer, BookTop] | None:
        feed = self._feed_session.feed
        try:
            answer = await self._endpoints.rest.get(self._path)
            top = self._endpoints.wire.parse_rest_book(answer.body)
        except FeedDroppedError:
            feed.count("rest_failures")
            return None
        feed.count("rest_checks")
        return answer, top
