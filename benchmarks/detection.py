"""From the tick to the opportunity at a given rate: Kafka and detection as they run in a session, and nothing else.

`python -m benchmarks.detection [--rates 1000,5000] [--seconds 60] [--seed 1] [--cycles]`. Quotes of twenty assets on
five exchanges (`benchmarks.generated_ticks`) are written to one partition of the log at each rate. An opportunity's
latency is from its tick's arrival until Spark writes it. The floor is the time that the rows themselves take: from the
same arrival until a plain reader of the log has them. With cycles all of three legs over these markets are watched,
too.
"""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from benchmarks.generated_ticks import SETTINGS, GeneratedTicks, markets
from benchmarks.percentiles import percentiles_text
from benchmarks.processes import running, used_by
from launch.setup.data_dir import home_folder, write_atomically
from launch.setup.jars import broker_classpath
from launch.setup.login_files import own_logins, write_logins
from launch.setup.login_rights import SUPERVISOR
from launch.setup.prerequisites import checked_java
from launch.supervisor.readiness import until_ready
from market.instruments.cycles import CycleTerms
from runtime.clock import SystemClock, steady_now, wall_now
from runtime.logins import Address, login_of
from session.session import Services, Session
from streams.broker.embedded_broker import EmbeddedBroker, free_ports, wait_ready
from streams.message_format import quote_row, row_of
from streams.tick_writer import TickWriter
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import CYCLE_OPPORTUNITIES, OPPORTUNITIES, TICKS, partition_of, session_topics

START_SECONDS = 120.0
WARM_UP_SECONDS = 15.0
SLICE_SECONDS = 0.002
PREPARED_SECONDS = 5.0
"""Quotes are prepared for this long; they are written forwards, then backwards, so that prices never jump."""
TIMELESS = 1_111_111_111_111_111
"""The time in a prepared quote, replaced when it is written."""
RATES_SECONDS = 0.5
"""Between two quotes of each FX rate."""


@dataclass(slots=True)
class Measured:
    """Milliseconds, from a tick's arrival."""

    opportunities: list[float] = field(default_factory=list)
    cycles: list[float] = field(default_factory=list)
    rows: list[float] = field(default_factory=list)


@contextmanager
def broker(home: Path) -> Iterator[tuple[Address, psutil.Process]]:
    own, (port, controller_port) = own_logins(home), free_ports(2)
    owner, jars = own.login(SUPERVISOR), broker_classpath(home)
    embedded = EmbeddedBroker(home, jars, port, controller_port, owner, own.controller, checked_java())
    embedded.prepare()
    with running(*embedded.command()) as process:
        address = Address(embedded.address, owner)
        asyncio.run(wait_ready(address, START_SECONDS))
        yield address, process


@asynccontextmanager
async def detection(session: Session) -> AsyncIterator[psutil.Process]:
    """Yield a detection that is ready; its JVM is a child of it."""
    write_atomically(session.home / "run.json", session.to_json())
    write_logins(session.home, "cep", login_of(session.services.kafka), None)
    os.environ["ARBITRAGE_HOME"] = str(session.home)
    with running(sys.executable, "-m", "launch.commands.main", "cep", log=session.home / "cep.log") as process:
        async with asyncio.timeout(START_SECONDS):
            await until_ready(session.home, ("cep",))
        yield process


