"""One feeder process: all symbols of one exchange, from its stream to the log."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import NoReturn

from market.prices.feed_state import FeedState
from pricefeeds.feed.connection_loop import ConnectionLoop
from pricefeeds.feed.endpoints import FeedEndpoints, source_of
from pricefeeds.feed.exchange_clock import ExchangeClock
from pricefeeds.feed.feed_publisher import FeedPublisher
from pricefeeds.feed.feed_session import FeedSession
from pricefeeds.feed.startup_retry import answered
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.recording.feed_recorder import Recorder, recording
from session.backoff import backoff
from session.clock import SystemClock
from session.session import Session
from session.tasks import run_all
from store.errors import StoreUnavailableError
from store.mongo.mongo_store import open_store
from store.store_port import TradeStore
from streams.last_sequences import last_sequences
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter

ALIVE_SECONDS = 1.0
STATE_SECONDS = 1.0
STATE_CHECKS = 10

log = logging.getLogger("pricefeeds")


async def run_feeder(
    session: Session,
    exchange: str,
    ready: Callable[[], None],
    patience: FeedTimeouts | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Feed until cancelled; `ready` is called once a quote of each symbol stands in the log.

    `environment` has the keys of a real account, where the exchange's stream wants them.

    Raises StreamError where Kafka is away for longer than the writer can buffer, FeedRejectedError where the exchange
    declines: the process ends with it and is started again. An absent store only delays the feeds' states.
    """
    patience = patience or FeedTimeouts.of_limit(session.stale_after_ms / 1_000)
    clock = session.clock()
    last = await answered(lambda: last_sequences(session.kafka, exchange))
    writer = TopicWriter(session.kafka)
    await answered(writer.open)
    try:
        settings = {"late_after": str(patience.late_after)}
        with recording(session, exchange, settings) as recorder:
            async with source_of(session, exchange, clock, patience.rest_seconds, environment) as source:
                feeder = Feeder(session, source, writer, recorder, patience)
                feeder.start(last)
                try:
                    await feeder.run(ready)
                finally:
                    feeder.withdraw()
    finally:
        await writer.close()


class Feeder:
    """The feeds of one exchange."""

    def __init__(
        self, session: Session, source: FeedEndpoints, writer: TopicWriter, recorder: Recorder, patience: FeedTimeouts
    ) -> None:
        self._session = session
        self._source = source
        self._clock = session.clock()
        self._writer = writer
        self._recorder = recorder
        self._publisher = FeedPublisher(writer, TickWriter(writer, session.bases, session.partitions))
        self._patience = patience
        self._changed = asyncio.Event()
        self._listeners: list[FeedSession] = []

    def start(self, last_sequences: Mapping[str, int]) -> None:
        """A feed for each symbol, above the last sequence that the log has of it."""
        now, patience = self._clock.now(), self._patience
        for market in self._session.markets_of(self._source.wire.name):
            last = last_sequences.get(market.symbol, 0)
            feed = SymbolFeed(market, last, now, patience.late_after)
            listener = FeedSession(feed, self._publish, self._recorder, patience.limits)
            listener.start(last, now)
            self._listeners.append(listener)

    async def run(self, ready: Callable[[], None]) -> None:
        exchange_clock = ExchangeClock(self._source, self._clock, self._correct)
        watches = [
            ConnectionLoop(self._source, listener, self._clock, self._patience, exchange_clock.doubt)
            for listener in self._listeners
        ]
        await run_all(
            *(watch.run() for watch in watches),
            exchange_clock.run(),
            self._renew(),
            self._save_states(),
            self._tell(ready),
        )

    def withdraw(self) -> None:
        """No quote of a feeder that is gone stays in force."""
        for listener in self._listeners:
            listener.lose("down", self._clock.now())

    @property
    def _feeds(self) -> list[SymbolFeed]:
        return [listener.feed for listener in self._listeners]

    def _publish(self, rows: list[Row]) -> None:
        self._publisher.publish(rows)
        self._changed.set()

    def _correct(self, offset: int) -> None:
        for listener in self._listeners:
            listener.correct(offset, self._clock.now())

    async def _renew(self) -> None:
        while True:
            await SystemClock().sleep(ALIVE_SECONDS)
            for listener in self._listeners:
                listener.renew(self._clock.now())

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
