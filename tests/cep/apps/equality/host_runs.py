"""Logs of apps in Kafka, what one kernel that is never cut makes of them, and what hosts wrote."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from pyspark.sql import SparkSession

from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.resident.kernel import PlacedApp
from launch.sessions.live_apps import Hosting
from runtime.backoff import retry_on
from runtime.clock import SystemClock
from streams.broker.embedded_broker import wait_ready
from streams.errors import StreamUnavailableError
from streams.message_format import row_of
from streams.records import Record
from streams.topic_admin import ensure_input_log, ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import APPS
from tests.cep.apps.equality.app_logs import PARTITIONS
from tests.cep.apps.hosts.test_hosts_agree import read_all
from tests.services import kafka_process

TIMEOUT_SECONDS = 600.0
FIRST: Mapping[tuple[str, int], int] = dict.fromkeys(((APPS, partition) for partition in range(PARTITIONS)), 0)

Result = TypeVar("Result")


@contextmanager
def patient_kafka(home: Path) -> Iterator[str]:
    """Return a broker with the product's topics; its start takes minutes if a soak test has little of the
    machine."""
    with kafka_process(home) as process:
        asyncio.run(_ready(process.address))
        yield process.address


async def _ready(address: str) -> None:
    await wait_ready(address, TIMEOUT_SECONDS)
    await patiently(lambda: ensure_topics(address, PARTITIONS))


@dataclass(frozen=True)
class Logged:
    """An app with its log as it stands in Kafka, and what one kernel that is never cut makes of it."""

    source: AppSource
    log: list[Record]

    @cached_property
    def rows(self) -> list[AppRow]:
        apps = {number: HostedApp(self.source, number) for number in range(PARTITIONS)}
        return [out for one in self.mine for out in apps[one.partition].take(one.offset, one.time, row_of(one.value))]

    @property
    def mine(self) -> list[Record]:
        """Without the partitions that an app does not have which reads no stream of the session."""
        return [one for one in self.log if self.source.is_keyed or one.partition == 0]


async def patiently(work: Callable[[], Awaitable[Result]]) -> Result:
    """Again if Kafka does not answer: it is killed, or has little of the machine."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        return await retry_on(work, (StreamUnavailableError,), lambda error: None)


async def with_input_log(kafka: str, topic: str) -> None:
    await patiently(lambda: ensure_input_log(kafka, topic, PARTITIONS))


async def all_rows(kafka: str, topic: str) -> list[Record]:
    return await patiently(lambda: read_all(kafka, topic))


async def write_logs(kafka: str, logs: Mapping[str, list[tuple[int, bytes]]]) -> None:
    """Write the logs. Rows of an attempt that failed are there twice, and all hosts read them so."""
    await patiently(lambda: _write_logs(kafka, logs))


async def _write_logs(kafka: str, logs: Mapping[str, list[tuple[int, bytes]]]) -> None:
    writer = TopicWriter(kafka)
    await writer.open()
    for topic, rows in logs.items():
        for partition, row in rows:
            writer.write(topic, row, partition=partition)
        await writer.flush()
    await writer.close()


async def logged(kafka: str, sources: Iterable[AppSource]) -> list[Logged]:
    logs: dict[str, list[Record]] = {}
    for source in sources:
        if source.topic not in logs:
            logs[source.topic] = await all_rows(kafka, source.topic)
    return [Logged(one, logs[one.topic]) for one in sources]


async def collected(kafka: str, wanted: set[bytes], after: Mapping[tuple[str, int], int]) -> set[bytes]:
    """All rows of the topic `apps` from there until the wanted ones have come, and what else has by then."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            found = {one.value for one in await all_rows(kafka, APPS) if one.offset >= after[one.position]}
            if wanted <= found:
                return found
            await SystemClock().sleep(1.0)


async def ends(kafka: str) -> dict[tuple[str, int], int]:
    last = dict.fromkeys(((APPS, partition) for partition in range(PARTITIONS)), 0)
    for one in await all_rows(kafka, APPS):
        last[one.position] = one.offset + 1
    return last


def placed(sources: Iterable[AppSource], folder: Path) -> tuple[PlacedApp, ...]:
    return tuple(
        PlacedApp(
            one,
            folder / one.label,
            {(one.topic, number): 0 for number in range(PARTITIONS) if one.is_keyed or number == 0},
        )
        for one in sources
    )


def differing(found: set[bytes], wanted: set[bytes]) -> dict[str, tuple[int, int]]:
    """App → how many rows are missing, and how many are there that nobody wants."""
    apps = sorted({str(row_of(one)["app"]) for one in found ^ wanted})
    return {
        app: tuple(sum(row_of(one)["app"] == app for one in few) for few in (wanted - found, found - wanted))
        for app in apps
    }


@contextmanager
def structured(spark: SparkSession, kafka: str, sources: Iterable[AppSource], folder: Path) -> Iterator[None]:
    """All that ask for it, at one time."""
    hosts = tuple(Hosting(placed(sources, folder), kafka).hosts(spark, lambda source, problem: None))
    for host in hosts:
        host.start()
    try:
        yield
    finally:
        for host in hosts:
            host.stop()
    assert [host.problems for host in hosts] == [{} for _ in hosts]
