"""Many published stream apps: memory, CPU, how late their rows are, and how long the list of them takes.

`python -m benchmarks.published_apps [--quiet 180] [--busy 20] [--rate 200] [--seconds 60]`: without trading, over a
made-up log with that many quotes a second, on a Kafka, MongoDB and dashboard of its own. Quiet apps are those of
`benchmarks.quiet_apps`; a busy one has a mean by market over a second and gives a row for each quote. A row's latency
is from its quote's receipt to Kafka's own time of the row. Memory that processes share is counted once (PSS).

`python -m benchmarks.published_apps --beside [--turns 3] [--apps 10]`: beside the running session (`arbitrage paper`),
without and with apps in turn: how late opportunities are (from the newest quote's receipt), cores and PSS of all parts.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import signal
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import psutil

from benchmarks.generated_ticks import markets
from benchmarks.percentiles import percentiles_text
from benchmarks.processes import cpu_seconds
from benchmarks.quiet_apps import MEGABYTE, TEXTS, write_quotes
from launch.setup.data_dir import write_atomically
from launch.setup.login_files import running_session
from launch.setup.login_rights import SUPERVISOR
from launch.supervisor.forks import Template
from launch.supervisor.process_groups import group_members, signal_group
from launch.supervisor.process_plan import APPS as PART
from launch.supervisor.process_plan import own_processes
from runtime.clock import SystemClock, steady_now
from session.session import Services, Session
from store.mongo.store import open_store
from store.ports.apps import StoredApps
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topics import APPS, OPPORTUNITIES, TICKS
from tests.services import embedded_kafka, embedded_mongodb, note_session
from tests.store.reservation_requests import open_books
from tests.ui.samples import SETTINGS
from tests.ui.serving import Served, served

BUSY_TEXT = """partition with (exchange of quotes) begin
from quotes#window.time(1 sec) select symbol, received_time, avg(bid) as mean, {} as number group by symbol
insert into Means;
end;
"""
BUSY = "busy"
LIST_READS = 20
PATIENCE_SECONDS = 600.0
LOOK_SECONDS = 0.2
WHO = "benchmark"


def quiet(count: int) -> dict[str, str]:
    return {f"quiet-{number}": TEXTS[number % len(TEXTS)].format(3 + number) for number in range(count)}


def busy(count: int) -> dict[str, str]:
    return {f"{BUSY}-{number}": BUSY_TEXT.format(number) for number in range(count)}


async def publish(apps: StoredApps, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        if await apps.app(name) is None:
            await apps.create(name, text, WHO)
        await apps.order(name, "published", WHO)


async def until_all(apps: StoredApps, names: Iterable[str], session: Session, state: str) -> float:
    """Wait until all apps are in that state; return after how many seconds they were."""
    wanted, began = set(names), steady_now()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            found = {one.name: one.state_in(session.session_id) for one in await apps.apps() if one.name in wanted}
            failed = {name: reason for name, (known, reason) in found.items() if known == "failed"}
            if failed:
                raise SystemExit(f"apps failed: {failed}")
            if all(known == state for known, _ in found.values()):
                return (steady_now() - began) / 1_000_000
            await SystemClock().sleep(LOOK_SECONDS)


@contextmanager
def made_up_session(stack: ExitStack) -> Iterator[Session]:
    """Yield a session without trading."""
    home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    kafka = stack.enter_context(embedded_kafka(home / "kafka-home"))
    mongodb = stack.enter_context(embedded_mongodb(home / "mongodb-home"))
    (home / "logs").mkdir()
    services = Services(kafka.address, mongodb.address, "benchmark")
    session = Session("benchmark", "paper", home, services, markets(), "USD")
    asyncio.run(ensure_topics(kafka.address, session.services.partitions))
    asyncio.run(open_store_of(session))
    note_session(session)
    yield session


async def open_store_of(session: Session) -> None:
    """Lay out the database, with settings and balances: the dashboard reads them."""
    async with await open_store(session) as store:
        await open_books(store, SETTINGS)


@asynccontextmanager
async def part_of(session: Session) -> AsyncIterator[int]:
    """Yield the process group of the part that runs published apps, forked as by a session's supervisor."""
    (part,) = (one for one in own_processes(session, (), fed=True) if one.name == PART)
    template = Template(session.home)
    template.start()
    try:
        child = await template.start_part(part, session.home / "logs" / "apps.log")
        try:
            yield child.pid
        finally:
            signal_group(child.pid, signal.SIGKILL)
            child.wait()
    finally:
        template.stop()


def memory_of(processes: Iterable[psutil.Process]) -> float:
    """Return their PSS in MB; of a process that has ended none."""
    total = 0
    for one in processes:
        try:
            total += one.memory_full_info().pss
        except psutil.NoSuchProcess:
            continue
    return total / MEGABYTE


def used_by(processes: Sequence[psutil.Process]) -> float:
    return sum(cpu_seconds(one) for one in processes if one.is_running())


async def latencies(reader: TopicReader, seconds: float) -> list[float]:
    """Return the latencies of busy apps' rows that come within `seconds`, milliseconds."""
    found: list[float] = []
    with_end = steady_now() + int(seconds * 1_000_000)
    async for batch in reader.batches():
        rows = [one for one in batch if one.key is not None and one.key.startswith(BUSY)]
        # one in ten: reading all would take the CPU that is measured
        found += [(one.time - row_of(one.value)["values"]["received_time"]) / 1_000 for one in rows[::10]]
        if steady_now() > with_end:
            break
    return found


