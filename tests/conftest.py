"""Fixtures that several rooms' tests share."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.services import embedded_kafka, embedded_mongodb

# without a deadline: machines are noisy, and what is checked here are results, never times
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes name no test: packed ones carry the time of packing, and processes that share a run must agree on names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session")
def kafka_address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a real broker without topics, shared by the whole session: use topics or keys of your own."""
    with embedded_kafka(tmp_path_factory.mktemp("kafka")) as process:
        yield process.address


@pytest.fixture(scope="session")
def mongodb_uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real replica set of one node, shared by the whole session: use a database of your own."""
    with embedded_mongodb(tmp_path_factory.mktemp("mongodb")) as process:
        yield process.address
