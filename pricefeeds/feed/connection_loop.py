"""Keeps one symbol's feed going: connects, listens, has it checked, tears down what cannot be believed, and again."""

import asyncio
import logging
import random
from collections.abc import Callable, Iterator
from typing import NoReturn

from market.prices.feed_state import FeedStatus
from pricefeeds.errors import BookMismatchError, FeedDroppedError, FeedStaleError, FrameRejectedError
from pricefeeds.feed.book_checks import BookChecks
from pricefeeds.feed.endpoints import FeedEndpoints
from pricefeeds.feed.feed_session import FeedSession, Wish
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.feed.websocket import WebSocketConnection, connected
from pricefeeds.wire.wire_port import FetchSnapshot, Send
from session.backoff import CHANCE, backoff
from session.clock import Clock, SystemClock
from session.tasks import run_all

log = logging.getLogger("pricefeeds")


class ConnectionLoop:
    """One symbol's connections, one after another, all heard by one listener."""

    def __init__(
        self,
        source: FeedEndpoints,
        listener: FeedSession,
        clock: Clock,
        patience: FeedTimeouts,
        doubt_clock: Callable[[], None] = lambda: None,
        chance: random.Random = CHANCE,
    ) -> None:
        """`doubt_clock` is called when the exchange's clock should be asked again."""
        self._source = source
        self._listener = listener
        self._clock = clock
        self._patience = patience
        self._doubt_clock = doubt_clock
        self._chance = chance

    async def run(self) -> NoReturn:
        """For ever. Raises FeedRejectedError where the exchange declines for good, and what publishing raises."""
        delays = self._delays()
        while True:
            opened_at = self._clock.now()
            try:
                await self._connection()
            except FeedDroppedError as error:
                self._drop(error)
            finally:
                self._listener.close(self._clock.now())
            feed = self._listener.feed
            feed.count("reconnects")
            if feed.last_accepted < opened_at:
                # what we signed may have been of another time than the exchange's
                self._doubt_clock()
            elif feed.last_accepted - opened_at >= self._patience.late_after:
                delays = self._delays()
            await SystemClock().sleep(next(delays))

    async def _connection(self) -> None:
        """One connection, until it is dropped. Raises FeedDroppedError where none came about."""
        async with connected(self._source.stream_address) as connection:
            fetches: asyncio.Queue[str] = asyncio.Queue()
            self._listener.lose("resyncing", self._clock.now())
            conversation = self._source.conversation(self._listener.feed.market)
            checks = BookChecks(self._source, self._listener, self._clock, self._patience, self._chance)
            try:
                await self._grant(self._listener.open(conversation, self._clock.now()), connection, fetches)
                await run_all(
                    self._listen(connection, fetches, checks),
                    self._fetch(connection, fetches),
                    self._ping(connection),
                    self._guard(checks),
                    checks.confirm_in_doubt(),
                    checks.compare(),
                )
            except FeedDroppedError as error:
                # before the socket is closed, for which a silent exchange lets us wait
                self._drop(error)

    async def _listen(self, connection: WebSocketConnection, fetches: "asyncio.Queue[str]", checks: BookChecks) -> None:
        listener, clock = self._listener, self._clock
        async for frame in connection.frames():
            wishes = listener.frame(frame, clock.now())
            if wishes:
                await self._grant(wishes, connection, fetches)
            if listener.feed.clock_is_doubtful:
                self._doubt_clock()
                checks.doubt()

    async def _fetch(self, connection: WebSocketConnection, fetches: "asyncio.Queue[str]") -> None:
        while True:
            answer = await self._source.rest.get(await fetches.get())
            await self._grant(self._listener.snapshot(answer.body, self._clock.now()), connection, fetches)

    async def _ping(self, connection: WebSocketConnection) -> None:
        limit = self._patience.stale_after
        while True:
            await SystemClock().sleep(limit / 3)
            await connection.ping(limit / 2)
            self._listener.hear(self._clock.now())

    async def _guard(self, checks: BookChecks) -> None:
        """Looks at the watchdog often enough that a stale quote is withdrawn within the limit."""
        while True:
            await SystemClock().sleep(self._patience.look_seconds)
            verdict = self._listener.verdict(self._clock.now())
            if verdict == "stale":
                raise FeedStaleError("nothing showed in time that the book holds")
            if verdict == "doubtful":
                checks.doubt()

    async def _grant(self, wishes: list[Wish], connection: WebSocketConnection, fetches: "asyncio.Queue[str]") -> None:
        for wish in wishes:
            if isinstance(wish, Send):
                await connection.send(wish.text)
            elif isinstance(wish, FetchSnapshot):
                fetches.put_nowait(wish.path)

    def _drop(self, error: FeedDroppedError) -> None:
        feed = self._listener.feed
        status = status_after(error)
        self._listener.lose(status, self._clock.now())
        if status != "down":
            feed.count("resyncs")
        market = feed.market
        ids = {"exchange": market.exchange, "symbol": market.symbol, "status": status}
        log.warning("feed dropped", extra=ids | {"error": str(error)})

    def _delays(self) -> Iterator[float]:
        return backoff(self._patience.first_retry, longest=self._patience.longest_retry, chance=self._chance)


def status_after(error: FeedDroppedError) -> FeedStatus:
    if isinstance(error, FeedStaleError):
        return "stale"
    return "resyncing" if isinstance(error, FrameRejectedError | BookMismatchError) else "down"
