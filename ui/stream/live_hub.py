"""Follows streams and store, maintains the live state and publishes to every client."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace

from market.decide.settings import Settings
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now, wall_now
from runtime.tasks import run_all
from session.session import Session
from store.errors import HistoryLostError, StoreError
from store.queries.trade_reader import TradeReader
from store.records.processes import ProcessState
from streams.errors import StreamError
from streams.message_format import WireError, opportunity_of, row_of, spread_window_of
from streams.mirrored_rows import unrepeated_rows
from streams.records import Newest, Record
from streams.topic_reader import TopicReader
from streams.topics import HEALTH, OPPORTUNITIES, SPREADS, TICKS
from ui.candles.candle_keeper import CandleKeeper
from ui.live.consumer_lag import StreamLag
from ui.live.detection_state import detection_state
from ui.live.latency_histograms import TradeLatencies
from ui.live.region_standing import RegionStanding
from ui.live.session_feeds import feeds_of
from ui.live.snapshot import Ledger, LiveSnapshot
from ui.live.state import KEPT_ARBITRAGES, LiveState
from ui.stream.broadcaster import Broadcaster
from ui.stream.live_messages import ledger_message, pulse_message, settings_message, trade_message
from ui.stream.liveness import detection_process, kafka_answers, poll_forever

PULSE_SECONDS = 0.25
FETCH_WAIT_SECONDS = 0.1
"""Seconds that Kafka may batch rows: a page gets four updates a second."""
ROWS_AT_ONCE = 20
"""Rows applied before the loop goes round: each change of a trade takes a round, and on a busy machine hundreds of rows
wait, of which a round then took seconds."""
ASSETS_SECONDS = 0.5
"""The matrix of all assets moves half as often as the asset that a page shows."""
QUIET_PULSE_MICROSECONDS = MICROSECONDS
"""A page without a message for 2 s shows itself as stale."""
SILENT_MICROSECONDS = MICROSECONDS * 3 // 2
"""MongoDB is polled for changes twice a second; a hung one is only detected by its silence."""
BOOKS_SECONDS = 2.0
"""Interval of reads of balances and feeds, which change all the time: to be informed of it would cost more."""
TOTALS_SECONDS = 5.0
"""Minimum interval between reads of sums, which cost more."""
TOTALS_REFRESH_SECONDS = 60.0
"""Refresh interval without changes."""
BACKFILL_ROWS = 3_000
"""Read back per partition at the start, so that charts do not begin empty."""

log = logging.getLogger("ui")


class LiveHub:
    """Runs on one event loop; other threads may only read `settings`."""

    def __init__(self, session: Session, reader: TradeReader, totals_seconds: float = TOTALS_SECONDS) -> None:
        self._session = session
        self._reader = reader
        self._totals_seconds = totals_seconds
        self._clock = session.clock()
        self.live_state = LiveState(session, self._clock)
        self.broadcaster = Broadcaster(session, self.live_state, reader)
        self.stream_lag = StreamLag(session.session_id)
        self.latencies = TradeLatencies()
        markets = [(market.exchange, market.symbol) for market in session.markets]
        self.candles = CandleKeeper(session.home / "candles", markets)
        priced = (market.region for market in session.markets if market.region in session.place.regions)
        self.regions = None if session.place.region is None else RegionStanding(session.place.region, priced)
        """None without regions."""
        self._unrepeated = unrepeated_rows(session.place.region)
        self._new_opportunities: list[Opportunity] = []
        self._totals_changed = asyncio.Event()
        self._changed = True
        self._published_at = 0
        self._assets_published_at = 0
        self._published: dict[str, tuple[object, ...]] = {}
        self._is_current = False
        """MongoDB's changes are applied up to the last one."""
        self._detection_process: ProcessState | None = None
        self._reads_kafka = False
        self._kafka_heard_at: int | None = None
        """When rows came last, by the steady clock."""
        self._caught_up = {"kafka": asyncio.Event(), "mongodb": asyncio.Event()}

    async def run(self) -> None:
        """Run until cancelled; a lost source is reconnected."""
        try:
            await self.candles.resume()
        except OSError as error:
            log.warning("earlier candles not read", extra={"error": str(error)})
        await run_all(
            self._follow_forever("kafka", self._follow_topics),
            self._follow_forever("mongodb", self._follow_trades),
            _read_every(self._read_books, BOOKS_SECONDS),
            _refresh_on_change(self._read_totals, self._totals_changed, self._totals_seconds, TOTALS_REFRESH_SECONDS),
            poll_forever(self._check_kafka),
            poll_forever(self._check_processes),
            *(() if self.regions is None else (poll_forever(self._check_regions),)),
            self._pulse(),
            self.candles.run(),
        )

    async def wait_until_live(self) -> None:
        """Wait until both sources were connected once."""
        for caught_up in self._caught_up.values():
            await caught_up.wait()

    async def snapshot(self) -> LiveSnapshot:
        """Return the live snapshot; a coroutine, so that scripts in other threads can await it."""
        return self.live_state.snapshot()

    @property
    def settings(self) -> Settings | None:
        """The newest known; immutable."""
        return self.live_state.settings

    def apply_settings(self, settings: Settings) -> None:
        """Apply settings, unless they are older than the current version."""
        known = self.live_state.settings
        if known is None or settings.version > known.version:
            self.live_state.settings = settings
            self._changed = True
            self.broadcaster.publish("settings", settings_message(settings))

    def apply_arbitrage_change(self, arbitrage: Arbitrage) -> None:
        """Apply a change, and publish it at once if a leg filled or the state changed."""
        if not self.live_state.apply_arbitrage(arbitrage):
            return
        self._changed = True
        self._totals_changed.set()
        seen = (arbitrage.state, *((leg.role, leg.state, leg.filled) for leg in arbitrage.legs))
        if self._published.get(arbitrage.arbitrage_id) != seen:
            self._published[arbitrage.arbitrage_id] = seen
            self.broadcaster.publish("trade", trade_message(arbitrage))
        if arbitrage.state in FINAL_STATES:
            self._published.pop(arbitrage.arbitrage_id, None)
            ahead = {(feed.exchange, feed.symbol): feed.offset_us for feed in self.live_state.ledger.feeds}
            self.latencies.record(arbitrage, ahead)

    def apply_records(self, records: Iterable[Record]) -> None:
        """Apply rows; invalid ones are logged and skipped."""
        for record in records:
            self.stream_lag.record_position(record)
            try:
                self._apply_record(record)
            except WireError as error:
                log.warning("row skipped", extra={"topic": record.topic, "offset": record.offset, "error": str(error)})
        self._changed = True
        self._kafka_heard_at = steady_now()

    async def apply_in_rounds(self, records: Sequence[Record]) -> None:
        """Apply a batch of rows, and let everything else run in between."""
        for first in range(0, len(records), ROWS_AT_ONCE):
            self.apply_records(records[first : first + ROWS_AT_ONCE])
            await SystemClock().sleep(0)

    def _apply_record(self, record: Record) -> None:
        row = row_of(record.value)
        if record.topic == TICKS:
            if self._unrepeated is not None and not self._unrepeated.is_new(record.partition, row):
                return
            self.live_state.apply_tick(row)
            self.candles.book.apply_tick(row)
            self.stream_lag.record_tick(record, row)
            if self.regions is not None:
                self.regions.apply_row(row)
        elif record.topic == HEALTH:
            self.stream_lag.record_health(record)
        elif record.topic == SPREADS:
            self.live_state.apply_window(spread_window_of(row))
        else:
            self.stream_lag.record_output(record, row)
            found = opportunity_of(row, record.time, with_levels=False)
            if isinstance(found, Opportunity) and self.live_state.apply_opportunity(found):
                self._new_opportunities.append(found)
                # an episode that nobody rejects is counted too
                self._totals_changed.set()

    async def _pulse(self) -> None:
        while True:
            await SystemClock().sleep(PULSE_SECONDS)
            self.pulse()

    def pulse(self) -> None:
        """Publish one message for all changes since the last, for each asset that a client shows; without changes, one
        a second. Does nothing without clients that show prices."""
        self._check_mongodb()
        self._update_detection()
        if not self.broadcaster.bases:
            # the next client begins with a snapshot
            self._new_opportunities.clear()
            self.live_state.take_points()
            self.broadcaster.discard_snapshot()
            return
        if not self._changed and wall_now() - self._published_at < QUIET_PULSE_MICROSECONDS:
            return
        opportunities, self._new_opportunities = self._new_opportunities, []
        self._changed, self._published_at = False, wall_now()
        points = self.live_state.take_points()
        for base in self.broadcaster.bases:
            pulse = pulse_message(self._session, self.live_state.snapshot(base), points, opportunities[::-1])
            self.broadcaster.publish_to(base, "pulse", pulse)
        if self._published_at - self._assets_published_at >= ASSETS_SECONDS * MICROSECONDS:
            self._assets_published_at = self._published_at
            self.broadcaster.publish_assets()

    async def _follow_forever(self, source: str, follow: Callable[[], Awaitable[None]]) -> None:
        delays = backoff()
        while True:
            try:
                await follow()
            except HistoryLostError:
                log.warning("change history lost, resyncing", extra={"source": source})
                delays = backoff()
                continue
            except (StreamError, StoreError) as error:
                log.warning("source lost", extra={"source": source, "error": str(error)})
            if getattr(self.live_state.sources, source):
                delays = backoff()
            self._reads_kafka = self._reads_kafka and source != "kafka"
            self._set_source(source, is_live=False)
            await SystemClock().sleep(next(delays))

    def _set_source(self, source: str, *, is_live: bool) -> None:
        self.live_state.sources = replace(self.live_state.sources, **{source: is_live})
        self._changed = True
        if is_live:
            self._caught_up[source].set()

    async def _follow_topics(self) -> None:
        async with TopicReader(
            self._session.services.kafka,
            (TICKS, OPPORTUNITIES, SPREADS, HEALTH),
            Newest(BACKFILL_ROWS),
            FETCH_WAIT_SECONDS,
        ) as reader:
            self._reads_kafka = True
            self._set_source("kafka", is_live=True)
            async for records in reader.batches():
                await self.apply_in_rounds(records)

    async def _follow_trades(self) -> None:
        self._is_current = False
        async for change in self._reader.watch():
            if change is None:
                await self._resync()
            elif isinstance(change, Arbitrage):
                self.apply_arbitrage_change(change)
            else:
                self.apply_settings(change)

    async def _resync(self) -> None:
        """Read everything from the store and resync the clients."""
        settings = await self._reader.settings_nearby.current()
        if settings is not None:
            self.apply_settings(settings)
        page = await self._reader.arbitrages((), None, KEPT_ARBITRAGES)
        for arbitrage in reversed(page.items):
            self.apply_arbitrage_change(arbitrage)
        await self._read_books()
        await self._read_totals()
        self._is_current = True
        self._reader.change_progress.record_answer()
        self._set_source("mongodb", is_live=True)
        self.broadcaster.resynchronise()

    def _check_mongodb(self) -> None:
        """Update MongoDB's liveness; after an outage the change stream continues from its last change."""
        standing = self._reader.change_progress
        is_heard = wall_now() - (standing.answered_at or 0) <= SILENT_MICROSECONDS
        is_answering = standing.is_answering and is_heard
        if not self._is_current or is_answering == self.live_state.sources.mongodb:
            return
        log.warning("MongoDB answers again" if is_answering else "MongoDB does not answer")
        self._set_source("mongodb", is_live=is_answering)
        if is_answering:
            self.broadcaster.resynchronise(only_owed=True)

    async def _check_kafka(self) -> None:
        """Update Kafka's liveness; after an outage its consumer continues from its offset."""
        if not self._reads_kafka or (self.live_state.sources.kafka and self._has_just_heard()):
            return
        is_live = await kafka_answers(self._session.services.kafka) and self._reads_kafka
        if is_live != self.live_state.sources.kafka:
            log.warning("Kafka answers again" if is_live else "Kafka does not answer")
            self._set_source("kafka", is_live=is_live)

    def _has_just_heard(self) -> bool:
        """Return whether rows tell that Kafka is there: a connection of its own each second would say no more."""
        return self._kafka_heard_at is not None and steady_now() - self._kafka_heard_at < MICROSECONDS

    async def _check_processes(self) -> None:
        if self.live_state.sources.mongodb:
            self._detection_process = await detection_process(self._reader)

    async def _check_regions(self) -> None:
        """Update the members of the store; it costs nothing, since the driver knows them anyway."""
        if self.regions is not None and self._reader.place is not None:
            self.regions.observe(self._reader.place.primary.members, wall_now())

    def _update_detection(self) -> None:
        state = detection_state(self._session, self.stream_lag, wall_now(), self._detection_process)
        if state != self.live_state.detection:
            self.live_state.detection = state
            self._changed = True

    async def _read_books(self) -> None:
        balances, states = await self._reader.balances.rows(), await self._reader.feed_states()
        opening, _ = await self._reader.balances.of_session()
        transfers = tuple(await self._reader.transfers.known(wall_now()))
        feeds = tuple(feeds_of(self._session, self.settings, states, self._clock.now()))
        changed = replace(self.live_state.ledger, balances=tuple(balances), feeds=feeds, opening=opening)
        self._set_ledger(replace(changed, transfers=transfers))

    async def _read_totals(self) -> None:
        totals = await self._reader.totals(self._session.settlement_currency)
        self._set_ledger(replace(self.live_state.ledger, totals=totals))

    def _set_ledger(self, ledger: Ledger) -> None:
        if ledger != self.live_state.ledger:
            self.live_state.ledger = ledger
            self._changed = True
            if self.broadcaster.bases:
                self.broadcaster.publish("ledger", ledger_message(self._session, self.live_state.books()))
            else:
                # nobody looks at it, and to value all balances costs more than what trades need
                self.broadcaster.discard_snapshot()


async def _read_every(read: Callable[[], Awaitable[None]], pause: float) -> None:
    while True:
        try:
            await read()
        except StoreError as error:
            log.info("ledger not read", extra={"error": str(error)})
        await SystemClock().sleep(pause)


async def _refresh_on_change(
    read: Callable[[], Awaitable[None]], changed: asyncio.Event, pause: float, refresh: float
) -> None:
    """Read after each change, at most every `pause` seconds, and once more after the last: what follows from it is
    written a moment later. Without a change read every `refresh` seconds."""
    is_settled = False
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(refresh if is_settled else pause):
                await changed.wait()
        is_settled = not changed.is_set()
        changed.clear()
        try:
            await read()
        except StoreError as error:
            log.info("ledger not read", extra={"error": str(error)})
            changed.set()
        await SystemClock().sleep(pause)
