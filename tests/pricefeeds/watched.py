"""One symbol's watch loop in this process, against the simulated exchanges, with what it published."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from market.instruments.markets import Market
from market.prices.feed_state import FeedState
from market.prices.quotes import FeedMark, Quote
from pricefeeds.feed.connection_loop import ConnectionLoop
from pricefeeds.feed.endpoints import source_of
from pricefeeds.feed.exchange_clock import ExchangeClock
from pricefeeds.feed.session import FeedSession
from pricefeeds.feed.source import FeedSource
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import RejectedQuote, Row, SymbolFeed
from pricefeeds.recording.feed_recorder import NoRecorder, Recorder
from runtime.clock import Clock, SystemClock
from runtime.tasks import run_all
from session.session import Session

DEADLINE_SECONDS = 20.0
LOOK_SECONDS = 0.02
IMPATIENT = FeedTimeouts(stale_after=1.0, first_book=2.0, compare_every=0.5, rest_lag=0.5, first_retry=0.05)
"""For tests that wait for a feed to be dropped."""
PATIENT = FeedTimeouts(stale_after=4.0, compare_every=0.5, rest_lag=0.5)
"""For tests in which a dropped feed is a fault: a busy machine answers by REST later than IMPATIENT allows."""


@dataclass(slots=True)
class Watched:
    """A running watch and its rows so far; `task` ends only if the exchange declined."""

    listener: FeedSession
    source: FeedSource
    rows: list[Row]
    task: asyncio.Task[None]

    @property
    def state(self) -> FeedState:
        return self.listener.feed.state

    @property
    def kinds(self) -> list[str]:
        """The kind of each row, or the reason of its rejection."""
        return [row.reason if isinstance(row, RejectedQuote) else row.kind for row in self.rows]

    @property
    def quotes(self) -> list[Quote]:
        return [row for row in self.rows if isinstance(row, Quote)]

    @property
    def is_in_force(self) -> bool:
        """Whether whoever read the rows believes a quote now."""
        said = [row for row in self.rows if isinstance(row, Quote | FeedMark)]
        return bool(said) and not said[-1].kind.endswith("withdrawn")

    async def until(self, condition: Callable[[], bool], seconds: float = DEADLINE_SECONDS) -> None:
        """Raise TimeoutError if it does not come true, and what ended the watch."""
        async with asyncio.timeout(seconds):
            while not condition():
                if self.task.done():
                    await self.task
                await SystemClock().sleep(LOOK_SECONDS)

    async def until_quotes(self, number: int) -> None:
        """Wait for that many more quotes."""
        wanted = len(self.quotes) + number
        await self.until(lambda: len(self.quotes) >= wanted)


@asynccontextmanager
async def watching(
    session: Session, exchange: str, symbol: str, patience: FeedTimeouts = IMPATIENT, recorder: Recorder | None = None
) -> AsyncIterator[Watched]:
    """One of the session's markets, on the exchange that the session names."""
    market = next(row for row in session.markets if (row.exchange, row.symbol) == (exchange, symbol))
    async with (
        source_of(session, exchange, SystemClock(), patience.rest_seconds) as source,
        watching_source(source, market, patience, recorder) as watched,
    ):
        yield watched


@asynccontextmanager
async def watching_source(
    source: FeedSource, market: Market, patience: FeedTimeouts = IMPATIENT, recorder: Recorder | None = None
) -> AsyncIterator[Watched]:
    """Return the same parts that a feeder has for one symbol, with rows kept instead of written to Kafka."""
    clock = SystemClock()
    feed = SymbolFeed(market, 0, clock.now(), patience.late_after)
    rows: list[Row] = []
    listener = FeedSession(feed, rows.extend, recorder or NoRecorder(), patience.limits)
    listener.start(0, clock.now())
    exchange_clock = ExchangeClock(source, clock, lambda offset: listener.correct(offset, clock.now()))
    watch = ConnectionLoop(source, listener, clock, patience, exchange_clock.recheck)
    task = asyncio.create_task(run_all(watch.run(), exchange_clock.run(), _renewed(listener, clock)))
    try:
        yield Watched(listener, source, rows, task)
    finally:
        task.cancel()
        await asyncio.wait({task})


async def _renewed(listener: FeedSession, clock: Clock) -> None:
    while True:
        await SystemClock().sleep(0.1)
        listener.renew(clock.now())
