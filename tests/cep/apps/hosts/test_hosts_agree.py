"""Apps give the same rows with the same ids in every host: alone or in one process, with workers killed, and over the
recording."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from backtest.apps.recorded_messages import recorded_ticks
from backtest.apps.replay import replayed
from backtest.verify.recorded_session import RecordedSession, SessionHead
from cep.apps.hosts.app_messages import app_message
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.apps.resident.apps import ResidentApps, resident_master
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.task import ResidentTask
from cep.apps.resident.worker_files import noted_workers
from cep.apps.resident.worker_progress import worker_progress
from launch.sessions.live_apps import SPARK
from launch.supervisor.spark_command import quiet_session
from runtime.clock import SystemClock
from session.session import Session
from streams.message_format import row_of
from streams.records import Record
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS, bases_by_partition
from tests.cep.apps.hosts.quote_app import other_source, source
from tests.cep.logs import BASES, LogMaker
from tests.cep.logs import session as session_of
from tests.services import embedded_kafka
from tick_sets.sets.log_parts import LogParts
from tick_sets.sets.log_tick_set import LogSpan, build_tick_set

pytestmark = pytest.mark.slow
PARTITIONS = 2
PART = 700
"""Rows between two kills."""
TIMEOUT_SECONDS = 120.0


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[str]:
    """Start a broker for each test, since the topics' names are fixed."""
    with embedded_kafka(tmp_path / "kafka") as process:
        asyncio.run(ensure_topics(process.address, PARTITIONS))
        yield process.address


def rows_by_partition(rows: list[bytes]) -> Iterator[tuple[int, bytes]]:
    """As the feeds write them: what is for several bases once for each partition that has some of them."""
    of_partitions = bases_by_partition(BASES, PARTITIONS)
    for row in rows:
        read = row_of(row)
        for partition, bases in of_partitions.items():
            mine = tuple(base for base in read.get("bases") or [read["base"]] if base in bases)
            if not mine:
                continue
            named = b'"bases":[' + b",".join(b'"%s"' % base.encode() for base in mine) + b"]"
            before, mark, after = row.partition(b'"bases":[')
            yield partition, row if not mark else before + named + after.partition(b"]")[2]


async def read_all(kafka: str, topic: str) -> list[Record]:
    async with TopicReader(kafka, (topic,), "earliest") as reader:
        return [record async for record in reader.records_to_end()]


async def until_written(kafka: str, wanted: set[bytes]) -> AsyncIterator[bytes]:
    """Rows of the topic `apps` until all of the wanted ones have come."""
    missing = set(wanted)
    async with asyncio.timeout(TIMEOUT_SECONDS), TopicReader(kafka, (APPS,), "earliest") as reader:
        async for record in reader.records():
            missing.discard(record.value)
            yield record.value
            if not missing:
                return


@contextmanager
def running(spark: SparkSession, task: ResidentTask) -> Iterator[None]:
    """Its apps; none of them ends by itself."""
    apps = ResidentApps(spark, task)
    try:
        apps.start()
        yield
    finally:
        apps.stop()
    assert apps.ended.is_set()
    assert apps.problems == {}
    assert noted_workers(task.folder) == {}


async def run_with_kills(kafka: str, folder: Path, log: list[tuple[int, bytes]], kills: int) -> None:
    """Write the log, and kill every worker in the middle of it, several times."""
    writer, chosen = TopicWriter(kafka), random.Random(3)
    await writer.open()
    killed: set[int] = set()
    for begin in range(0, len(log), PART):
        wanted = {one: rows_begun(folder, one) + chosen.randint(1, PART // PARTITIONS) for one in range(PARTITIONS)}
        for partition, row in log[begin : begin + PART]:
            writer.write(TICKS, row, partition=partition)
        await writer.flush()
        if len(killed) >= kills * PARTITIONS:
            continue
        killed |= set(await asyncio.gather(*(kill_in_a_row(folder, *one, killed) for one in wanted.items())))
    await writer.close()
    assert len(killed) == kills * PARTITIONS


def rows_begun(folder: Path, partition: int) -> int:
    progress = worker_progress(folder, partition)
    return 0 if progress is None else progress.rows


async def kill_in_a_row(folder: Path, partition: int, rows: int, killed: Collection[int]) -> int:
    """Kills a process that was not killed yet, once so many rows of its apps were begun."""
    clock = SystemClock()
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while True:
            worker = noted_workers(folder).get(partition)
            if worker is not None and worker.pid not in killed and rows_begun(folder, partition) >= rows:
                worker.send_signal(signal.SIGKILL)
                return worker.pid
            await clock.sleep(0.01)


def expected_rows(log: list[Record], sources: Sequence[AppSource]) -> set[bytes]:
    """By one kernel for each app and partition, that was never cut."""
    apps = {
        (source.label, partition): HostedApp(source, partition) for source in sources for partition in range(PARTITIONS)
    }
    return {
        app_message(out)
        for source in sources
        for record in log
        for out in apps[source.label, record.partition].take(record.offset, record.time, row_of(record.value))
    }


def recorded(folder: Path, session: Session, log: list[Record]) -> RecordedSession:
    """Return the log as `--record` keeps it."""
    parts = LogParts(folder / "raw")
    parts.write(TICKS, log)
    ends = {str(row["base"]): one.offset for one in log if (row := row_of(one.value))["kind"] == "end"}
    first = dict.fromkeys(range(PARTITIONS), 0)
    span = LogSpan(session.session_id, session.markets, "USD", PARTITIONS, first, None, ends, 0)
    build_tick_set(parts, span, folder / "ticks")
    return RecordedSession(folder, SessionHead("paper", span))


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_resident_with_kills_and_batch_give_what_one_kernel_gives(own_kafka: str, tmp_path: Path, kills: int) -> None:
    made = session_of(tmp_path, own_kafka)
    session = replace(
        made,
        services=replace(made.services, partitions=PARTITIONS),
    )
    maker = LogMaker(11)
    maker.write((kills + 3) * PART)
    rows = list(rows_by_partition(maker.end()))
    first = dict.fromkeys(((TICKS, partition) for partition in range(PARTITIONS)), 0)
    sources = (source(), other_source(1), other_source(2), other_source(3))
    placed = tuple(PlacedApp(one, tmp_path / one.label, first) for one in sources)
    together = ResidentTask(placed[:3], own_kafka)
    # one is new in the second run: it begins where the others went on long ago
    later = ResidentTask((placed[3], *placed[:2]), own_kafka)
    with quiet_session(tmp_path, resident_master(PARTITIONS), SPARK) as spark:
        with running(spark, together):
            asyncio.run(run_with_kills(own_kafka, together.folder, rows, kills))
            log = asyncio.run(read_all(own_kafka, TICKS))
            wanted, of_last = expected_rows(log, sources[:3]), expected_rows(log, sources[3:])
            written = asyncio.run(_collected(own_kafka, wanted))
        with running(spark, later):
            written_again = asyncio.run(_collected(own_kafka, of_last))
    assert len(wanted) > 100
    assert len(of_last) > 20
    # none is lost, none is different; what was repeated is equal in all, its id included
    assert set(written) == wanted
    assert set(written_again) == wanted | of_last

    session_log = recorded(tmp_path / "log", session, log)
    partitions = recorded_ticks(session_log.tick_set(), session_log)
    replayed_rows = {message for one in sources for partition in partitions for message in replayed(one, partition)}
    assert replayed_rows == wanted | of_last


async def _collected(kafka: str, wanted: set[bytes]) -> list[bytes]:
    return [value async for value in until_written(kafka, wanted)]
