"""One reader of one prepared stream in a process of its own: CPU cost of its messages from the socket to the quote."""

import argparse
import asyncio
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import orjson

from benchmarks.messages import LAST_AMOUNT, market_of
from exchanges.addresses import simulated_addresses
from exchanges.catalogue import wire_of
from market.money import Amount, Price, decimal_of
from market.prices.book_top import BookTop
from market.prices.quotes import MAX_LEVELS, Level, Quote
from pricefeeds.feed.connection_loop import ConnectionLoop
from pricefeeds.feed.endpoints import FeedEndpoints
from pricefeeds.feed.rest_reader import rest_reader
from pricefeeds.feed.session import FeedSession
from pricefeeds.feed.timeouts import FeedTimeouts
from pricefeeds.quoting.symbol_feed import Row, SymbolFeed
from pricefeeds.recording.feed_recorder import FileRecorder, NoRecorder, RecordingLimits
from pricefeeds.recording.feed_recording import RecordingHeader
from runtime.clock import SystemClock

LAST = Decimal(LAST_AMOUNT).scaleb(-8)
PATIENT = FeedTimeouts(stale_after=60.0, first_book=60.0, compare_every=3_600.0)
"""Only the messages are measured, and a busy machine must not end the connection."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of all messages of a stream, from the first to the last: seconds of this process's CPU and of the wall."""

    cpu: float
    wall: float
    quotes: int
    """Quotes, or books that were handed over."""


class Meter:
    """Measures from `begin` to `end`, and lets the server begin."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._cpu = self._wall = 0.0

    async def begin(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()
        await asyncio.to_thread(_get, f"{self._address}/go")

    def cost(self, quotes: int) -> Cost:
        return Cost(time.process_time() - self._cpu, time.perf_counter() - self._wall, quotes)


async def ours(exchange: str, address: str, recordings: Path | None) -> Cost:
    """Measure a feeder's connection, reader and feed, as they run in a session; rows are counted and dropped."""
    clock, market, wire = SystemClock(), market_of(exchange), wire_of(exchange)
    header = RecordingHeader("benchmark", exchange, (market,))
    recorder = NoRecorder() if recordings is None else FileRecorder(recordings, header, RecordingLimits())
    tally = _Tally()
    async with rest_reader(address, clock, PATIENT.rest_seconds) as rest:
        source = FeedEndpoints(wire, "ws" + address.removeprefix("http") + "/ws", rest, None)
        feed = SymbolFeed(market, 0, clock.now(), PATIENT.late_after)
        feed_session = FeedSession(feed, tally.add, recorder, PATIENT.limits)
        feed_session.start(0, clock.now())
        task = asyncio.create_task(ConnectionLoop(source, feed_session, clock, PATIENT).run())
        await tally.first.wait()
        meter, before = Meter(address), feed.state.quotes
        await meter.begin()
        await tally.last.wait()
        cost = meter.cost(feed.state.quotes - before)
        task.cancel()
        await asyncio.wait({task})
    if isinstance(recorder, FileRecorder):
        recorder.close()
    return cost


class _Tally:
    """Sees the first quote and the last."""

    def __init__(self) -> None:
        self.first, self.last = asyncio.Event(), asyncio.Event()

    def add(self, rows: list[Row]) -> None:
        for row in rows:
            if isinstance(row, Quote):
                self.first.set()
                if row.bids[0].amount == LAST:
                    self.last.set()


async def peer(exchange: str, address: str, *, to_quotes: bool) -> Cost:
    """Measure ccxt.pro: `watch_order_book` in a loop, which hands over one book for all messages that came together.

    If `to_quotes`, its ten best levels become Decimals and go through the same feed as ours.
    """
    import ccxt.pro as ccxtpro  # noqa: PLC0415  it costs a second of CPU, and ours does without

    client: Any = getattr(ccxtpro, exchange)({"apiKey": "key", "secret": "c2VjcmV0", "password": "word"})
    client.urls["api"] = simulated_addresses(exchange, address)
    client.set_markets([_ccxt_market(client, exchange)])
    symbol, books, clock = market_of(exchange).symbol, 0, SystemClock()
    feed = SymbolFeed(market_of(exchange), 0, clock.now(), PATIENT.late_after)
    try:
        await client.watch_order_book(symbol)
        meter = Meter(address)
        await meter.begin()
        while True:
            book = await client.watch_order_book(symbol)
            books += 1
            if to_quotes:
                feed.take(_top_of(book), clock.now())
            if Decimal(str(book["bids"][0][1])) == LAST:
                return meter.cost(books)
    finally:
        await client.close()


def _top_of(book: Any) -> BookTop:
    """Return the top of a book of ccxt, whose numbers are floats."""
    bids, asks = (
        tuple(Level(Price(decimal_of(row[0])), Amount(decimal_of(row[1]))) for row in book[side][:MAX_LEVELS])
        for side in ("bids", "asks")
    )
    return BookTop(bids, asks, None if book["timestamp"] is None else int(book["timestamp"]) * 1_000)


def _ccxt_market(client: Any, exchange: str) -> Any:
    market = market_of(exchange)
    joined = {"coinbaseexchange": "-", "kraken": "/"}.get(exchange, "")
    market_id = joined.join((market.base, market.quote_currency))
    names = {"id": market_id.lower() if exchange == "bitstamp" else market_id, "lowercaseId": market_id.lower()}
    kind = {"type": "spot", "spot": True, "active": True, "precision": {"amount": 1e-8, "price": 0.1}}
    sides = {"symbol": market.symbol, "base": market.base, "quote": market.quote_currency}
    info = {"info": {"wsname": market.symbol}}
    return client.safe_market_structure({**names, **sides, **kind, **info})


def _get(address: str) -> None:
    with urlopen(address) as answer:
        answer.read()


def _measured(reader: str, exchange: str, address: str, pace: int) -> Cost:
    _get(f"{address}/prepare?pace={pace}")
    if reader.startswith(PEER):
        return asyncio.run(peer(exchange, address, to_quotes=reader != PEER))
    if reader == "ours":
        return asyncio.run(ours(exchange, address, None))
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(ours(exchange, address, Path(folder)))


PEER = "ccxt.pro"
READERS = ("ours", "ours, recorded", "ccxt.pro to quotes", PEER)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("reader", choices=READERS)
    parser.add_argument("exchange")
    parser.add_argument("address")
    parser.add_argument("pace", type=int)
    arguments = parser.parse_args()
    sys.stdout.buffer.write(
        orjson.dumps(asdict(_measured(arguments.reader, arguments.exchange, arguments.address, arguments.pace)))
    )
