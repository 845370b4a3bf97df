"""Fixtures that several rooms' tests share."""

from collections.abc import Iterator

import pytest

from tests.services import embedded_kafka


@pytest.fixture(scope="session")
def kafka_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a real broker without topics, shared by the whole session: use topics or keys of your own."""
    with embedded_kafka(tmp_path_factory.mktemp("kafka")) as process:
        yield process.address
