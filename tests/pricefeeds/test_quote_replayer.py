import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from market.prices.quotes import FeedMark, Quote
from market.time_units import MICROSECONDS
from pricefeeds.quote_replayer import ROWS_BETWEEN_FLUSHES, run_replayer, send_in_time
from pricefeeds.quoting.symbol_feed import SymbolFeed
from runtime.clock import ReplayClock, wall_now
from session.session import ReplayTime, Services, Session
from streams.message_format import quote_of, row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import TICKS
from tests.pricefeeds.samples import MARKET, book

START = 1_500_000_000 * MICROSECONDS


def quotes_at(*seconds: float) -> list[Quote]:
    feed = SymbolFeed(MARKET, 0, 0)
    (first,) = feed.take(book("100", "101"), START)
    assert isinstance(first, Quote)
    times = [START + int(second * MICROSECONDS) for second in seconds]
    return [replace(first, received_time=time, sequence=rank) for rank, time in enumerate(times, start=1)]


@dataclass
class Sink:
    """Keeps what is written, with the clock's time of writing."""

    clock: ReplayClock
    written: list[tuple[Quote | FeedMark, int]] = field(default_factory=list)
    flushed_at: list[int] = field(default_factory=list)

    def write(self, row: Quote | FeedMark) -> None:
        self.written.append((row, self.clock.now()))

    async def flush(self) -> None:
        self.flushed_at.append(len(self.written))


async def sent(quotes: list[Quote], speed: float) -> Sink:
    sink = Sink(ReplayClock(START, wall_now(), speed))
    counts = await send_in_time(quotes, sink.write, sink.flush, sink.clock)
    assert counts.sent == {"bitstamp": len(quotes)}
    assert counts.last_received == quotes[-1].received_time
    return sink


async def test_no_quote_goes_out_before_its_time_and_all_in_order() -> None:
    quotes = quotes_at(0, 0, 0.5, 1, 30, 30, 30, 90)
    sink = await sent(quotes, speed=600)
    assert [quote for quote, _ in sink.written] == quotes
    assert all(at >= quote.received_time for quote, at in sink.written)


async def test_the_clock_paces_the_replay() -> None:
    sink = Sink(ReplayClock(START, wall_now(), 100))
    sending = asyncio.create_task(send_in_time(quotes_at(0, 1_000), sink.write, sink.flush, sink.clock))
    await asyncio.wait({sending}, timeout=0.2)
    assert [quote.sequence for quote, _ in sink.written] == [1]
    sending.cancel()
    await asyncio.wait({sending})


async def test_a_replay_that_is_behind_lets_the_writer_catch_up() -> None:
    sink = await sent(quotes_at(*[0.0] * (2 * ROWS_BETWEEN_FLUSHES + 1)), speed=1)
    assert sink.flushed_at == [ROWS_BETWEEN_FLUSHES, 2 * ROWS_BETWEEN_FLUSHES]


async def test_on_a_real_log_the_quotes_are_followed_by_one_end_per_base(kafka_address: str) -> None:
    await ensure_topics(kafka_address, 1)
    quotes = quotes_at(0, 10, 20, 20)
    session = Session(
        session_id="replayer",
        mode="replay",
        home=Path(),
        services=Services(kafka=kafka_address, mongodb="", database=""),
        markets=(MARKET, replace(MARKET, exchange="kraken")),
        settlement_currency="EUR",
        replay=ReplayTime(START, wall_now(), speed=100),
    )
    async with TopicReader(kafka_address, (TICKS,), "latest") as log:
        counts = await run_replayer(session, quotes, marker_id="the end")
        rows = [row_of(record.value) async for record in log.records_to_end()]
    assert counts.sent == {"bitstamp": 4}
    assert [quote_of(row) for row in rows[:-1]] == quotes
    end = rows[-1]
    assert (end["kind"], end["base"], end["marker_id"]) == ("end", "BTC", "the end")
    assert end["received_time"] >= quotes[-1].received_time
