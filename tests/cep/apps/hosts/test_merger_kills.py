"""Whoever writes an app's input log is killed in the middle and started again, on a real Kafka: no row is lost, none is
there twice, and their order is kept."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import pytest

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_log import SourceRow, record_row
from cep.apps.hosts.input_merger import InputMerger
from cep.apps.hosts.product_streams import read_streams
from cep.apps.hosts.row_merge import by_time
from runtime.clock import SystemClock, wall_now
from streams.latest_rows import LatestRows
from streams.message_format import row_of
from streams.records import Position, Record
from streams.topic_admin import ensure_input_log, ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import HEALTH, OPPORTUNITIES, TICKS
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
PARTITIONS = 2
BASES = ("BTC", "ETH")
"""One a partition."""
ROUNDS, PART = 4, 20_000
BETWEEN_KILLS = 2_000
"""Rows of the log."""
TIMEOUT_SECONDS = 120.0
SOURCE = AppSource(
    "merged",
    """from quotes as q join opportunities#window.length(1) as o on q.base == o.base
    select q.base as base, q.bid as bid, o.net_bps as net_bps insert into Met;
    from health select query insert into Queries;""",
)
FIRST: dict[Position, int] = {(HEALTH, 0): 0} | {
    (topic, partition): 0 for topic in (TICKS, OPPORTUNITIES) for partition in range(PARTITIONS)
}


@pytest.fixture
def kafka_with_topics(tmp_path: Path) -> Iterator[str]:
    with embedded_kafka(tmp_path / "kafka") as process:
        asyncio.run(ensure_topics(process.address, PARTITIONS))
        asyncio.run(ensure_input_log(process.address, SOURCE.topic, PARTITIONS))
        yield process.address


def merge_until_killed(kafka: str) -> None:
    asyncio.run(InputMerger(SOURCE, "s", kafka, PARTITIONS, FIRST).run())


@contextmanager
def merging(kafka: str) -> Iterator[None]:
    """Killed at its end."""
    process = get_context("spawn").Process(target=merge_until_killed, args=(kafka,))
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


async def write_part(writer: TopicWriter) -> None:
    """Quotes, a probe each hundred, an opportunity each tenth, a query's progress each thousandth."""
    for number in range(PART):
        partition = number % PARTITIONS
        row = {"base": BASES[partition], "exchange": "alpha", "bid": "1.5", "received_time": wall_now()}
        tick = row | {"kind": "probe" if number % 100 == 0 else "quote"}
        writer.write(TICKS, json.dumps(tick).encode(), partition=partition)
        if number % 10 < PARTITIONS:
            found = {"kind": "opportunity", "base": BASES[partition], "opportunity_id": str(number)}
            writer.write(OPPORTUNITIES, json.dumps(found).encode(), partition=partition)
        if number % 1_000 == 0:
            writer.write(HEALTH, b'{"kind": "query", "query": "detection"}', partition=0)
    await writer.flush()


async def read_all(kafka: str, topic: str) -> list[Record]:
    async with TopicReader(kafka, (topic,), "earliest") as reader:
        return [record async for record in reader.records_to_end()]


async def until_written(log: LatestRows, count: int) -> int:
    """Until the input log has so many rows; how many it has then."""
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (there := sum((await log.ends()).values())) < count:
            await SystemClock().sleep(0.01)
    return there


async def wanted_rows(kafka: str) -> dict[int, list[list[SourceRow]]]:
    """Partition → the rows of each topic that belong there."""
    found: dict[int, list[list[SourceRow]]] = {partition: [] for partition in range(PARTITIONS)}
    for topic in SOURCE.sources:
        records = await read_all(kafka, topic)
        for partition, topics in found.items():
            mine = [record for record in records if topic == HEALTH or record.partition == partition]
            topics.append([row for one in mine if (row := record_row(one, read_streams(SOURCE.app))) is not None])
    return found


def places(rows: list[SourceRow]) -> list[tuple[str, int]]:
    return [(row.topic, row.offset) for row in rows]


async def written(kafka: str) -> dict[int, list[tuple[str, int]]]:
    found: dict[int, list[tuple[str, int]]] = {partition: [] for partition in range(PARTITIONS)}
    for record in await read_all(kafka, SOURCE.topic):
        row = row_of(record.value)
        found[record.partition].append((row["topic"], row["offset"]))
    return found


def count(wanted: dict[int, list[list[SourceRow]]]) -> int:
    return sum(len(rows) for topics in wanted.values() for rows in topics)


async def kill_and_start(kafka: str, old: int) -> None:
    """Kills the writer of the log again and again, while `old` rows are written if it does not outrun the kills; the
    last one is killed at the end of all there is."""
    log, writer, there = LatestRows(kafka, SOURCE.topic), TopicWriter(kafka), 0
    await log.open()
    await writer.open()
    for _ in range(ROUNDS):
        with merging(kafka):
            there = await until_written(log, min(old, there + BETWEEN_KILLS))
    with merging(kafka):
        # rows that come while it writes
        await write_part(writer)
        await until_written(log, count(await wanted_rows(kafka)))
    await writer.close()
    await log.close()


async def test_killed_in_the_middle_and_started_again_it_loses_and_repeats_nothing(kafka_with_topics: str) -> None:
    kafka = kafka_with_topics
    writer = TopicWriter(kafka)
    await writer.open()
    await write_part(writer)
    await writer.close()
    old = await wanted_rows(kafka)
    await kill_and_start(kafka, count(old))
    wanted, got = await wanted_rows(kafka), await written(kafka)
    for partition, topics in wanted.items():
        assert len(got[partition]) == len(set(got[partition])) == sum(map(len, topics))
        for topic, rows in zip(SOURCE.sources, topics, strict=True):
            assert [one for one in got[partition] if one[0] == topic] == places(rows)
        # what was there before is in the order of its times, over all kills
        first = list(by_time(old[partition]))
        assert got[partition][: len(first)] == places(first)
