"""Quotes into Kafka and whole trades into the store at a steady rate, as feeders and bots would; a process of its own.

`python -m tests.web.traffic HOME --quotes N --trades N`: so many a second, into the session of HOME/run.json. It says
"ready" once it writes, and goes on until it is ended. Each trade is called `PREFIX-number-moment`.
"""

import argparse
import asyncio
import signal
import sys
from itertools import count
from pathlib import Path

from launch.setup.data_dir import read_session
from launch.setup.login_files import with_logins
from launch.setup.login_rights import SUPERVISOR
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from store.mongo.store import MongoTradeStore, open_store
from streams.message_format import quote_row
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.reservation_requests import opportunity
from tests.ui.samples import FX_MARKET, quote
from tests.ui.trading import traded

PREFIX = "trade"
BOOKS = ((USD_MARKET, 70_000), (EUR_MARKET, 63_600), (FX_MARKET, 1))


async def keep_pace(per_second: float, act: "asyncio.Queue[int]") -> None:
    """Put a number into the queue at each beat, by the clock: a slow moment is made up for."""
    begun = wall_now()
    for number in count():
        due = begun + int(number * MICROSECONDS / per_second)
        await SystemClock().sleep(max(0, due - wall_now()) / MICROSECONDS)
        act.put_nowait(number)


async def write_quotes(writer: TopicWriter, beats: "asyncio.Queue[int]") -> None:
    while True:
        number = await beats.get()
        market, price = BOOKS[number % len(BOOKS)]
        bid, ask = (f"{price * (1 + (number % 97) / 10_000) + spread:.5f}" for spread in (0, 0.01))
        writer.write(TICKS, quote_row(quote(market, bid, ask, wall_now())), partition=0)


async def write_trades(store: MongoTradeStore, beats: "asyncio.Queue[int]", stopping: asyncio.Event) -> None:
    """Begin and end trades: one left open would keep its pair busy for the next clients."""
    while not stopping.is_set():
        number = await beats.get()
        await traded(store, opportunity(f"{PREFIX}-{number}-{wall_now()}", wall_now()), "0.001")


async def main(home: Path, quotes: float, trades: float) -> None:
    session = with_logins(read_session(home), SUPERVISOR)
    writer = TopicWriter(session.services.kafka)
    to_quote: asyncio.Queue[int] = asyncio.Queue()
    to_trade: asyncio.Queue[int] = asyncio.Queue()
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    try:
        async with await open_store(session) as store:
            pacing = [
                asyncio.create_task(keep_pace(quotes, to_quote)),
                asyncio.create_task(write_quotes(writer, to_quote)),
            ]
            if trades:
                pacing.append(asyncio.create_task(keep_pace(trades, to_trade)))
            trading = asyncio.create_task(write_trades(store, to_trade, stopping))
            sys.stdout.write("ready\n")
            sys.stdout.flush()
            stopped = asyncio.create_task(stopping.wait())
            await asyncio.wait([stopped, trading, *pacing], return_when=asyncio.FIRST_COMPLETED)
            stopping.set()
            if trades:
                await trading
            for task in (trading, *pacing):
                task.cancel()
            await asyncio.gather(trading, *pacing, return_exceptions=True)
    finally:
        await writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("--quotes", type=float, default=150.0)
    parser.add_argument("--trades", type=float, default=1.0)
    given = parser.parse_args()
    asyncio.run(main(given.home, given.quotes, given.trades))
