"""Cores that the simulated exchanges take while every book is followed, and how many changes they make a second.

`python -m benchmarks.simulator [--seconds N]`. The peer is a bare aiohttp server that sends the very same frames at the
same times to as many readers: the cost above it is the simulation itself.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import psutil

from benchmarks.processes import cpu_seconds, running
from exchanges.books.errors import FeedDroppedError
from exchanges.books.port import Send
from exchanges.catalogue import own_facts, wire_of
from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from pricefeeds.feed.websocket import WebSocketConnection, connected
from runtime.clock import SystemClock, wall_now
from streams.broker.embedded_broker import free_ports

Follow = Callable[[asyncio.Barrier], Coroutine[object, object, None]]
"""Reads a stream for ever; passes the barrier once it has begun."""

START_SECONDS = 30.0
GOAL = 300
CHANGES: dict[str, Callable[[dict[str, Any]], int]] = {
    "coinbaseexchange": lambda frame: len(frame.get("changes", ())),
    "bitstamp": lambda frame: _sides(frame["data"]) if frame["event"] == "data" else 0,
    "bitflyer": lambda frame: _sides(frame["params"]["message"]) if "params" in frame else 0,
    "kraken": lambda frame: _sides(frame["data"][0]) if frame.get("type") == "update" else 0,
    "binance": lambda frame: len(frame.get("b", ())) + len(frame.get("a", ())),
}
"""Exchange → levels that a frame of its stream changes."""


@dataclass(slots=True)
class Heard:
    """Frames of one book's stream: microseconds since the measurement began, and the text."""

    market: Market
    frames: list[tuple[int, str]] = field(default_factory=list)

    @property
    def changes(self) -> int:
        count = CHANGES[self.market.exchange]
        return sum(count(orjson.loads(text)) for _, text in self.frames)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    seconds = parser.parse_args().seconds
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        heard, share = asyncio.run(_simulated(home, seconds))
        frames = [[list(frame) for frame in one.frames] for one in heard]
        (home / "frames.json").write_bytes(orjson.dumps(frames))
        peer_share = asyncio.run(_bare(home / "frames.json", len(heard), seconds))
    rate = _shown_rate(heard, seconds)
    print(f"simulated exchanges  {share:6.1%} of a core  (CPU {share * seconds:.2f} s in {seconds:.0f} s)")
    print(f"bare aiohttp server  {peer_share:6.1%} of a core  sending the same frames: 1 : {share / peer_share:.1f}")
    print(f"at {GOAL} changes/s per exchange, were all of it in proportion: {share * GOAL / rate:.1%} of a core")
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")


def _shown_rate(heard: list[Heard], seconds: float) -> float:
    """Print each exchange's pace; return changes per second, the mean of the exchanges."""
    frames, changes = Counter[str](), Counter[str]()
    for one in heard:
        frames[one.market.exchange] += len(one.frames)
        changes[one.market.exchange] += one.changes
    for exchange in frames:
        print(f"{exchange:18}{changes[exchange] / seconds:8.0f} changes/s{frames[exchange] / seconds:8.1f} messages/s")
    return changes.total() / len(frames) / seconds


async def _simulated(home: Path, seconds: float) -> tuple[list[Heard], float]:
    (port,) = free_ports(1)
    heard = [Heard(market) for market in simulated_markets()]
    with running(
        sys.executable,
        "-m",
        "simulators.server",
        *("--home", str(home), "--port", str(port), "--market", "storm"),
    ) as server:
        share = await _share(server, [partial(_follow_book, port, one) for one in heard], seconds)
    return heard, share


async def _bare(frames: Path, readers: int, seconds: float) -> float:
    (port,) = free_ports(1)
    with running(sys.executable, "-m", "benchmarks.frame_server", str(port), str(frames)) as server:
        return await _share(server, [partial(_follow_frames, port, number) for number in range(readers)], seconds)


async def _share(server: psutil.Process, follows: Sequence[Follow], seconds: float) -> float:
    """Return the share of a core that `server` takes within `seconds` after all streams have begun."""
    begun = asyncio.Barrier(len(follows) + 1)
    tasks = [asyncio.create_task(follow(begun)) for follow in follows]
    try:
        async with asyncio.timeout(START_SECONDS):
            await begun.wait()
        before = cpu_seconds(server)
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
        return (cpu_seconds(server) - before) / seconds
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _follow_book(port: int, heard: Heard, begun: asyncio.Barrier) -> None:
    """Subscribe as a feeder does, and keep the frames."""
    wire, market = wire_of(heard.market.exchange), heard.market
    async with _opened(f"ws://127.0.0.1:{port}/{wire.name}{own_facts(wire.name).addresses.stream_path}") as connection:
        for requested in wire.conversation(market, None).open(wall_now()):
            if isinstance(requested, Send):
                await connection.send(requested.text)
        frames = connection.frames()
        await anext(frames)
        await begun.wait()
        began = wall_now()
        async for frame in frames:
            heard.frames.append((wall_now() - began, frame.decode()))


async def _follow_frames(port: int, number: int, begun: asyncio.Barrier) -> None:
    async with _opened(f"ws://127.0.0.1:{port}/{number}") as connection:
        await begun.wait()
        async for _ in connection.frames():
            pass


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[WebSocketConnection]:
    """Open the connection as soon as the server is up."""
    while True:
        try:
            async with connected(url) as connection:
                yield connection
                return
        except FeedDroppedError:
            await SystemClock().sleep(0.2)


def _sides(book: dict[str, Any]) -> int:
    return len(book["bids"]) + len(book["asks"])


if __name__ == "__main__":
    main()
