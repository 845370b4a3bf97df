"""Apps on two partitions whose worker, driver JVM and Kafka are killed amid their rows, twenty times: no row is lost,
none is different, and what is there twice has one id."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Literal

import psutil
import pytest

from cep.apps.hosts.app_messages import app_message
from cep.apps.resident.apps import resident_master
from cep.apps.resident.worker_progress import worker_progress
from launch.sessions.live_apps import Hosting
from launch.setup.data_dir import home_folder
from launch.supervisor.spark_command import quiet_session
from runtime.clock import SystemClock
from streams.broker.embedded_broker import wait_ready
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topics import TICKS
from tests.cep.apps.equality.app_logs import PARTITIONS, all_sources, input_rows
from tests.cep.apps.equality.host_runs import all_rows, differing, logged, patiently, placed, with_input_log, write_logs
from tests.cep.apps.hosts.test_hosts_agree import rows_by_partition
from tests.cep.logs import LogMaker
from tests.service_process import ServiceProcess
from tests.services import kafka_process

pytestmark = pytest.mark.soak
Victim = Literal["worker", "driver", "kafka"]
VICTIMS: tuple[Victim, ...] = ("worker",) * 8 + ("driver",) * 6 + ("kafka",) * 6
PART = 300
"""Rows of each log between two kills."""
TIMEOUT_SECONDS = 600.0
RESIDENT = ("exchanges", "stale-feed", "bars", "regional-average", "moving-average", "joined", "taken", "booked")
STRUCTURED = ("by-exchange", "by-base")


def drive(home: Path, hosting: Hosting, stop: Event) -> None:
    """Do what `arbitrage app run` does with Spark, until it is asked to stop or its JVM is gone."""
    with quiet_session(home, resident_master(hosting.tasks), hosting.settings) as spark:
        hosts = tuple(hosting.hosts(spark, lambda source, problem: None))
        for host in hosts:
            host.start()
        while not stop.wait(0.2) and not all(host.ended.is_set() for host in hosts):
            pass
        for host in hosts:
            host.stop()


@dataclass(slots=True)
class Running:
    """The driver's process, and what it runs on."""

    home: Path
    kafka: ServiceProcess
    hosting: Hosting
    _driver: SpawnProcess | None = None
    _stop: Event = field(default_factory=lambda: get_context("spawn").Event())

    def start(self) -> None:
        self._driver = get_context("spawn").Process(target=drive, args=(self.home, self.hosting, self._stop))
        self._driver.start()

    def stop(self) -> None:
        self._stop.set()
        if self._driver is not None:
            self._driver.join(TIMEOUT_SECONDS)
            assert self._driver.exitcode is not None
            self._driver = None

    def processes(self) -> list[psutil.Process]:
        """Return the driver's processes: the JVM and Python's."""
        assert self._driver is not None
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self._driver.pid).children(recursive=True)
        return []

    def victims(self, kind: Victim) -> list[psutil.Process]:
        """Workers are those of Python below its daemon."""
        found = []
        for one in self.processes():
            with suppress(psutil.NoSuchProcess):
                is_java = one.name() == "java"
                parent = one.parent()
                is_worker = not is_java and parent is not None and "pyspark.daemon" in " ".join(parent.cmdline())
                if is_java if kind == "driver" else is_worker:
                    found.append(one)
        return found

    async def kill(self, kind: Victim, chance: random.Random) -> None:
        """And starts what nobody else starts."""
        if kind == "kafka":
            self.kafka.kill()
            self.kafka.start()
            await wait_ready(self.kafka.address, TIMEOUT_SECONDS)
            return
        chosen = await self._one_of(kind, chance)
        chosen.send_signal(signal.SIGKILL)
        if kind == "driver":
            assert self._driver is not None
            await asyncio.to_thread(self._driver.join, TIMEOUT_SECONDS)
            assert self._driver.exitcode is not None, "the driver does not notice that its JVM is gone"
            self.start()

    async def _one_of(self, kind: Victim, chance: random.Random) -> psutil.Process:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while not (found := self.victims(kind)):
                await SystemClock().sleep(0.01)
        return chance.choice(found)


