"""The feeds of some markets of one simulated exchange in this process, as in a feeder but without Kafka."""

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
import psutil

from exchanges.simulated_markets import simulated_bases, simulated_markets
from market.instruments.markets import Market
from pricefeeds.feed.connection_loop import ConnectionLoop
from pricefeeds.feed.endpoints import source_of
from pricefeeds.feed.exchange_clock import ExchangeClock
from pricefeeds.feed.session import FeedSession
from pricefeeds.feed.source import FeedSource
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.recording.feed_recorder import NoRecorder
from runtime.clock import SystemClock
from runtime.tasks import run_all
from session.session import Services, Session, SimulatedTerms

TIMEOUTS = FeedTimeouts()
WARM_UP_SECONDS = 3.0
ALIVE_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class MarketsCost:
    """CPU seconds of the process within `seconds`, the feeds' counts in that time, and the sockets open at its end."""

    cpu: float
    seconds: float
    quotes: int
    requests: int
    dropped: int
    sockets: int


async def run_feeds(session: Session, exchange: str, seconds: float) -> MarketsCost:
    """Measure from three seconds after every market has a quote."""
    clock = SystemClock()
    async with source_of(session, exchange, clock, TIMEOUTS.rest_seconds) as source:
        timeouts = TIMEOUTS.of_many(source.compare_seconds)
        feeds = [_feed_session(market, clock.now(), timeouts) for market in session.markets_of(exchange)]
        feeding = asyncio.create_task(_feed(source, feeds, clock, timeouts))
        while any(feed.feed.state.quotes == 0 for feed in feeds):
            await SystemClock().sleep(ALIVE_SECONDS)
        await SystemClock().sleep(WARM_UP_SECONDS)
        before, began, cpu = _counted(feeds), time.perf_counter(), time.process_time()
        await asyncio.wait({feeding}, timeout=seconds)
        cpu, took = time.process_time() - cpu, time.perf_counter() - began
        quotes, requests, dropped = (now - then for now, then in zip(_counted(feeds), before, strict=True))
        sockets = len(psutil.Process().net_connections())
        feeding.cancel()
        await asyncio.wait({feeding})
    return MarketsCost(cpu, took, quotes, requests, dropped, sockets)


def _feed_session(market: Market, now: int, timeouts: FeedTimeouts) -> FeedSession:
    return FeedSession(SymbolFeed(market, 0, now, timeouts.late_after), _ignore, NoRecorder(), timeouts.limits)


def _ignore(rows: list[Row]) -> None:
    """Drop the rows."""


async def _feed(source: FeedSource, feeds: Sequence[FeedSession], clock: SystemClock, timeouts: FeedTimeouts) -> None:
    def correct(offset: int) -> None:
        for feed in feeds:
            feed.correct(offset, clock.now())

    async def renew() -> None:
        while True:
            await SystemClock().sleep(ALIVE_SECONDS)
            for feed in feeds:
                feed.renew(clock.now())

    exchange_clock = ExchangeClock(source, clock, correct)
    loops = [ConnectionLoop(source, feed, clock, timeouts, exchange_clock.recheck) for feed in feeds]
    await run_all(*(loop.run() for loop in loops), exchange_clock.run(), renew())


def _counted(feeds: Sequence[FeedSession]) -> tuple[int, int, int]:
    """Return the numbers of quotes, REST requests and dropped connections."""
    states = [feed.feed.state for feed in feeds]
    return (
        sum(state.quotes for state in states),
        sum(state.rest_checks + state.rest_failures for state in states),
        sum(state.reconnects for state in states),
    )


def _session(exchange: str, markets: int, home: str, port: int) -> Session:
    """Return a session with that many of the exchange's markets, bitcoin first."""
    traded = [row for row in simulated_markets(simulated_bases()) if row.exchange == exchange and not row.is_fx]
    return Session(
        session_id="benchmark",
        mode="paper",
        home=Path(home),
        services=Services(kafka="", mongodb="", database=""),
        markets=tuple(traded[:markets]),
        settlement_currency="USD",
        simulated=SimulatedTerms(url=f"http://127.0.0.1:{port}", rate_limits=False),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("exchange")
    parser.add_argument("markets", type=int)
    parser.add_argument("home")
    parser.add_argument("port", type=int)
    parser.add_argument("seconds", type=float)
    arguments = parser.parse_args()
    session = _session(arguments.exchange, arguments.markets, arguments.home, arguments.port)
    cost = asyncio.run(run_feeds(session, arguments.exchange, arguments.seconds))
    sys.stdout.buffer.write(orjson.dumps(asdict(cost)))
