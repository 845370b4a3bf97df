"""A broker that the tests of this folder may kill, and topics of their own on it."""

from collections.abc import Iterator
from itertools import count
from typing import Protocol

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from streams.topic_admin import client_settings
from tests.service_process import ServiceProcess
from tests.services import embedded_kafka

_NUMBERS = count(1)


class NewTopicName(Protocol):
    async def __call__(self, partitions: int, largest_row: int = 1_000_000) -> str: ...


@pytest.fixture(scope="package")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with embedded_kafka(tmp_path_factory.mktemp("own-kafka")) as process:
        yield process


@pytest.fixture
def new_topic(broker: ServiceProcess) -> NewTopicName:
    """Create an empty topic with so many partitions; its name."""

    async def create(partitions: int, largest_row: int = 1_000_000) -> str:
        name = f"test-{next(_NUMBERS)}"
        client = AdminClient(client_settings(broker.address))
        topic = NewTopic(name, num_partitions=partitions, config={"max.message.bytes": str(largest_row)})
        # as ours are: not before the broker itself knows of it
        client.create_topics([topic], operation_timeout=15.0)[name].result(30)
        return name

    return create