async def write(session: Session, ticks: GeneratedTicks, rate: int, seconds: float) -> int:
    """Write quotes evenly; return how many."""
    prepared = [ticks.next(TIMELESS) for _ in range(int(rate * PREPARED_SECONDS))]
    there = [(quote.base, quote_row(quote).split(str(TIMELESS).encode())) for quote in prepared]
    there += there[::-1]
    writer, began, written, rates_at = TopicWriter(session.services.kafka), steady_now(), 0, 0
    rows = TickWriter(writer, session.bases, session.services.partitions)
    rows.settings(SETTINGS, wall_now())
    try:
        while (passed := steady_now() - began) < seconds * 1_000_000:
            if passed >= rates_at:
                rates_at += int(RATES_SECONDS * 1_000_000)
                for quote in ticks.rates(wall_now()):
                    rows.quote(quote)
            now = str(wall_now()).encode()
            for _ in range(rate * passed // 1_000_000 - written):
                base, (before, after) = there[written % len(there)]
                writer.write(TICKS, before + now + after, base, partition_of(base, session.services.partitions))
                written += 1
            await SystemClock().sleep(SLICE_SECONDS)
        await writer.flush()
    finally:
        await writer.close()
    return written


async def read(reader: TopicReader, measured: Measured) -> None:
    async for batch in reader.batches():
        now = wall_now()
        # one row of each batch: reading all would take the CPU that is measured
        ticks = [record for record in batch if record.topic == TICKS][:1]
        measured.rows += [(now - row_of(record.value)["received_time"]) / 1_000 for record in ticks]
        for record in batch:
            found = {OPPORTUNITIES: measured.opportunities, CYCLE_OPPORTUNITIES: measured.cycles}.get(record.topic)
            if found is not None and "event_time" in (row := row_of(record.value)):
                found.append((record.time - row["event_time"]) / 1_000)
        await SystemClock().sleep(0)


async def measure(session: Session, kafka: psutil.Process, rates: list[int], seconds: float, seed: int) -> None:
    watched = session.watched_cycles()
    topics = (TICKS, OPPORTUNITIES, *((CYCLE_OPPORTUNITIES,) if watched else ()))
    known = session_topics(has_regions=False, has_cycles=bool(watched))
    await ensure_topics(session.services.kafka, session.services.partitions, known)
    ticks = GeneratedTicks(seed)
    print(f"{len(watched)} cycles watched")
    print(f"{'quotes/s':>9}{'opportunities/s':>17}{'to the opportunity p50/p95/p99':>36}{'plain reader':>26}  cores")
    async with detection(session) as cep:
        parts = {"Spark": [cep, *cep.children(recursive=True)], "Kafka": [kafka]}
        await write(session, ticks, min(rates), WARM_UP_SECONDS)
        for rate in rates:
            measured, before = Measured(), used_by(parts)
            async with TopicReader(session.services.kafka, topics, "latest") as reader:
                reading = asyncio.create_task(read(reader, measured))
                written = await write(session, ticks, rate, seconds)
                reading.cancel()
            cores = {name: (used - before[name]) / seconds for name, used in used_by(parts).items()}
            _print(written / seconds, seconds, measured, cores)
    print("load average", *(f"{load:.2f}" for load in os.getloadavg()), f"on {os.cpu_count()} cores")


def _print(rate: float, seconds: float, measured: Measured, cores: dict[str, float]) -> None:
    taken = ", ".join(f"{name} {used:.2f}" for name, used in cores.items())
    ours, floor = (percentiles_text(one, 1) for one in (measured.opportunities, measured.rows))
    print(f"{rate:9,.0f}{len(measured.opportunities) / seconds:17,.1f}{ours:>36}{floor:>26}  {taken}")
    if measured.cycles:
        print(f"{'cycles':>9}{len(measured.cycles) / seconds:17,.1f}{percentiles_text(measured.cycles, 1):>36}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rates", default="1000,5000", help="quotes a second, one after the other")
    parser.add_argument("--seconds", type=float, default=60.0, help="for each rate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cycles", action="store_true", help="watch cycles of three legs over all markets, too")
    arguments = parser.parse_args()
    rates = [int(rate) for rate in arguments.rates.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "jars").symlink_to((home_folder() / "jars").resolve())
        with broker(home) as (address, kafka):
            session = Session("benchmark", "paper", home, Services(address, "", "benchmark"), markets(), "USD")
            if arguments.cycles:
                everywhere = frozenset(session.exchanges)
                session = replace(session, cycles=CycleTerms(3, everywhere, everywhere))
            asyncio.run(measure(session, kafka, rates, arguments.seconds, arguments.seed))


if __name__ == "__main__":
    main()
