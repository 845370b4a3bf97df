"""One feeder process: all symbols of one exchange, from its stream to the log."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import NoReturn

from exchanges.books.errors import FeedRejectedError
from market.decide.settings import Settings
from market.decide.usable_depth import usable_notional
from market.instruments.markets import Market
from market.prices.feed_state import FeedState
from pricefeeds.feed.connection_loop import ConnectionLoop
from pricefeeds.feed.endpoints import source_of
from pricefeeds.feed.exchange_clock import ExchangeClock
from pricefeeds.feed.publisher import FeedPublisher
from pricefeeds.feed.session import FeedSession
from pricefeeds.feed.source import FeedSource
from pricefeeds.feed.standby_assets import StandbyAssets
from pricefeeds.feed.startup_retry import retry_until_available
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.recording.feed_recorder import Recorder, recording
from runtime.backoff import backoff
from runtime.clock import SystemClock
from runtime.tasks import run_all
from session.session import Session
from store.errors import StoreUnavailableError
from store.mongo.store import open_store
from store.ports.trading import TradeStore
from streams.last_sequences import last_sequences
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter
from streams.topics import QUOTES

ALIVE_SECONDS = 1.0
STATE_SECONDS = 2.0
"""Interval at which states are stored while their status stays: each state wakes all who follow changes of the
store."""
STATE_CHECKS = 10
MANY_MARKETS = 4
BURST_MS = 1
"""An exchange sends what changed in several books at once. With many markets their rows go in one request: for 25
markets Kafka takes 0.19 core then, in place of 0.27 (400 rows a second). With few a row would wait for nothing."""

log = logging.getLogger("pricefeeds")


async def run_feeder(
    session: Session,
    exchange: str,
    ready: Callable[[], None],
    timeouts: FeedTimeouts | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Feed until cancelled; `ready` is called once every symbol has a quote in the log.

    `environment` holds the API keys of a real account, for streams that need them.

    Raises StreamError if Kafka is unavailable for longer than the writer can buffer, FeedRejectedError if the
    exchange rejects the subscription: the process ends with it and is restarted. An outage of the store only delays
    the feeds' states.
    """
    timeouts = timeouts or FeedTimeouts.of_limit(session.stale_after_ms / 1_000)
    clock = session.clock()
    last = await retry_until_available(lambda: last_sequences(session.services.kafka, exchange))
    writer = TopicWriter(session.services.kafka, wait_ms=_wait_ms(session, exchange))
    await retry_until_available(writer.open)
    try:
        settings = {"late_after": str(timeouts.late_after)}
        with recording(session, exchange, settings) as recorder:
            async with source_of(session, exchange, clock, timeouts.rest_seconds, environment) as endpoints:
                timeouts = timeouts.of_many(endpoints.compare_seconds)
                feeder = Feeder(session, exchange, endpoints, writer, recorder, timeouts)
                feeder.start(last)
                try:
                    await feeder.run(ready)
                finally:
                    feeder.withdraw()
    finally:
        await writer.close()


def _wait_ms(session: Session, exchange: str) -> int:
    """Return how long a row may wait for others of its exchange."""
    traded = sum(not market.is_fx for market in session.markets_of(exchange))
    return BURST_MS if traded >= MANY_MARKETS else 0


