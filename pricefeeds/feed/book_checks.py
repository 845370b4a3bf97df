"""Asks an exchange by REST whether the book that its stream shows is the one it has."""

import asyncio
import random
from dataclasses import dataclass

from market.prices.book_top import BookTop
from market.time_units import MICROSECONDS
from pricefeeds.errors import BookMismatchError, FeedDroppedError
from pricefeeds.feed.endpoints import FeedEndpoints
from pricefeeds.feed.feed_session import FeedSession
from pricefeeds.feed.rest_reader import RestAnswer
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.book_comparison import Doubt, doubts, is_same
from session.backoff import jittered
from session.clock import Clock, SystemClock


@dataclass(frozen=True, slots=True)
class _Look:
    """What one comparison found; `since` in microseconds UTC is where what was shown begins."""

    since: int
    doubts: frozenset[Doubt]


class BookChecks:
    """The checks of one connection."""

    def __init__(
        self, source: FeedEndpoints, listener: FeedSession, clock: Clock, patience: FeedTimeouts, chance: random.Random
    ) -> None:
        self._source = source
        self._listener = listener
        self._clock = clock
        self._patience = patience
        self._chance = chance
        self._path = source.wire.rest_book(listener.feed.market)
        self._doubted = asyncio.Event()

    def doubt(self) -> None:
        """Nothing came for a while: is that because nothing happened?"""
        self._doubted.set()

    async def confirm_in_doubt(self) -> None:
        """For ever: as long as REST has the very book that came last, the feed is live although it is quiet."""
        while True:
            await self._doubted.wait()
            found = await self._asked()
            if found is not None:
                answer, top = found
                if is_same(top, self._listener.shown.newest()):
                    self._listener.confirm(answer.sent, self._clock.now())
            await SystemClock().sleep(self._patience.look_seconds * 2)
            self._doubted.clear()

    async def compare(self) -> None:
        """For ever, from time to time. Raises BookMismatchError where two looks in a row find the same difference."""
        while True:
            await SystemClock().sleep(jittered(self._interval(), self._chance))
            first = await self._look()
            if first is None or not first.doubts:
                continue
            await SystemClock().sleep(self._patience.compare_again)
            second = await self._look(first.since)
            if second is not None and first.doubts & second.doubts:
                self._listener.feed.count("rest_mismatches")
                raise BookMismatchError("the book by REST is not the stream's")

    async def _look(self, since: int | None = None) -> _Look | None:
        """At REST and at all that the stream showed about then, or `since`. None where there is nothing to compare."""
        if self._listener.shown.newest() is None:
            return None
        found = await self._asked()
        if found is None:
            return None
        answer, top = found
        await SystemClock().sleep(self._patience.stream_lag)
        if since is None:
            since = answer.sent - int(self._patience.rest_lag * MICROSECONDS)
        until = answer.received + int(self._patience.stream_lag * MICROSECONDS)
        return _Look(since, doubts(top, self._listener.shown.between(since, until)))

    async def _asked(self) -> tuple[RestAnswer, BookTop] | None:
        feed = self._listener.feed
        try:
            answer = await self._source.rest.get(self._path)
            top = self._source.wire.parse_rest_book(answer.body)
        except FeedDroppedError:
            feed.count("rest_failures")
            return None
        feed.count("rest_checks")
        return answer, top

    def _interval(self) -> float:
        patience = self._patience
        return patience.compare_every if self._source.wire.detects_loss else patience.compare_often
