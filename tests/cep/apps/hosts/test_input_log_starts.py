"""Where an app's input log begins on a real Kafka: with its session, not where the one before ended."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress

import pytest

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.input_merger import InputMerger
from streams.message_format import marker_row, row_of
from streams.records import Position
from streams.topic_admin import ensure_input_log, ensure_topics
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import SPREADS, TICKS
from tests.services import embedded_kafka

pytestmark = pytest.mark.slow
SOURCE = AppSource("begun", "from quotes select base insert into A; from spreads select base insert into B;")
TIMEOUT_SECONDS = 60.0


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with embedded_kafka(tmp_path_factory.mktemp("kafka")) as process:
        asyncio.run(ensure_topics(process.address, 1))
        yield process.address


async def write_rows(kafka: str, topic: str, *rows: bytes) -> None:
    writer = TopicWriter(kafka)
    await writer.open()
    for row in rows:
        writer.write(topic, row, partition=0)
    await writer.flush()
    await writer.close()


def probes(first: int, last: int) -> tuple[bytes, ...]:
    return tuple(marker_row("probe", "BTC", str(number), number) for number in range(first, last))


async def first_of_session(kafka: str) -> dict[Position, int]:
    """Return the first offsets of a session that begins now."""
    async with TopicReader(kafka, (TICKS, SPREADS), "latest") as reader:
        return await reader.end_offsets()


async def merged_until(kafka: str, session: str, first: dict[Position, int], count: int) -> list[tuple[str, int]]:
    """Session and offset in `ticks` of all rows of the log, once there are so many."""
    merging = asyncio.ensure_future(InputMerger(SOURCE, session, kafka, 1, first).run())
    found = list[tuple[str, int]]()
    try:
        async with (
            asyncio.timeout(TIMEOUT_SECONDS),
            TopicReader(kafka, (SOURCE.topic,), {(SOURCE.topic, 0): 0}) as reader,
        ):
            async for record in reader.records():
                row = row_of(record.value)
                found.append((str(row["session"]), int(row["offset"])))
                if len(found) == count:
                    return found
    finally:
        merging.cancel()
        with suppress(asyncio.CancelledError):
            await merging
    return found


async def test_it_begins_with_its_session_not_where_the_one_before_ended(kafka: str) -> None:
    await ensure_input_log(kafka, SOURCE.topic, 1)
    one = await first_of_session(kafka)
    await write_rows(kafka, TICKS, *probes(0, 3))
    of_one = [("one", offset) for offset in range(3)]
    assert await merged_until(kafka, "one", one, 3) == of_one
    # rows between both sessions are in neither
    await write_rows(kafka, TICKS, *probes(3, 5))
    two = await first_of_session(kafka)
    await write_rows(kafka, TICKS, *probes(5, 7))
    of_two = [("two", 5), ("two", 6)]
    assert await merged_until(kafka, "two", two, 5) == [*of_one, *of_two]
    # within a session it goes on behind its last row
    await write_rows(kafka, TICKS, *probes(7, 8))
    assert await merged_until(kafka, "two", two, 6) == [*of_one, *of_two, ("two", 7)]