class Feeder:
    """The feeds of one exchange."""

    def __init__(
        self,
        session: Session,
        exchange: str,
        endpoints: FeedSource,
        writer: TopicWriter,
        recorder: Recorder,
        timeouts: FeedTimeouts,
    ) -> None:
        self._session = session
        self._exchange = exchange
        self._endpoints = endpoints
        self._clock = session.clock()
        self._writer = writer
        self._recorder = recorder
        copies = (QUOTES,) if session.place.regions else ()
        self._publisher = FeedPublisher(writer, TickWriter(writer, session.bases, session.services.partitions, copies))
        self._timeouts = timeouts
        self._changed = asyncio.Event()
        self._feed_sessions: list[FeedSession] = []
        self._last_sequences: Mapping[str, int] = {}
        self._offset: int | None = None
        self._settings: Settings | None = None
        """The newest known."""
        self._depths: dict[str, Decimal] = {}
        """Symbol → how deep trades reach into its book."""
        self._in_cycles = {leg.market for cycle in session.watched_cycles() for leg in cycle.legs}
        self._standby = StandbyAssets(session)

    def start(self, last_sequences: Mapping[str, int]) -> None:
        """Create a feed for each symbol that is not on standby."""
        self._last_sequences = last_sequences
        for market in self._session.markets_of(self._exchange):
            if not self._standby.begins_later(market):
                self._begin(market)

    def _begin(self, market: Market) -> FeedSession:
        """Its sequence continues above the last one in the log."""
        now, timeouts = self._clock.now(), self._timeouts
        last = self._last_sequences.get(market.symbol, 0)
        feed_session = FeedSession(
            SymbolFeed(market, last, now, timeouts.late_after), self._publish, self._recorder, timeouts.limits
        )
        feed_session.start(last, now)
        if self._offset is not None:
            feed_session.correct(self._offset, now)
        if self._settings is not None:
            self._set_depth(feed_session, self._settings)
        self._feed_sessions.append(feed_session)
        return feed_session

    async def run(self, ready: Callable[[], None]) -> None:
        exchange_clock = ExchangeClock(self._endpoints, self._clock, self._correct)

        def connections(feed_session: FeedSession) -> ConnectionLoop:
            return ConnectionLoop(self._endpoints, feed_session, self._clock, self._timeouts, exchange_clock.recheck)

        async def run_once_added(market: Market) -> None:
            await self._standby.until_added(market)
            feed_session = self._begin(market)
            try:
                await connections(feed_session).run()
            except FeedRejectedError as error:
                # the other markets go on
                feed_session.withdraw("down", self._clock.now())
                log.error(
                    "feed rejected", extra={"exchange": market.exchange, "symbol": market.symbol, "error": str(error)}
                )

        later = [one for one in self._session.markets_of(self._exchange) if self._standby.begins_later(one)]
        await run_all(
            *(connections(feed_session).run() for feed_session in self._feed_sessions),
            *(run_once_added(market) for market in later),
            *([self._standby.follow()] if later else []),
            exchange_clock.run(),
            self._renew(),
            self._save_states(),
            self._report_ready(ready),
        )

    def withdraw(self) -> None:
        """Withdraw all quotes, so that none of a stopped feeder stays in force."""
        for feed_session in self._feed_sessions:
            feed_session.withdraw("down", self._clock.now())

    @property
    def _feeds(self) -> list[SymbolFeed]:
        return [feed_session.feed for feed_session in self._feed_sessions]

    def _publish(self, rows: list[Row]) -> None:
        self._publisher.publish(rows)
        self._changed.set()

    def _correct(self, offset: int) -> None:
        self._offset = offset
        for feed_session in self._feed_sessions:
            feed_session.correct(offset, self._clock.now())

    async def _renew(self) -> None:
        while True:
            await SystemClock().sleep(ALIVE_SECONDS)
            for feed_session in self._feed_sessions:
                feed_session.renew(self._clock.now())

    async def _report_ready(self, ready: Callable[[], None]) -> None:
        while any(feed.state.quotes == 0 for feed in self._feeds):
            self._changed.clear()
            await self._changed.wait()
        await self._writer.flush()
        ready()

    async def _save_states(self) -> None:
        """Run for ever, through outages of the store: trading does not need the states, so feeding never waits for
        it. Settings are read on the way."""
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
            settings = await store.settings.current()
            if settings is not None:
                self._look_down(settings)
            states = {feed.market.symbol: feed.state for feed in self._feeds}
            changed = [state for symbol, state in states.items() if saved.get(symbol) != state]
            if changed:
                await store.save_feed_states(changed)
            saved = states
            await self._state_due()

    def _look_down(self, settings: Settings) -> None:
        """Take how deep trades reach by these settings; until some are known every change of a book is written."""
        if settings != self._settings:
            self._settings = settings
            for feed_session in self._feed_sessions:
                self._set_depth(feed_session, settings)

    def _set_depth(self, feed_session: FeedSession, settings: Settings) -> None:
        market, settlement = feed_session.feed.market, self._session.settlement_currency
        usable = usable_notional(settings, market, settlement, is_in_cycle=market in self._in_cycles)
        if usable is not None and usable != self._depths.get(market.symbol):
            self._depths[market.symbol] = usable
            feed_session.look_down_to(usable, self._clock.now())

    async def _state_due(self) -> None:
        """Wait two seconds, or until a feed's status changes."""
        statuses = [feed.status for feed in self._feeds]
        for _ in range(STATE_CHECKS):
            await SystemClock().sleep(STATE_SECONDS / STATE_CHECKS)
            if [feed.status for feed in self._feeds] != statuses:
                return
