"""What readers see of what was written, against the real broker."""

import asyncio
from contextlib import suppress

import pytest

from runtime.clock import wall_now
from streams.errors import StreamRejectedError, StreamUnavailableError
from streams.records import Newest, Record, Start
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from tests.service_process import ServiceProcess
from tests.streams.conftest import NewTopicName

DEADLINE_SECONDS = 60.0


async def write_numbers(address: str, topic: str, numbers: range, partitions: int = 1) -> None:
    writer = TopicWriter(address)
    for number in numbers:
        writer.write(topic, str(number).encode(), f"key-{number % partitions}", number % partitions)
    await writer.flush()
    await writer.close()


async def take(reader: TopicReader, wanted: int) -> list[Record]:
    taken: list[Record] = []
    async with asyncio.timeout(DEADLINE_SECONDS):
        async for record in reader.records():
            taken.append(record)
            if len(taken) == wanted:
                break
    return taken


async def take_to_end(reader: TopicReader) -> list[Record]:
    async with asyncio.timeout(DEADLINE_SECONDS):
        return [record async for record in reader.records_to_end()]


def values(records: list[Record]) -> list[int]:
    return [int(record.value) for record in records]


async def test_keeps_the_order_of_each_partition(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(3)
    await write_numbers(broker.address, topic, range(6_000), partitions=3)
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        records = await take_to_end(reader)
    for partition in range(3):
        of_partition = [record for record in records if record.partition == partition]
        assert values(of_partition) == list(range(partition, 6_000, 3))
        assert [record.offset for record in of_partition] == list(range(2_000))
        assert {record.key for record in of_partition} == {f"key-{partition}"}


async def test_a_record_says_when_it_was_written(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    before = wall_now()
    await write_numbers(broker.address, topic, range(1))
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        [record] = await take_to_end(reader)
    assert before - 1_000 <= record.time <= wall_now()
    assert record.position == (topic, 0)


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        ("earliest", range(20)),
        ("latest", range(10, 20)),
        (Newest(4), range(6, 20)),
        (Newest(1_000), range(20)),
        (0, range(20)),
    ],
)
async def test_starts_where_it_is_asked_to(
    broker: ServiceProcess, new_topic: NewTopicName, start: Start, expected: range
) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(10))
    async with TopicReader(broker.address, (topic,), start) as reader:
        await write_numbers(broker.address, topic, range(10, 20))
        assert values(await take(reader, len(expected))) == list(expected)


async def test_starts_at_a_time(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(10))
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        first_half = await take_to_end(reader)
        after = first_half[-1].time + 1_000
        while wall_now() < after:  # Kafka knows milliseconds: the second half must be of a later one
            continue
        await write_numbers(broker.address, topic, range(10, 20))
    async with TopicReader(broker.address, (topic,), after) as reader:
        assert values(await take_to_end(reader)) == list(range(10, 20))
    async with TopicReader(broker.address, (topic,), wall_now() + 60_000_000) as reader:
        assert await take_to_end(reader) == []
        await write_numbers(broker.address, topic, range(20, 21))
        assert values(await take(reader, 1)) == [20]


async def test_a_reader_that_was_broken_off_goes_on_behind_the_last_row(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(100))
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        first = values(await take(reader, 7))
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                async for record in reader.records():
                    first.append(int(record.value))
        await write_numbers(broker.address, topic, range(100, 110))
        rest = values(await take(reader, 110 - len(first)))
    assert first + rest == list(range(110))


