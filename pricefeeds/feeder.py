"""One feeder process: all symbols of one exchange, from its stream to the log."""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from market.backoff import backoff
from market.clock import SystemClock
from market.feeds import FeedState
from market.session import Session
from pricefeeds.publishing import FeedPublisher
from pricefeeds.sources import books_of
from pricefeeds.starting import answered
from pricefeeds.symbolfeed import Row, SymbolFeed
from pricefeeds.watching import Patience, watch_symbol
from store.errors import StoreUnavailableError
from store.port import TradeStore
from store.trades import open_store
from streams.log import LogWriter
from streams.tail import last_sequences
from streams.writer import TopicWriter

ALIVE_SECONDS = 1.0
STATE_SECONDS = 1.0
STATE_CHECKS = 10

log = logging.getLogger("pricefeeds")


async def run_feeder(
    session: Session, exchange: str, ready: Callable[[], None], patience: Patience | None = None
) -> None:
    """Feed until cancelled; `ready` is called once a quote of each symbol stands in the log.

    Raises StreamError where Kafka is away for longer than the writer can buffer, FeedRefusedError where the exchange
    declines: the process ends with it and is started again. An absent store only delays the feeds' states.
    """
    clock = session.clock()
    last = await answered(lambda: last_sequences(session.kafka, exchange))
    feeds = [SymbolFeed(market, last.get(market.symbol, 0), clock.now()) for market in session.markets_of(exchange)]
    writer = TopicWriter(session.kafka)
    await answered(writer.open)
    feeder = _Feeder(session, feeds, writer, patience or Patience())
    try:
        with _told_callbacks():
            await feeder.run(ready)
    except ExceptionGroup as failures:
        raise _first_of(failures) from None
    finally:
        try:
            feeder.withdraw()
        finally:
            await writer.close()


class _Feeder:
    def __init__(self, session: Session, feeds: list[SymbolFeed], writer: TopicWriter, patience: Patience) -> None:
        self._session = session
        self._clock = session.clock()
        self._feeds = feeds
        self._writer = writer
        self._publisher = FeedPublisher(writer, LogWriter(writer, session.bases, session.partitions))
        self._patience = patience
        self._changed = asyncio.Event()

    async def run(self, ready: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds:
                books = books_of(self._session, feed.market)
                group.create_task(watch_symbol(feed, books, self._publish, self._clock, self._patience))
            group.create_task(self._renew())
            group.create_task(self._save_states())
            group.create_task(self._tell(ready))

    def withdraw(self) -> None:
        """No quote of a feeder that is gone stays in force."""
        for feed in self._feeds:
            self._publisher.publish(feed.lose("down", self._clock.now()))

    def _publish(self, rows: list[Row]) -> None:
        self._publisher.publish(rows)
        if rows:
            self._changed.set()

    async def _renew(self) -> None:
        while True:
            await SystemClock().sleep(ALIVE_SECONDS)
            for feed in self._feeds:
                self._publisher.publish(feed.alive(self._clock.now()))

    async def _tell(self, ready: Callable[[], None]) -> None:
        while any(feed.state.quotes == 0 for feed in self._feeds):
            self._changed.clear()
            await self._changed.wait()
        await self._writer.flush()
        ready()

    async def _save_states(self) -> None:
        """For ever, over outages of the store: nobody trades on them, so feeding never waits for it."""
        delays = backoff()
        while True:
            try:
                async with await open_store(self._session) as store:
                    delays = backoff()
                    await self._save_changes(store)
            except StoreUnavailableError as error:
                log.warning("feed states not saved", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))

    async def _save_changes(self, store: TradeStore) -> NoReturn:
        saved: dict[str, FeedState] = {}
        while True:
            for feed in self._feeds:
                state = feed.state
                if saved.get(state.symbol) != state:
                    await store.save_feed_state(state)
                    saved[state.symbol] = state
            await self._state_due()

    async def _state_due(self) -> None:
        """A second from now, or as soon as a feed's status changes."""
        statuses = [feed.state.status for feed in self._feeds]
        for _ in range(STATE_CHECKS):
            await SystemClock().sleep(STATE_SECONDS / STATE_CHECKS)
            if [feed.state.status for feed in self._feeds] != statuses:
                return


def _first_of(failures: ExceptionGroup[Exception]) -> Exception:
    """A process ends for one reason; what fails behind it fails because of it."""
    first = failures.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


@contextlib.contextmanager
def _told_callbacks() -> Iterator[None]:
    """A frame that ccxt cannot read kills its receive loop in a callback: told in one line, found by the watchdog."""

    def tell(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        cause = context.get("exception") or context.get("message")
        log.warning("a stream's callback failed", extra={"error": repr(cause)})

    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(tell)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
