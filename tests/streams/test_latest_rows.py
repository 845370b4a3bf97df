"""What a look at the end of a topic shows, against the real broker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from streams.errors import StreamRejectedError, StreamUnavailableError
from streams.latest_rows import LatestRows
from streams.records import Record
from tests.service_process import ServiceProcess
from tests.streams.conftest import NewTopicName
from tests.streams.test_topic_reader import DEADLINE_SECONDS, values, write_numbers


@asynccontextmanager
async def latest_rows_at(address: str, topic: str) -> AsyncIterator[LatestRows]:
    latest = LatestRows(address, topic)
    await latest.open()
    await latest.open()
    try:
        yield latest
    finally:
        await latest.close()


async def patient_look(latest: LatestRows) -> list[Record]:
    """Return the three newest rows, once Kafka answers again."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            with suppress(StreamUnavailableError):
                return await latest.newest(3)


async def test_each_look_shows_what_is_newest_by_then(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    async with latest_rows_at(broker.address, topic) as latest:
        assert await latest.newest(5) == []
        await write_numbers(broker.address, topic, range(3))
        assert values(await latest.newest(5)) == [0, 1, 2]
        await write_numbers(broker.address, topic, range(3, 2_000))
        assert values(await latest.newest(5)) == [1_995, 1_996, 1_997, 1_998, 1_999]
        assert values(await latest.newest(5)) == [1_995, 1_996, 1_997, 1_998, 1_999]
        records = await latest.newest(1_700)
        assert values(records) == list(range(300, 2_000))
        assert [record.offset for record in records] == list(range(300, 2_000))


async def test_every_partition_is_looked_at(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(3)
    await write_numbers(broker.address, topic, range(300), partitions=3)
    async with latest_rows_at(broker.address, topic) as latest:
        records = await latest.newest(2)
    for partition in range(3):
        of_partition = [int(record.value) for record in records if record.partition == partition]
        assert of_partition == [294 + partition, 297 + partition]


async def test_the_ends_of_several_topics_are_reported_at_once(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    one, other = await new_topic(1), await new_topic(2)
    latest = LatestRows(broker.address, one, other)
    await latest.open()
    await write_numbers(broker.address, one, range(3))
    assert await latest.ends() == {(one, 0): 3, (other, 0): 0, (other, 1): 0}
    await write_numbers(broker.address, one, range(2))
    assert (await latest.ends())[one, 0] == 5
    await latest.close()
    with pytest.raises(StreamRejectedError, match="closed"):
        await latest.ends()


async def test_what_cannot_be_looked_at(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    with pytest.raises(StreamRejectedError, match="does not exist"):
        await LatestRows(broker.address, "there-is-none").open()
    with pytest.raises(StreamUnavailableError):
        await LatestRows("127.0.0.1:1", "ticks").open()
    latest = LatestRows(broker.address, await new_topic(1))
    with pytest.raises(StreamRejectedError, match="closed"):
        await latest.newest(1)


async def test_an_outage_is_said_and_passes(broker: ServiceProcess, new_topic: NewTopicName) -> None:
    topic = await new_topic(1)
    await write_numbers(broker.address, topic, range(3))
    async with latest_rows_at(broker.address, topic) as latest:
        broker.kill()
        with pytest.raises(StreamUnavailableError):
            await latest.newest(3)
        broker.start()
        assert values(await patient_look(latest)) == [0, 1, 2]
