"""An app gives the same rows with the same ids in every host: with workers killed, and over the recording."""

import asyncio
import signal
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from backtest.apps.app_replay import replayed
from backtest.apps.recorded_messages import recorded_ticks
from backtest.verify.recorded_session import RecordedSession, SessionHead
from cep.hosts.app_messages import app_message
from cep.hosts.hosted_app import HostedApp
from cep.hosts.resident_app import ResidentApp, resident_master
from cep.hosts.resident_task import ResidentTask
from cep.hosts.worker_files import noted_workers
from datasets.ticksets.log_parts import LogParts
from datasets.ticksets.log_tick_set import LogSpan, build_tick_set
from launch.sessions.live_app import SPARK
from launch.supervisor.spark_command import quiet_session
from session.clock import SystemClock
from session.session import Session
from streams.message_format import row_of
from streams.records import Record
from streams.topic_admin import ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import APPS, TICKS, bases_by_partition
from tests.cep.hosts.quote_app import source
from tests.cep.logs import BASES, LogMaker
from tests.cep.logs import session as session_of
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
PARTITIONS = 2
PART = 700
"""Rows between two kills."""
TIMEOUT_SECONDS = 120.0


@pytest.fixture
def own_kafka(tmp_path: Path) -> Iterator[str]:
    """The topics' names are fixed, so each test has a broker of its own."""
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


async def run_with_kills(session: Session, app: ResidentApp, log: list[tuple[int, bytes]], kills: int) -> None:
    """Writes the log, and kills every worker of the app in the middle of it, several times."""
    writer, clock = TopicWriter(session.kafka), SystemClock()
    await writer.open()
    app.start()
    killed: set[int] = set()
    for begin in range(0, len(log), PART):
        for partition, row in log[begin : begin + PART]:
            writer.write(TICKS, row, partition=partition)
        await writer.flush()
        if len(killed) >= kills * PARTITIONS:
            continue
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while (
                len(alive := [one for one in noted_workers(app.folder).values() if one.pid not in killed]) < PARTITIONS
            ):
                await clock.sleep(0.05)
        for worker in alive:
            worker.send_signal(signal.SIGKILL)
            killed.add(worker.pid)
    await writer.close()
    assert len(killed) == kills * PARTITIONS


def expected_rows(log: list[Record]) -> set[bytes]:
    """By one kernel a partition that was never cut."""
    apps = {partition: HostedApp(source(), partition) for partition in range(PARTITIONS)}
    return {
        app_message(out)
        for record in log
        for out in apps[record.partition].take(record.offset, record.time, row_of(record.value))
    }


def recorded(folder: Path, session: Session, log: list[Record]) -> RecordedSession:
    """The log as `--record` keeps it."""
    parts = LogParts(folder / "raw")
    parts.write(TICKS, log)
    ends = {str(row["base"]): one.offset for one in log if (row := row_of(one.value))["kind"] == "end"}
    first = dict.fromkeys(range(PARTITIONS), 0)
    span = LogSpan(session.session_id, session.markets, "USD", PARTITIONS, first, None, ends, 0)
    build_tick_set(parts, span, folder / "ticks")
    return RecordedSession(folder, SessionHead("paper", span))


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.soak)])
def test_resident_with_kills_and_batch_give_what_one_kernel_gives(own_kafka: str, tmp_path: Path, kills: int) -> None:
    session = replace(session_of(tmp_path, own_kafka), partitions=PARTITIONS)
    maker = LogMaker(11)
    maker.write((kills + 3) * PART)
    rows = list(rows_by_partition(maker.end()))
    first = dict.fromkeys(((TICKS, partition) for partition in range(PARTITIONS)), 0)
    task = ResidentTask(source(), own_kafka, tmp_path / "app", first)
    with quiet_session(tmp_path, resident_master(PARTITIONS), SPARK) as spark:
        app = ResidentApp(spark, task)
        try:
            asyncio.run(run_with_kills(session, app, rows, kills))
            log = asyncio.run(read_all(own_kafka, TICKS))
            wanted = expected_rows(log)
            written = asyncio.run(_collected(own_kafka, wanted))
        finally:
            app.stop()
    assert app.ended.is_set()
    assert app.problems == []
    assert noted_workers(app.folder) == {}
    assert len(wanted) > 100
    # none is lost, none is different; what was repeated is equal in all, its id included
    assert set(written) == wanted

    session_log = recorded(tmp_path / "log", session, log)
    partitions = recorded_ticks(session_log.tick_set(), session_log)
    assert {message for partition in partitions for message in replayed(source(), partition)} == wanted


async def _collected(kafka: str, wanted: set[bytes]) -> list[bytes]:
    return [value async for value in until_written(kafka, wanted)]
