"""Sends recorded quotes to the log when the session's clock reaches the time at which they were received."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from runtime.clock import Clock
from session.session import Session
from streams.tick_writer import TickWriter
from streams.topic_writer import TopicWriter

END_KIND = "end"
LONGEST_PAUSE_SECONDS = 60.0
"""Seconds of market time."""
ROWS_BETWEEN_FLUSHES = 5_000
"""Far below the writer's buffer size."""


@dataclass(frozen=True, slots=True)
class ReplayCounts:
    """Quotes written, by exchange. `last_received` in microseconds UTC, 0 if nothing was sent."""

    sent: dict[str, int]
    last_received: int


async def run_replayer(session: Session, rows: Iterable[Quote | FeedMark], marker_id: str = "replay") -> ReplayCounts:
    """Write `rows`, ordered by received time, then one `end` row per base of the session.

    Returns once all of it is acknowledged. Raises StreamError.
    """
    clock = session.clock()
    writer = TopicWriter(session.services.kafka)
    await writer.open()
    try:
        log = TickWriter(writer, session.bases, session.services.partitions)
        counts = await send_in_time(rows, log.row, writer.flush, clock)
        for base in session.bases:
            log.marker(END_KIND, base, marker_id, max(clock.now(), counts.last_received))
        await writer.flush()
        return counts
    finally:
        await writer.close()


async def send_in_time(
    rows: Iterable[Quote | FeedMark],
    write: Callable[[Quote | FeedMark], None],
    flush: Callable[[], Awaitable[None]],
    clock: Clock,
) -> ReplayCounts:
    """Write each row once the clock has reached its received time; rows due at the same time are written together.

    While the clock is ahead, `flush` slows the loop down so that the writer's buffer does not overflow.
    """
    sent: Counter[str] = Counter()
    last_received = now = 0
    for number, row in enumerate(rows, start=1):
        while row.received_time > now:
            now = clock.now()
            if row.received_time > now:
                await clock.sleep(min((row.received_time - now) / MICROSECONDS, LONGEST_PAUSE_SECONDS))
        write(row)
        sent[row.exchange] += isinstance(row, Quote)
        last_received = row.received_time
        if number % ROWS_BETWEEN_FLUSHES == 0:
            await flush()
    return ReplayCounts(dict(sent), last_received)