async def list_seconds(dashboard: Served) -> list[float]:
    """Return how long `GET /api/apps` takes, each time."""
    took: list[float] = []
    async with httpx.AsyncClient(timeout=60) as client:
        for _ in range(LIST_READS):
            began = time.perf_counter()
            (await client.get(f"http://{dashboard.address}/api/apps")).raise_for_status()
            took.append(time.perf_counter() - began)
    return took


async def begin_log(session: Session) -> None:
    """Let apps begin at the log's end: what they would have to catch up with is not measured."""
    async with TopicReader(session.services.kafka, (TICKS,), "latest") as reader:
        ends = await reader.end_offsets()
    opening = session.home / "checkpoints" / session.session_id / "made-up" / "opening.json"
    offsets = {str(partition): end for (_, partition), end in ends.items()}
    write_atomically(opening, json.dumps({"offsets": offsets, "settings": None}).encode())


async def alone(session: Session, arguments: argparse.Namespace) -> None:
    texts = quiet(arguments.quiet) | busy(arguments.busy)
    async with part_of(session) as group, await open_store(session) as store:
        await begin_log(session)
        await publish(store.apps, texts)
        took = await until_all(store.apps, texts, session, "running")
        print(f"{len(texts)} apps ran {took:.1f} s after they were ordered")
        await SystemClock().sleep(arguments.settle)
        processes = group_members(group)
        async with TopicReader(session.services.kafka, (APPS,), "latest") as reader:
            before, began = used_by(processes), steady_now()
            found = await latencies(reader, arguments.seconds)
            cores = (used_by(processes) - before) / ((steady_now() - began) / 1_000_000)
        print(f"{len(processes)} processes: {memory_of(processes):,.0f} MB PSS, {cores:.2f} cores")
        print(f"rows of the busy ones, p50 / p95 / p99: {percentiles_text(found, 0)} ms ({len(found):,} looked at)")
        with served(session) as dashboard:
            times = await list_seconds(dashboard)
        print(f"GET /api/apps: median {statistics.median(times):.2f} s, slowest {max(times):.2f} s")


def parts_of_session(home: Path) -> list[psutil.Process]:
    groups = json.loads((home / "processes.json").read_text())
    return [process for group, _ in groups.values() for process in group_members(group)]


async def turn(session: Session, seconds: float) -> tuple[list[float], float, float]:
    """Return how late opportunities were, the cores of all parts, and their PSS in MB."""
    late, processes = list[float](), parts_of_session(session.home)
    before, began = used_by(processes), steady_now()
    async with TopicReader(session.services.kafka, (OPPORTUNITIES,), "latest", max_wait=0.1) as reader:
        async for record in reader.records():
            row = row_of(record.value)
            if row["kind"] == "opportunity":
                late.append((record.time - row["event_time"]) / 1_000)
            if steady_now() - began > seconds * 1_000_000:
                break
    cores = (used_by(processes) - before) / ((steady_now() - began) / 1_000_000)
    return late, cores, memory_of(processes)


async def beside(session: Session, arguments: argparse.Namespace) -> None:
    texts = quiet(arguments.apps)
    print(f"{'apps':>6}{'opportunities':>15}{'late p50 / p95 / p99, ms':>28}{'cores':>8}{'PSS, MB':>10}")
    async with await open_store(session) as store:
        try:
            for number in range(2 * arguments.turns):
                runs = number % 2 == 1
                if runs:
                    await publish(store.apps, texts)
                    await until_all(store.apps, texts, session, "running")
                elif number:
                    await stop(store.apps, texts, session)
                await SystemClock().sleep(arguments.settle)
                late, cores, memory = await turn(session, arguments.seconds)
                count = len(texts) if runs else 0
                print(f"{count:>6}{len(late):>15,}{percentiles_text(late, 1):>28}{cores:>8.2f}{memory:>10,.0f}")
        finally:
            await stop(store.apps, texts, session)


async def stop(apps: StoredApps, names: Iterable[str], session: Session) -> None:
    stopped = [name for name in names if await apps.order(name, "stopped", WHO) is not None]
    await until_all(apps, stopped, session, "stopped")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quiet", type=int, default=180)
    parser.add_argument("--busy", type=int, default=20)
    parser.add_argument("--rate", type=int, default=200, help="quotes a second of the made-up log")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each look")
    parser.add_argument("--settle", type=float, default=20.0, help="before each look")
    parser.add_argument("--beside", action="store_true", help="beside the running session")
    parser.add_argument("--apps", type=int, default=10, help="with --beside")
    parser.add_argument("--turns", type=int, default=3, help="with --beside: looks without and with apps")
    arguments = parser.parse_args()
    if arguments.beside:
        asyncio.run(beside(running_session(SUPERVISOR), arguments))
    else:
        with ExitStack() as stack:
            session = stack.enter_context(made_up_session(stack))
            writing = (session.home, arguments.rate)
            quotes = multiprocessing.get_context("spawn").Process(target=write_quotes, args=writing, daemon=True)
            quotes.start()
            try:
                asyncio.run(alone(session, arguments))
            finally:
                quotes.terminate()
                quotes.join()
    print(f"load average {' '.join(f'{one:.1f}' for one in os.getloadavg())} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
