"""Keeps one symbol's feed running: connects, reads frames, checks the book, drops a bad connection and reconnects."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from typing import NoReturn

from exchanges.books.errors import FeedDroppedError, FrameRejectedError, MessageLostError
from exchanges.books.port import FetchSnapshot, Send
from market.prices.feed_state import FeedStatus
from pricefeeds.errors import BookMismatchError, FeedStaleError
from pricefeeds.feed.rest_checks import BookChecks
from pricefeeds.feed.session import FAULT_COUNTERS, FeedSession, WireRequest
from pricefeeds.feed.source import FeedSource, StreamConnection
from pricefeeds.feed.timeouts import FeedTimeouts
from runtime.backoff import CHANCE, backoff
from runtime.clock import Clock, SystemClock
from runtime.tasks import run_all

log = logging.getLogger("pricefeeds")


class ConnectionLoop:
    """One symbol's connections, one after another, all into one FeedSession."""

    def __init__(
        self,
        endpoints: FeedSource,
        feed_session: FeedSession,
        clock: Clock,
        timeouts: FeedTimeouts,
        recheck_clock: Callable[[], None] = lambda: None,
        chance: random.Random = CHANCE,
    ) -> None:
        """`recheck_clock` is called when the exchange's clock should be measured again."""
        self._endpoints = endpoints
        self._feed_session = feed_session
        self._clock = clock
        self._timeouts = timeouts
        self._recheck_clock = recheck_clock
        self._chance = chance

    async def run(self) -> NoReturn:
        """Run for ever. Raises FeedRejectedError if the exchange rejects for good, and what publishing raises."""
        delays = self._delays()
        while True:
            opened_at = self._clock.now()
            try:
                await self._connection()
            except FeedDroppedError as error:
                self._drop(error)
            finally:
                self._feed_session.close(self._clock.now())
            feed = self._feed_session.feed
            feed.count("reconnects")
            if feed.last_accepted < opened_at:
                # our signature may have been rejected because our clock differs from the exchange's
                self._recheck_clock()
            elif feed.last_accepted - opened_at >= self._timeouts.late_after:
                delays = self._delays()
            await SystemClock().sleep(next(delays))

    async def _connection(self) -> None:
        """One connection, until it is dropped. Raises FeedDroppedError if none could be opened."""
        async with self._endpoints.connected(self._feed_session.feed.market) as connection:
            fetches: asyncio.Queue[str] = asyncio.Queue()
            self._feed_session.withdraw("resyncing", self._clock.now())
            conversation = self._endpoints.conversation(self._feed_session.feed.market)
            checks = BookChecks(self._endpoints, self._feed_session, self._clock, self._timeouts, self._chance)
            try:
                await self._execute(self._feed_session.open(conversation, self._clock.now()), connection, fetches)
                await run_all(
                    self._receive(connection, fetches, checks),
                    self._fetch(connection, fetches),
                    self._ping(connection),
                    self._watch(checks),
                    *((checks.confirm_in_doubt(), checks.compare()) if self._endpoints.streams else ()),
                )
            except FeedDroppedError as error:
                # before the socket is closed, which can take a while when the exchange is silent
                self._drop(error)

    async def _receive(self, connection: StreamConnection, fetches: "asyncio.Queue[str]", checks: BookChecks) -> None:
        feed_session, clock = self._feed_session, self._clock
        async for frame in connection.frames():
            requests = feed_session.frame(frame, clock.now())
            if requests:
                await self._execute(requests, connection, fetches)
            if feed_session.feed.clock_is_doubtful:
                self._recheck_clock()
                checks.doubt()

    async def _fetch(self, connection: StreamConnection, fetches: "asyncio.Queue[str]") -> None:
        while True:
            # the snapshots of many symbols are asked for together
            answer = await self._endpoints.rest.get(await fetches.get(), self._timeouts.first_book)
            await self._execute(self._feed_session.snapshot(answer.body, self._clock.now()), connection, fetches)

    async def _ping(self, connection: StreamConnection) -> None:
        limit = self._timeouts.stale_after
        while True:
            await SystemClock().sleep(limit / 3)
            await connection.ping(limit / 2)
            self._feed_session.connection_alive(self._clock.now())

    async def _watch(self, checks: BookChecks) -> None:
        """Check the watchdog often enough that a stale quote is withdrawn within the limit."""
        while True:
            await SystemClock().sleep(self._timeouts.check_seconds)
            verdict = self._feed_session.verdict(self._clock.now())
            if verdict == "stale":
                raise FeedStaleError("nothing confirmed the book in time")
            if verdict == "doubtful":
                checks.doubt()

    async def _execute(
        self, requests: list[WireRequest], connection: StreamConnection, fetches: "asyncio.Queue[str]"
    ) -> None:
        for request in requests:
            if isinstance(request, Send):
                await connection.send(request.text)
            elif isinstance(request, FetchSnapshot):
                fetches.put_nowait(request.path)

    def _drop(self, error: FeedDroppedError) -> None:
        feed = self._feed_session.feed
        status = status_after(error)
        self._feed_session.withdraw(status, self._clock.now())
        if isinstance(error, MessageLostError):
            # the session has seen no wrong message
            feed.count(FAULT_COUNTERS[error.kind])
        if status != "down":
            feed.count("resyncs")
        market = feed.market
        ids = {"exchange": market.exchange, "symbol": market.symbol, "status": status}
        log.warning("feed dropped", extra=ids | {"error": str(error)})

    def _delays(self) -> Iterator[float]:
        return backoff(self._timeouts.first_retry, longest=self._timeouts.longest_retry, chance=self._chance)


def status_after(error: FeedDroppedError) -> FeedStatus:
    if isinstance(error, FeedStaleError):
        return "stale"
    return "resyncing" if isinstance(error, FrameRejectedError | BookMismatchError) else "down"
