"""How late rows come to one destination while others are dead or slow: per sink, each with its real server.

`python -m benchmarks.sink_delays [--rows 2000] [--rate 100]`. An outbox with three sinks of one app: the one that is
measured, and two of HTTP with ten destinations each, of which one has nobody, and the other answers after four seconds.
Each row goes to all three. A row's delay is the time from when it is in the outbox until its destination has taken it.
First the sink is measured alone, then beside the others. MQTT needs mosquitto, Pub/Sub the extra, S3 both its extra and
moto's server; what is not here is left out.
"""

import argparse
import asyncio
import importlib.util
import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web

from benchmarks.percentiles import percentiles_text
from cep.apps.ends.checked_connections import HttpSessions
from cep.apps.ends.sink_ends import BucketTarget, HttpTarget
from cep.apps.transports.bucket_ends import BucketSender
from cep.apps.transports.delivery import SinkDelivery
from cep.apps.transports.http_sender import HttpSender, HttpTerms
from cep.apps.transports.object_store import BucketTerms, ObjectBucket
from cep.apps.transports.outbox import AddedRow, RowOutbox
from cep.apps.transports.ports import OutgoingRow, SinkSender
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from streams.broker.embedded_broker import free_ports
from tests.cep.apps.hosts.call_server import ORIGIN
from tests.cep.apps.transports.ends import sink_of
from tests.cep.apps.transports.mqtt_broker import PROGRAM as MOSQUITTO
from tests.cep.apps.transports.s3_server import PROGRAM as MOTO
from tests.cep.apps.transports.s3_server import s3_server
from tests.cep.apps.transports.sender_worlds import http_world, mongo_world, mqtt_world, socket_world
from tests.services import embedded_mongodb

DESTINATIONS = 10
SLOW_SECONDS = 4.0


@dataclass(slots=True)
class TimedSender:
    """A sender that notes when each row was taken, microseconds."""

    sender: SinkSender
    begun: dict[str, int] = field(default_factory=dict)
    delays: list[float] = field(default_factory=list)
    """Milliseconds."""

    @property
    def most_rows(self) -> int:
        return self.sender.most_rows

    @property
    def linger_seconds(self) -> float:
        return self.sender.linger_seconds

    def destination(self, values: Mapping[str, Any]) -> str:
        return self.sender.destination(values)

    def server(self, destination: str) -> str:
        return self.sender.server(destination)

    def shown(self, destination: str) -> str:
        return self.sender.shown(destination)

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        await self.sender.send(destination, rows)
        now = steady_now()
        self.delays += [(now - self.begun.pop(row.id)) / 1_000 for row in rows if row.id in self.begun]

    async def close(self) -> None:
        await self.sender.close()


def http_sender(url: str) -> HttpSender:
    """To ten destinations of one server."""
    sink = sink_of(f"type = 'http', publisher.url = '{ORIGIN}/hook/{{{{n}}}}', @map(type = 'json')")
    assert isinstance(sink.target, HttpTarget)
    return HttpSender(sink.target, sink.writer, HttpTerms({ORIGIN: url}), HttpSessions())


@asynccontextmanager
async def bad_senders() -> AsyncIterator[dict[str, SinkSender]]:
    async def respond(request: web.Request) -> web.Response:
        await asyncio.sleep(SLOW_SECONDS)
        return web.Response()

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", respond)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    (nobody,) = free_ports(1)
    try:
        yield {"dead": http_sender(f"http://127.0.0.1:{nobody}"), "slow": http_sender(site.name)}
    finally:
        await runner.cleanup()


def added(sink: str, sender: SinkSender, row: OutgoingRow) -> AddedRow:
    destination = sender.destination({**row.values, "n": row.values["n"] % DESTINATIONS})
    return AddedRow(sink, sender.server(destination), destination, row)


async def measured(sender: SinkSender, others: Mapping[str, SinkSender], rows: int, rate: int) -> list[float]:
    """Return the delays of the rows that `sender` took, milliseconds."""

    async def keep(given_up: Sequence[OutgoingRow], reason: str) -> None:
        raise AssertionError(reason)

    timed = TimedSender(sender)
    with TemporaryDirectory() as folder:
        outbox = RowOutbox(Path(folder) / "outbox.db")
        senders = {"one": timed, **others}
        deliveries = [SinkDelivery(name, one, outbox, "wait", keep) for name, one in senders.items()]
        tasks = [asyncio.create_task(one.run()) for one in deliveries]
        began, clock = steady_now(), SystemClock()
        for number in range(rows):
            await clock.sleep(max(0.0, number / rate - (steady_now() - began) / MICROSECONDS))
            row = OutgoingRow(f"id:{number}", number, {"symbol": "BTC", "n": number, "place": "eu"})
            found = [added(name, one, row) for name, one in senders.items()]
            outbox.add(found, {}, now=number)
            timed.begun[row.id] = steady_now()
            for delivery in deliveries:
                delivery.note(found)
        while timed.begun:
            await clock.sleep(0.01)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        outbox.close()
    return timed.delays


async def compared(name: str, sender: SinkSender, rows: int, rate: int) -> None:
    alone = await measured(sender, {}, rows, rate)
    async with bad_senders() as others:
        beside = await measured(sender, others, rows, rate)
    print(f"{name}: {percentiles_text(alone, 1)} ms alone, {percentiles_text(beside, 1)} ms beside")


@asynccontextmanager
async def bucket_sender(endpoint: str) -> AsyncIterator[SinkSender]:
    sink = sink_of(
        "type = 's3', bucket.name = 'exports', object.path = 'rows', flush.size = '100', "
        "rotate.interval.ms = '1000', @map(type = 'json')"
    )
    assert isinstance(sink.target, BucketTarget)
    terms = BucketTerms("exports", endpoint, None, "me", "word")
    await ObjectBucket(terms)._asked("create_bucket", Bucket="exports")
    yield BucketSender(sink.target, sink.writer, sink.columns, terms, ("rows/#",))


async def compare(rows: int, rate: int, folder: Path, mongodb: str) -> None:
    async with AsyncExitStack() as opened:
        worlds = {"http": http_world(), "websocket": socket_world(), "mongodb": mongo_world(mongodb)}
        if MOSQUITTO is not None and importlib.util.find_spec("paho") is not None:
            worlds["mqtt"] = mqtt_world(folder)
        for name, world in worlds.items():
            made = await opened.enter_async_context(world)
            await compared(name, made.sender, rows, rate)
        if MOTO is not None and importlib.util.find_spec("boto3") is not None:
            endpoint = opened.enter_context(s3_server())
            sender = await opened.enter_async_context(bucket_sender(endpoint))
            await compared("s3, objects of a hundred rows", sender, rows, rate)
    print(f"load {os.getloadavg()[0]:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000)
    parser.add_argument("--rate", type=int, default=100)
    options = parser.parse_args()
    # that nobody takes their rows is what the two others are for
    logging.getLogger("cep").setLevel(logging.ERROR)
    with TemporaryDirectory() as folder, embedded_mongodb(Path(folder) / "mongodb") as mongodb:
        asyncio.run(compare(options.rows, options.rate, Path(folder), mongodb.address))


if __name__ == "__main__":
    main()
