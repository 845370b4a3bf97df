"""Reaching Kafka and creating the topics."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError
from confluent_kafka.admin import AdminClient

from runtime.logins import Address, Login
from streams.errors import StreamError, StreamRejectedError, StreamUnavailableError
from streams.topic_admin import check_reachable, client_settings, creation_error, ensure_topics
from streams.topics import ALL_TOPICS, UNORDERED_TOPICS
from tests.service_process import ServiceProcess
from tests.services import LOGIN, embedded_kafka


@pytest.fixture(scope="module")
def empty_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    with embedded_kafka(tmp_path_factory.mktemp("empty-kafka")) as process:
        yield process


@pytest.fixture
async def silent_address() -> AsyncIterator[str]:
    """Something that accepts connections and never says a word."""
    release = asyncio.Event()

    async def keep_silent(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await release.wait()
        writer.close()

    server = await asyncio.start_server(keep_silent, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    release.set()
    server.close()
    await server.wait_closed()


async def test_topics_are_created_once_and_found_again(empty_broker: ServiceProcess) -> None:
    await asyncio.gather(*(ensure_topics(empty_broker.address, 3) for _ in range(4)))
    await ensure_topics(empty_broker.address, 3)
    listed = AdminClient(client_settings(empty_broker.address)).list_topics(timeout=10).topics
    assert {topic: len(listed[topic].partitions) for topic in ALL_TOPICS} == {
        topic: 1 if topic in UNORDERED_TOPICS else 3 for topic in ALL_TOPICS
    }
    with pytest.raises(StreamRejectedError, match="has 3 partitions, but 1 are configured"):
        await ensure_topics(empty_broker.address, 1)


@pytest.mark.parametrize(
    "address",
    ["", "localhost", "localhost:", ":9092", "localhost:http", "127.0.0.1:9,there", "127.0.0.1:65536", "a..b:9"],
)
async def test_what_is_no_address_is_rejected(address: str) -> None:
    with pytest.raises(StreamRejectedError, match="is not a Kafka address"):
        await check_reachable(address)


async def test_nobody_there_is_said_at_once() -> None:
    async with asyncio.timeout(5.0):
        with pytest.raises(StreamUnavailableError, match="connection refused"):
            await ensure_topics("127.0.0.1:9", 1)


async def test_a_listener_that_is_no_kafka_is_given_up_on(silent_address: str) -> None:
    async with asyncio.timeout(8.0):
        with pytest.raises(StreamUnavailableError, match="did not answer as Kafka"):
            await check_reachable(silent_address, 1.5)


async def test_certificates_that_are_none_are_said_without_the_login(silent_address: str, tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("none")
    login = Login("me", "word", "SCRAM-SHA-512", "SASL_SSL", str(tmp_path / "ca.pem"))
    with pytest.raises(StreamRejectedError, match="holds no certificate; name one in PEM") as error:
        await check_reachable(Address(silent_address, login))
    assert "word" not in str(error.value)


async def test_one_of_several_hosts_is_enough(empty_broker: ServiceProcess) -> None:
    await check_reachable(Address(f"127.0.0.1:9,{empty_broker.address}", LOGIN), 10.0)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (KafkaError._TIMED_OUT, StreamUnavailableError),
        (KafkaError.REQUEST_TIMED_OUT, StreamUnavailableError),
        (KafkaError.NOT_CONTROLLER, StreamUnavailableError),
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, StreamRejectedError),
        (KafkaError.INVALID_REPLICATION_FACTOR, StreamRejectedError),
    ],
)
def test_a_topic_that_a_slow_kafka_did_not_create_may_be_asked_for_again(code: int, kind: type[StreamError]) -> None:
    error = creation_error("ticks", "127.0.0.1:9", KafkaError(code))
    assert type(error) is kind
    assert str(error).startswith("topic ticks could not be created at 127.0.0.1:9 (")


@pytest.mark.parametrize("answer", [b"", b"\x15\x03\x03\x00\x02\x02\x50"], ids=["nothing", "alert"])
async def test_a_server_that_hangs_up_asks_for_tls_and_a_silent_one_is_busy(answer: bytes, silent_address: str) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StreamUnavailableError, match=r"did not answer as Kafka .* asks for TLS does: set a login"):
            await check_reachable(Address(f"127.0.0.1:{port}", LOGIN), 1.0)
    with pytest.raises(StreamUnavailableError, match=r"did not answer as Kafka .* busy, frozen, or no Kafka\.$"):
        await check_reachable(Address(silent_address, LOGIN), 1.0)
