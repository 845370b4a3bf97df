"""A Kafka that asks for TLS and SCRAM, with certificates of ours, reached by each of our clients as a session does."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.setup.authority_folder import AuthorityFiles
from launch.setup.data_dir import home_folder
from launch.setup.jars import broker_classpath
from launch.setup.prerequisites import checked_java
from launch.setup.service_logins import configured_kafka_login
from session.certificate_issuing import SERVER_DAYS, moment_of
from session.clock import wall_now
from session.logins import Address, Login, login_of
from streams.broker.embedded_broker import EmbeddedBroker, free_ports, wait_ready
from streams.broker.topic_access import TopicUser, ensure_users, jaas_of
from streams.errors import StreamError, StreamUnavailableError
from streams.topic_admin import check_reachable, client_settings, ensure_input_log, ensure_topics, is_answering
from streams.topic_reader import TopicReader
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.service_process import ServiceProcess
from tests.services import LOGIN, START_SECONDS
from tests.tls_server import made_certificates

LISTENERS = ("CLIENT", "EXPIRED", "ELSEWHERE")
"""In the order of their ports: a certificate for 127.0.0.1, a former one, and the first at an address that it lacks."""


@dataclass(frozen=True)
class SecuredKafka:
    files: AuthorityFiles
    ports: Mapping[str, int]

    def place(self, listener: str) -> str:
        return f"127.0.0.{2 if listener == 'ELSEWHERE' else 1}:{self.ports[listener]}"

    def configured(self, listener: str = "CLIENT", ca: Path | None = None, login: Login = LOGIN) -> Address:
        """The address with the login, as a session's processes get it."""
        config = Configuration(kafka=self.place(listener), kafka_ca=str(ca or self.files.ca))
        variables = {"USER": login.user, "PASSWORD": login.password, "MECHANISM": login.mechanism}
        environment = {f"ARBITRAGE_KAFKA_{name}": value for name, value in variables.items()}
        return Address(config.kafka or "", configured_kafka_login(config, environment))


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredKafka]:
    home = tmp_path_factory.mktemp("secured")
    try:
        jars, java = broker_classpath(home_folder()), checked_java()
    except CannotStartError as reason:
        pytest.skip(str(reason))
    past = moment_of(wall_now()) - timedelta(days=SERVER_DAYS + 1)
    expired = home / "expired.pem"
    expired.write_bytes(made_certificates(home / "made", "kafka.example", at=past).server("kafka.example").read_bytes())
    files = made_certificates(home / "made")
    controller_port, *ports = free_ports(1 + len(LISTENERS))
    broker = EmbeddedBroker(home, jars, ports[0], controller_port, LOGIN, "controller", java)
    broker.prepare()
    kafka = SecuredKafka(files, dict(zip(LISTENERS, ports, strict=True)))
    with (broker.folder / "server.properties").open("a") as properties:
        properties.write(tls_properties(kafka, controller_port, expired))
    process = ServiceProcess(broker.command(), kafka.configured(), broker.folder / "broker.out")
    process.start()
    try:
        asyncio.run(wait_ready(process.address, START_SECONDS))
        yield kafka
    finally:
        process.stop()


def tls_properties(kafka: SecuredKafka, controller_port: int, expired: Path) -> str:
    """As docs/security.md has them, with two listeners more; a later line replaces an earlier one."""
    clients = ",".join(f"{name}://{kafka.place(name)}" for name in LISTENERS)
    protocols = ",".join(f"{name}:SASL_SSL" for name in LISTENERS)
    settings = {
        "listeners": f"{clients},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": clients,
        "listener.security.protocol.map": f"{protocols},CONTROLLER:SASL_PLAINTEXT",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": kafka.files.server("kafka.example"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": kafka.files.ca,
        "listener.name.expired.ssl.keystore.type": "PEM",
        "listener.name.expired.ssl.keystore.location": expired,
        "listener.name.expired.scram-sha-256.sasl.jaas.config": jaas_of(LOGIN),
        "listener.name.elsewhere.scram-sha-256.sasl.jaas.config": jaas_of(LOGIN),
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


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
    with pytest.raises(StreamUnavailableError, match="did not answer as Kafka"):
        await check_reachable(secured.configured(login=Login("feed", "wrong")), 2.0)


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


async def test_a_kafka_without_tls_is_not_reached_with_it(secured: SecuredKafka) -> None:
    """A server that closes what it does not understand, as Kafka does."""

    async def close(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"not TLS")
        writer.close()

    server = await asyncio.start_server(close, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(StreamUnavailableError, match="does it listen with TLS there"):
            await check_reachable(Address(f"127.0.0.1:{port}", login_of(secured.configured())))
