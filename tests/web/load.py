"""A load on the dashboard from a process of its own: WebSocket clients that hear everything, and requests at a rate.

`python -m tests.web.load ADDRESS --clients N --requests N --seconds N` prints one line of JSON. Requests are sent by
the clock, whatever became of those before, and their time counts from when they were due: a server that stands still
cannot hide it. A trade's time is from the store's clock at its end to when a client has it.
"""

import argparse
import asyncio
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle

import aiohttp
import orjson

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now

PATHS = (
    "/api/quotes",
    "/api/spreads",
    "/api/trades?limit=20",
    "/api/settings",
    "/api/arbitrages?limit=20",
    "/api/health",
)
CONNECTING_AT_ONCE = 20
ANSWER_TIMEOUT_SECONDS = 60


@dataclass(slots=True)
class Heard:
    """What all clients together heard."""

    messages: int = 0
    connected: int = 0
    dropped: int = 0
    out_of_order: int = 0
    snapshots: int = 0
    trades: list[set[str]] = field(default_factory=list)
    """For each client: the trades that it saw end."""
    delays: list[int] = field(default_factory=list)

    async def listen(
        self, web: aiohttp.ClientSession, address: str, gate: asyncio.Semaphore, end: asyncio.Event
    ) -> None:
        seen: set[str] = set()
        last = 0
        async with gate:
            socket = await web.ws_connect(f"ws://{address}/ws/live", max_msg_size=0, compress=0)
            self.connected += 1
            self.trades.append(seen)
        async with socket:
            async for message in socket:
                sequence = int(message.data[12 : message.data.index(",")])
                self.out_of_order += sequence <= last
                last = sequence
                self.messages += 1
                self.take(message.data, seen)
            self.dropped += not end.is_set()

    def take(self, text: str, seen: set[str]) -> None:
        """Pulses, the most of all, are not read further: the clients share this process's core."""
        kind = text[text.index('"type":"') + 8 :][:8]
        if kind == "snapshot":
            self.snapshots += 1
            seen |= {row["arbitrage_id"] for row in orjson.loads(text)["arbitrages"] if row["is_final"]}
        elif kind.startswith("trade"):
            reported = orjson.loads(text)
            if reported["is_final"]:
                seen.add(reported["arbitrage_id"])
                self.delays.append(wall_now() - reported["times"]["ended"])

    async def by_all(self) -> set[str]:
        """Return what anybody heard of by now, once everybody has, or a minute later: on a full machine some are
        behind."""
        reported = set[str]().union(*self.trades)
        deadline = wall_now() + ANSWER_TIMEOUT_SECONDS * MICROSECONDS
        while any(not reported <= seen for seen in self.trades) and wall_now() < deadline:
            await SystemClock().sleep(0.1)
        return reported


@dataclass(slots=True)
class Answered:
    statuses: Counter[int | str] = field(default_factory=Counter)
    delays: list[int] = field(default_factory=list)

    async def ask(self, web: aiohttp.ClientSession, url: str, due: int) -> None:
        try:
            async with web.get(url) as response:
                await response.read()
                self.statuses[response.status] += 1
        except (aiohttp.ClientError, TimeoutError) as error:
            self.statuses[type(error).__name__] += 1
        self.delays.append(wall_now() - due)


async def keep_asking(web: aiohttp.ClientSession, address: str, per_second: float, seconds: float) -> Answered:
    answered, begun = Answered(), wall_now()
    paths = cycle(PATHS)
    async with asyncio.TaskGroup() as group:
        for number in range(int(per_second * seconds)):
            due = begun + int(number * MICROSECONDS / per_second)
            if due > wall_now():
                await SystemClock().sleep((due - wall_now()) / MICROSECONDS)
            group.create_task(answered.ask(web, f"http://{address}{next(paths)}", due))
    return answered


async def main(address: str, clients: int, per_second: float, seconds: float) -> None:
    heard, end, gate = Heard(), asyncio.Event(), asyncio.Semaphore(CONNECTING_AT_ONCE)
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as web:
        listening = [asyncio.create_task(heard.listen(web, address, gate, end)) for _ in range(clients)]
        while heard.connected < clients:
            await SystemClock().sleep(0.05)
        sys.stdout.write("connected\n")
        sys.stdout.flush()
        answered = await keep_asking(web, address, per_second, seconds)
        end.set()
        reported = await heard.by_all()
        for task in listening:
            task.cancel()
        await asyncio.gather(*listening, return_exceptions=True)
    sys.stdout.buffer.write(orjson.dumps(figures(heard, answered, reported)) + b"\n")


def figures(heard: Heard, answered: Answered, reported: set[str]) -> dict[str, object]:
    return {
        "clients": heard.connected,
        "dropped": heard.dropped,
        "messages": heard.messages,
        "snapshots": heard.snapshots,
        "out_of_order": heard.out_of_order,
        "trades": sorted(reported),
        "trades_missed_by_some": sorted(reported - set[str].intersection(*heard.trades)),
        "trade_ms": percentiles(heard.delays),
        "statuses": {str(status): number for status, number in answered.statuses.items()},
        "request_ms": percentiles(answered.delays),
    }


def percentiles(microseconds: Sequence[int]) -> dict[str, float] | None:
    """None if nothing was measured."""
    if len(microseconds) < 2:
        return None
    cuts = statistics.quantiles(microseconds, n=100, method="inclusive")
    return {f"p{percent}": round(cuts[percent - 1] / 1_000, 1) for percent in (50, 95, 99)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    asyncio.run(main(given.address, given.clients, given.requests, given.seconds))
