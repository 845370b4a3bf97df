"""What becomes of rows that Kafka takes late, rejects, or never sees."""

import pytest

from streams.errors import StreamRejectedError, StreamUnavailableError
from streams.topic_reader import TopicReader
from streams.topic_writer import BUFFERED_ROWS, TopicWriter
from streams.topics import partition_of
from tests.service_process import ServiceProcess
from tests.streams.conftest import NewTopicName


async def test_a_key_alone_finds_its_partition(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(5)
    bases = ["BTC", "ETH", "SOL", "XRP", "LTC", "DOGE"]
    writer = TopicWriter(broker.address)
    for base in bases:
        writer.write(topic, b"row", base)
    await writer.flush()
    await writer.close()
    async with TopicReader(broker.address, (topic,), "earliest") as reader:
        found = {record.key: record.partition async for record in reader.records_to_end()}
    assert found == {base: partition_of(base, 5) for base in bases}


async def test_what_an_outage_outlasts_is_reported() -> None:
    writer = TopicWriter("127.0.0.1:9")
    writer.write("topic", b"row")
    with pytest.raises(StreamUnavailableError, match="1 rows were not acknowledged"):
        await writer.flush(0.1)
    with pytest.raises(StreamUnavailableError, match="not acknowledged"):
        await writer.close(0.1)


async def test_a_rejected_row_is_reported_by_every_later_call(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1, largest_row=1_000)
    writer = TopicWriter(broker.address)
    writer.write(topic, b"x" * 500)
    await writer.flush()
    writer.write(topic, b"x" * 5_000)
    with pytest.raises(StreamRejectedError, match="was lost"):
        await writer.flush()
    with pytest.raises(StreamRejectedError, match="was lost"):
        writer.write(topic, b"row")
    with pytest.raises(StreamRejectedError, match="was lost"):
        await writer.close()


async def test_a_row_that_cannot_be_is_rejected_at_once_and_alone(
    broker: ServiceProcess, new_topic: NewTopicName
) -> None:
    topic = await new_topic(1)
    writer = TopicWriter(broker.address)
    with pytest.raises(StreamRejectedError, match="was rejected"):
        writer.write(topic, b"x" * 1_200_000)
    writer.write(topic, b"row")
    await writer.flush()
    await writer.close()


async def test_a_full_buffer_takes_no_more() -> None:
    writer = TopicWriter("127.0.0.1:9")
    for _ in range(BUFFERED_ROWS):
        writer.write("topic", b"row")
    with pytest.raises(StreamUnavailableError, match="rows wait for Kafka"):
        writer.write("topic", b"row")
    with pytest.raises(StreamUnavailableError):
        await writer.close(0)