async def test_reading_to_the_end_leaves_what_came_later(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(2)
    await write_numbers(broker.address, topic, range(100), partitions=2)
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        to_end = reader.records_to_end()
        head = [int((await anext(to_end)).value)]
        await write_numbers(broker.address, topic, range(100, 120), partitions=2)
        head += [int(record.value) async for record in to_end]
        assert sorted(head) == list(range(100))
        assert sorted(values(await take(reader, 20))) == list(range(100, 120))
        assert await reader.end_offsets() == {(topic, 0): 60, (topic, 1): 60}


async def test_batches_bring_the_same_rows(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(2_000))
    taken: list[int] = []
    async with TopicReader(broker.address, (topic,), "earliest") as reader, asyncio.timeout(DEADLINE_SECONDS):
        async for batch in reader.batches():
            assert batch
            taken += values(batch)
            if len(taken) == 2_000:
                break
    assert taken == list(range(2_000))


async def test_another_pace_loses_and_repeats_nothing(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(2)
    taken: list[Record] = []
    async with TopicReader(broker.address, (topic,), "latest", 0.1) as reader:
        for number, pace in enumerate((0.0, 0.1, 0.1, 0.0)):
            # one is waiting for rows while the pace changes, and some rows are fetched and not read
            reading = asyncio.create_task(take(reader, 30))
            await asyncio.sleep(0)
            await write_numbers(broker.address, topic, range(40 * number, 40 * number + 20), partitions=2)
            await reader.fetch_within(pace)
            await write_numbers(broker.address, topic, range(40 * number + 20, 40 * number + 40), partitions=2)
            taken += await reading
        taken += await take_to_end(reader)
    for partition in range(2):
        assert [int(record.value) for record in taken if record.partition == partition] == list(
            range(partition, 160, 2)
        )


async def test_another_pace_without_a_broker_is_refused_and_reading_goes_on(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(10))
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        seen = values(await take(reader, 10))
        broker.kill()
        with pytest.raises(StreamUnavailableError):
            await reader.fetch_within(0.1)
        broker.start()
        await write_numbers(broker.address, topic, range(10, 20))
        await reader.fetch_within(0.1)
        seen += values(await take(reader, 10))
    assert seen == list(range(20))


async def test_a_kill_of_the_broker_loses_nothing_acknowledged(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    writer = TopicWriter(broker.address)
    async with TopicReader(broker.address, (topic,), "latest") as reader:
        for number in range(1_000):
            writer.write(topic, str(number).encode())
        await writer.flush()
        seen = values(await take(reader, 500))
        broker.kill()
        for number in range(1_000, 2_000):
            writer.write(topic, str(number).encode())
        broker.start()
        await writer.flush()
        seen += values(await take(reader, 1_500))
    await writer.close()
    assert seen == list(range(2_000))


async def test_a_missing_topic_is_rejected(broker: ServiceProcess) -> None:
    reader = TopicReader(broker.address, ("no-such-topic",), "earliest")
    with pytest.raises(StreamRejectedError, match="topic no-such-topic does not exist"):
        await reader.open()
    await reader.close()


async def test_a_closed_reader_reads_no_more(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    reader = TopicReader(broker.address, (topic,), "earliest")
    await write_numbers(broker.address, topic, range(1))
    records = reader.records()
    assert (await anext(records)).value == b"0"
    await reader.close()
    with pytest.raises(StreamRejectedError, match="closed"):
        await anext(records)


@pytest.mark.parametrize("topics", [("one",), ("one", "two")])
async def test_an_unreachable_address_is_said_within_seconds(topics: tuple[str, ...]) -> None:
    reader = TopicReader("127.0.0.1:9", topics, "earliest")
    async with asyncio.timeout(8.0):
        with pytest.raises(StreamUnavailableError, match=r"127\.0\.0\.1:9 is unreachable \(connection refused\)"):
            await reader.open()
    await reader.close()


async def test_partitions_are_added_while_others_are_read(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic, other = await new_topic(1), await new_topic(2)
    await write_numbers(broker.address, topic, range(10))
    await write_numbers(broker.address, other, range(20), partitions=2)
    async with TopicReader(broker.address, (topic,), {(topic, 0): 3}) as reader:
        assert values(await take(reader, 5)) == list(range(3, 8))
        await reader.add({(other, 1): 4})
        assert reader.next_offsets == {(topic, 0): 8, (other, 1): 4}
        records = await take(reader, 8)
        assert sorted(values(records)) == [8, 9, *range(9, 20, 2)]
        assert await reader.known_ends() == await reader.end_offsets() == {(topic, 0): 10, (other, 1): 10}
        await write_numbers(broker.address, other, range(20, 22), partitions=2)
        assert values(await take(reader, 1)) == [21]


async def test_a_topic_that_is_added_has_to_exist(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(1))
    async with TopicReader(broker.address, (topic,), {(topic, 0): 0}) as reader:
        with pytest.raises(StreamRejectedError, match="topic missing-rows does not exist"):
            await reader.add({("missing-rows", 0): 0})
        assert values(await take(reader, 1)) == [0]
