"""A Kafka that asks for TLS and SCRAM, with certificates of ours, reached by each of our clients as a session does."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from runtime.logins import Address, Login
from streams.broker.kafka_users import TopicUser, ensure_users
from streams.errors import StreamError, StreamUnavailableError
from streams.topic_admin import check_reachable, client_settings, ensure_input_log, ensure_topics, is_answering
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.secured_services import SecuredKafka, secured_kafka
from tests.services import LOGIN
from tests.tls_server import made_certificates


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    with secured_kafka(tmp_path_factory.mktemp("secured")) as service:
        yield service


async def test_our_clients_work_over_tls_with_their_rights_and_no_others(secured: SecuredKafka) -> None:
    address, feed = secured.configured(), Login("feed", "f" * 20)
    await ensure_topics(address, 1)
    await ensure_input_log(address, "app-input-tls", 1)
    await ensure_users(address, [TopicUser(feed, (), (TICKS,))])
    assert await is_answering(address, 5.0, 5.0)
    as_feed = secured.configured(login=feed)
    writer = TopicWriter(as_feed)
    writer.write(TICKS, b"row", None, 0)
    await writer.flush()
    await writer.close()
    async with TopicReader(as_feed, (TICKS,), "earliest") as reader:
        assert [record.value async for record in reader.records_to_end()] == [b"row"]
    with pytest.raises(StreamError):
        async with TopicReader(as_feed, ("app-input-tls",), "earliest") as reader:
            [record async for record in reader.records_to_end()]
    with pytest.raises(StreamUnavailableError, match="refused the login of feed; check its password"):
        await check_reachable(secured.configured(login=Login("feed", "wrong")), 10.0)


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        ("CLIENT", r"\((self-signed|unable to get local issuer).*\); .* signed by the authority in kafka_ca\.$"),
        ("EXPIRED", r"\(certificate has expired\); its certificate must be valid today"),
        ("ELSEWHERE", r"not valid for '127\.0\.0\.2'\); its certificate must .* for this host"),
    ],
    ids=["wrong authority", "expired", "wrong host"],
)
async def test_a_server_that_cannot_be_trusted_is_refused(
    secured: SecuredKafka, tmp_path: Path, listener: str, words: str
) -> None:
    address = secured.configured(listener, made_certificates(tmp_path).ca if listener == "CLIENT" else None)
    with pytest.raises(StreamUnavailableError, match=words) as refused:
        await check_reachable(address)
    assert "\n" not in str(refused.value)
    assert not await is_answering(address, 5.0, 5.0)
    # nor does the library go there
    with pytest.raises(KafkaException):
        AdminClient(client_settings(address)).list_topics(timeout=2)


async def test_plain_text_gets_no_answer(secured: SecuredKafka) -> None:
    plain = Address(secured.place("CLIENT"), replace(LOGIN, protocol="SASL_PLAINTEXT"))
    with pytest.raises(StreamUnavailableError, match=r"did not answer as Kafka.*TLS"):
        await check_reachable(plain, 2.0)


@pytest.mark.parametrize("answer", [b"", b"not TLS"])
async def test_a_server_without_tls_is_not_reached_with_it(answer: bytes) -> None:
    """It hangs up on what it does not understand, as Kafka does, or says something else."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StreamUnavailableError, match=r"\([a-z_ ]+\); does it listen with TLS there"):
            await check_reachable(Address(f"127.0.0.1:{port}", replace(LOGIN, protocol="SASL_SSL")))


async def test_an_authority_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = Address("127.0.0.1:9", replace(LOGIN, protocol="SASL_SSL", ca=str(tmp_path / "ca.pem")))
    with pytest.raises(StreamUnavailableError, match=r"authority .*ca\.pem cannot be read \(No such file"):
        await check_reachable(gone)
    assert not await is_answering(gone, 1.0, 1.0)