@contextmanager
def running(home: Path, kafka: ServiceProcess, hosting: Hosting) -> Iterator[Running]:
    one = Running(home, kafka, hosting)
    one.start()
    try:
        yield one
    finally:
        one.stop()


def rows_begun(hosting: Hosting) -> int:
    """By the resident host's notes."""
    resident = hosting.resident
    assert resident is not None
    found = [worker_progress(resident.folder, number) for number in range(PARTITIONS)]
    return sum(one.rows for one in found if one is not None)


def batches_begun(hosting: Hosting) -> int:
    """By the structured host's checkpoints."""
    return sum(
        1 for one in hosting.structured for path in (one.checkpoint / "offsets").glob("*") if path.name.isdecimal()
    )


async def until_more(count: Callable[[], int], before: int, wanted: int) -> None:
    """Until so many more are begun than `before`; whoever starts again counts from 0."""
    seen, last = 0, before
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            now = count()
            seen, last = seen + (now - last if now >= last else now), now
            if seen >= wanted:
                return
            await SystemClock().sleep(0.005)


@pytest.mark.parametrize(
    ("names", "count", "most"),
    [(RESIDENT, rows_begun, PART), (STRUCTURED, batches_begun, 1)],
    ids=["resident", "structured"],
)
async def test_nothing_is_lost_and_nothing_is_different(
    tmp_path: Path, names: tuple[str, ...], count: Callable[[Hosting], int], most: int
) -> None:
    (tmp_path / "jars").symlink_to(home_folder() / "jars")
    chance = random.Random(f"{names}")
    known = all_sources()
    sources = tuple(known[name] for name in names)
    order = chance.sample(VICTIMS, len(VICTIMS))
    with kafka_process(tmp_path / "kafka") as kafka:
        await wait_ready(kafka.address, TIMEOUT_SECONDS)
        await patiently(lambda: ensure_topics(kafka.address, PARTITIONS))
        logs = _logs(len(VICTIMS) + 1)
        for source in sources:
            if source.is_merged:
                await with_input_log(kafka.address, source.topic)
                logs[source.topic] = list(input_rows(source, 5, PART * (len(VICTIMS) + 1) // PARTITIONS))
        hosting = Hosting(placed(sources, tmp_path / "apps"), kafka.address)
        with running(tmp_path, kafka, hosting) as one:
            for number, kind in enumerate(order):
                before = count(hosting)
                await write_logs(kafka.address, _part(logs, number))
                await until_more(lambda: count(hosting), before, chance.randint(1, most))
                await one.kill(kind, chance)
            await write_logs(kafka.address, _part(logs, len(order)))
            of_apps = await logged(kafka.address, sources)
            wanted = {app_message(row) for each in of_apps for row in each.rows}
            await _until_there(kafka.address, wanted)
        written = [record.value for record in await all_rows(kafka.address, "apps")]
    assert len(wanted) > 500
    assert {row_of(message)["app"] for message in wanted} == set(names)
    assert differing(set(written), wanted) == {}
    ids = Counter(str(row_of(message)["id"]) for message in set(written))
    assert set(ids.values()) == {1}
    # so much was done again
    print(f"{len(order)} kills, {len(wanted)} rows, {len(written) - len(wanted)} repeated")  # noqa: T201


def _logs(parts: int) -> dict[str, list[tuple[int, bytes]]]:
    maker = LogMaker(29)
    maker.write(parts * PART)
    return {TICKS: list(rows_by_partition(maker.end()))}


def _part(logs: dict[str, list[tuple[int, bytes]]], number: int) -> dict[str, list[tuple[int, bytes]]]:
    """Return a part of the logs; the last one has the rest."""
    is_last = number == len(VICTIMS)
    return {topic: rows[number * PART : None if is_last else (number + 1) * PART] for topic, rows in logs.items()}


async def _until_there(kafka: str, wanted: set[bytes]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while not wanted <= {record.value for record in await all_rows(kafka, "apps")}:
            await SystemClock().sleep(0.5)
