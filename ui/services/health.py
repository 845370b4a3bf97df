"""The health report, gathered from the streams, the store and this process's own measurements."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from runtime.disk_space import known_free_bytes
from runtime.machine_load import machine_load
from session.session import Session
from store.errors import StoreError
from store.queries.trade_reader import TradeReader
from store.records.consumer_position import ConsumerPosition
from store.records.processes import Process
from streams.errors import StreamError
from streams.latest_rows import LatestRows
from streams.records import Position
from streams.topics import session_topics
from ui.rows.attribute import row_from
from ui.rows.health import (
    HealthReportRow,
    change_stream_rows,
    detection_rows,
    feed_health_row,
    latency_rows,
    part_row,
    publisher_row,
    query_row,
    topic_rows,
)
from ui.rows.market import SourcesRow
from ui.rows.region import standing_row
from ui.services.health_verdict import RegionsSeen, summary_of, verdict_of, with_findings
from ui.stream.live_hub import LiveHub

Answer = TypeVar("Answer")

KEPT_SECONDS = 1.0
"""A report is reused for this long, however many clients request it."""
ANSWER_SECONDS = 2.0
"""Time limit for Kafka and MongoDB; without their answers the report has the rest."""
SILENT_KAFKA = 8 * MICROSECONDS
"""A busy broker takes seconds."""
OLD_POSITION = 60 * MICROSECONDS
"""A bot that has reported nothing for this long is no longer listed as a consumer."""


class HealthService:
    """Runs on the hub's event loop. Asks Kafka and MongoDB only when a report is requested."""

    def __init__(self, session: Session, hub: LiveHub, reader: TradeReader) -> None:
        self._session = session
        self._hub = hub
        self._reader = reader
        topics = session_topics(has_regions=False, has_cycles=session.cycles is not None)
        self._latest = LatestRows(session.services.kafka, *topics)
        self._asking: asyncio.Task[None] | None = None
        self._ends: dict[Position, int] = {}
        self._rates: dict[Position, float] = {}
        """Rows per second between the last two answers."""
        self._answered_at: int | None = None
        """When Kafka last reported the end offsets; before its first answer, when it was first asked."""
        self._report: HealthReportRow | None = None
        self._made_at = 0
        self._making = asyncio.Lock()

    async def report(self) -> HealthReportRow:
        """Return a report that is at most a second old."""
        async with self._making:
            if self._report is None or wall_now() - self._made_at > KEPT_SECONDS * MICROSECONDS:
                self._report = await self._made()
                self._made_at = wall_now()
            return self._report

    async def part_names(self) -> frozenset[str]:
        """Return the names of this session's processes, as its supervisor reported them. Raises StoreError."""
        return frozenset(process.name for process in await self._reader.processes.all())

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        with suppress(StreamError):
            await self._latest.close()

    async def _made(self) -> HealthReportRow:
        ends, processes, positions, server_ahead = await asyncio.gather(
            self._known_ends(), self._processes(), self._consumer_positions(), self._server_ahead()
        )
        now, hub, live_state = wall_now(), self._hub, self._hub.live_state
        market_now = self._session.clock().now()
        # bots of other regions read another Kafka, whose offsets say nothing here
        exchanges = self._session.exchanges_here
        ours = (one for one in positions if one.exchange in exchanges)
        consumers = [one for one in ours if now + server_ahead - one.reported_at < OLD_POSITION]
        report = HealthReportRow(
            verdict="well",
            summary="",
            findings=[],
            now=now,
            mode=self._session.mode,
            session_id=self._session.session_id,
            sources=row_from(SourcesRow, live_state.sources),
            kafka_answers=self._kafka_answers(),
            feeds=[feed_health_row(feed, market_now) for feed in live_state.ledger.feeds],
            topics=topic_rows(self._session, hub.stream_lag, ends, self._rates if ends else {}, consumers),
            detection=detection_rows(hub.stream_lag, now),
            queries=[query_row(query, now) for _, query in sorted(hub.stream_lag.queries.items())],
            publisher=publisher_row(hub.settings, hub.stream_lag, now),
            change_streams=change_stream_rows(self._reader.change_progress, consumers, now, server_ahead),
            latencies=latency_rows(hub.latencies, hub.broadcaster.deliveries),
            processes=[part_row(process) for process in processes],
            clients={"clients": hub.broadcaster.pages, "resynchronisations": hub.broadcaster.resynchronisations},
        )
        standing = hub.regions
        regions = None
        if standing is not None:
            regions = RegionsSeen(standing_row(standing, now, market_now), standing.members)
        free, load = known_free_bytes(self._session.home), machine_load()
        report["findings"] = with_findings(report, self._session, hub.settings, regions, free, load)
        report["verdict"] = verdict_of(report["findings"])
        report["summary"] = summary_of(report["findings"])
        return report

    async def _known_ends(self) -> dict[Position, int]:
        """Return the last end offsets; empty if they are too old. A request that hangs is not repeated."""
        self._answered_at = self._answered_at or wall_now()
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_ends())
        await asyncio.wait([self._asking], timeout=ANSWER_SECONDS)
        return self._ends if self._kafka_answers() else {}

    def _kafka_answers(self) -> bool:
        return wall_now() - (self._answered_at or 0) < SILENT_KAFKA

    async def _ask_ends(self) -> None:
        with suppress(StreamError):
            await self._latest.open()
            ends, now = await self._latest.ends(), wall_now()
            seconds = (now - (self._answered_at or now)) / MICROSECONDS
            known = self._ends.items() if seconds > 0 else ()
            self._rates = {at: max(0, ends.get(at, before) - before) / seconds for at, before in known}
            self._ends, self._answered_at = ends, now

    async def _processes(self) -> list[Process]:
        return await self._within(self._reader.processes.all(), [])

    async def _consumer_positions(self) -> list[ConsumerPosition]:
        return await self._within(self._reader.consumer_positions.all(), [])

    async def _server_ahead(self) -> int:
        """Return the microseconds by which MongoDB's clock is ahead of ours; 0 while it does not answer."""
        counters = await self._within(self._reader.counters(), None)
        return 0 if counters is None else counters.now - wall_now()

    async def _within(self, reading: Coroutine[Any, Any, Answer], otherwise: Answer) -> Answer:
        """Return the reading, or `otherwise` while MongoDB is down: requests would pile up, and each holds a thread for
        long."""
        if not self._hub.live_state.sources.mongodb:
            reading.close()
            return otherwise
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await reading
        except (StoreError, TimeoutError):
            return otherwise
