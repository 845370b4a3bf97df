"""Measures a session from outside: quotes and opportunities on the streams, trades as a WebSocket client."""

import asyncio
import logging
from array import array
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import websockets

from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, wall_now
from runtime.recent_names import RecentNames
from session.session import Session
from streams.cycle_messages import FOUND
from streams.errors import StreamError
from streams.message_format import WireError, opportunity_of, row_of
from streams.mirrored_rows import unrepeated_rows
from streams.records import Record
from streams.topic_reader import TopicReader
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES, TICKS
from ui.auth.api_keys import ensure_api_key

REMEMBERED_IDS = 100_000
"""Ids remembered to count distinct opportunities; covers everything that is emitted again after a crash."""
REMEMBERED_LATENCIES = 100_000
BATCH_SECONDS = 0.5
"""How long rows wait to be counted together."""

log = logging.getLogger("launch")


class SessionCounters:
    """Counts from its start on; survives restarts of Kafka and of the web process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._clock = session.clock()
        self._ids = RecentNames(REMEMBERED_IDS)
        self.quotes: dict[str, int] = dict.fromkeys(session.exchanges, 0)
        self.opportunities = 0
        self.cycle_opportunities = 0
        self.first_opportunity_at: int | None = None
        """Wall clock, microseconds."""
        self.opportunity_latencies = array("d")
        """Milliseconds from the tick's arrival until the opportunity was written to its topic."""
        self.shown_latencies: dict[str, float] = {}
        """Arbitrage → milliseconds from the tick's arrival until a WebSocket client received the trade."""
        self._measured_from = 0
        """By the market's clock: what arrived before then waited for detection to be ready."""
        self.ended_bases: set[str] = set()
        self._unrepeated = unrepeated_rows(session.place.region)
        self._reading = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Return once every row written from now on will be counted."""
        self._tasks = [
            asyncio.create_task(self._retry_forever(self._count_records)),
            asyncio.create_task(self._retry_forever(self._follow_page)),
        ]
        await self._reading.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def reset(self) -> None:
        """Drop quotes and latencies of the warm-up. Opportunities stay: the bots decide on those, too."""
        self.quotes = dict.fromkeys(self.quotes, 0)
        del self.opportunity_latencies[:]
        self.shown_latencies.clear()
        self._measured_from = self._clock.now()

    async def _retry_forever(self, work: Callable[[], Awaitable[None]]) -> None:
        delays = backoff()
        while True:
            try:
                await work()
                delays = backoff()
            except (StreamError, OSError, websockets.WebSocketException) as error:
                log.info("session counters lost their connection", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))

    async def _count_records(self) -> None:
        cycles = () if self._session.cycles is None else (CYCLE_OPPORTUNITIES,)
        topics = (OPPORTUNITIES, TICKS, *cycles)
        async with TopicReader(self._session.services.kafka, topics, "latest", BATCH_SECONDS) as reader:
            self._reading.set()
            async for record in reader.records():
                try:
                    self._count(record)
                except (WireError, KeyError) as error:
                    where = {"topic": record.topic, "offset": record.offset}
                    log.warning("row skipped", extra=where | {"error": str(error)})

    def _count(self, record: Record) -> None:
        row = row_of(record.value)
        if record.topic == TICKS:
            if self._unrepeated is not None and not self._unrepeated.is_new(record.partition, row):
                return
            if row["kind"] in ("quote", "fx"):
                self.quotes[row["exchange"]] = self.quotes.get(row["exchange"], 0) + 1
            return
        if record.topic == CYCLE_OPPORTUNITIES:
            is_found = row["kind"] == FOUND and self._ids.is_new(row["opportunity_id"])
            self.cycle_opportunities += is_found
            return
        found = opportunity_of(row, record.time, with_levels=False)
        if not isinstance(found, Opportunity):
            if found.kind == "end":
                self.ended_bases.add(found.base)
        elif self._ids.is_new(found.opportunity_id):
            self._record_opportunity(found)

    def _record_opportunity(self, opportunity: Opportunity) -> None:
        self.opportunities += 1
        self.first_opportunity_at = self.first_opportunity_at or opportunity.detected_time
        is_measured = opportunity.event_time >= self._measured_from
        if is_measured and len(self.opportunity_latencies) < REMEMBERED_LATENCIES:
            # the row says itself when it was written, and is read in batches
            waited = wall_now() - opportunity.detected_time
            self.opportunity_latencies.append((self._clock.now() - waited - opportunity.event_time) / 1_000)

    async def _follow_page(self) -> None:
        address = f"{self._session.page.host}:{self._session.page.port}"
        key = ensure_api_key(self._session.home).read_text().strip()
        async with websockets.connect(
            # trades are of all assets; prices cost the page's process far more
            f"ws://{address}/ws/live?base=&only=trades",
            origin=f"http://{address}",  # type: ignore[arg-type]  # a plain str
            additional_headers={"X-API-Key": key},
            # the server is on this machine, and the key is for nobody else
            max_size=None,
            proxy=None,
        ) as socket:
            async for message in socket:
                self._record_shown(orjson.loads(message))

    def _record_shown(self, message: dict[str, Any]) -> None:
        """Record the first message that shows both legs of a trade ended and what they filled. One that was left with a
        single leg is closed later, by further orders."""
        if message.get("type") != "trade" or "filled" not in message["times"]:
            return
        identity = message["arbitrage_id"]
        if identity not in self.shown_latencies and len(self.shown_latencies) < REMEMBERED_LATENCIES:
            self.shown_latencies[identity] = (self._clock.now() - int(message["event_time"])) / 1_000


def seconds_since(started: int, moment: int | None) -> float | None:
    """Return seconds between two wall clock times in microseconds; None if there is no second one."""
    return None if moment is None else round((moment - started) / MICROSECONDS, 3)
