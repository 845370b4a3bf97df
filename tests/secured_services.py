"""A Kafka and a mongod that ask for TLS, with certificates of ours, as docs/security.md sets them up."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.regions.apart import store_of
from launch.setup.authority_folder import AuthorityFiles
from launch.setup.data_dir import home_folder, read_session
from launch.setup.jars import broker_classpath
from launch.setup.prerequisites import checked_java
from launch.setup.service_logins import configured_kafka_login, configured_mongodb
from runtime.certificate_issuing import SERVER_DAYS, moment_of
from runtime.clock import wall_now
from runtime.logins import Address, Login
from store.errors import StoreError
from store.server.client import connect
from store.server.embedded_mongod import OPTIONS, EmbeddedMongod
from store.server.replica_set import REPLICA_SET
from streams.broker.embedded_broker import EmbeddedBroker, free_ports, wait_ready
from streams.broker.kafka_users import jaas_of
from tests.service_process import ServiceProcess
from tests.services import LOGIN, MONGODB_KEY, START_SECONDS, wait_primary
from tests.tls_server import made_certificates

LISTENERS = ("CLIENT", "EXPIRED", "ELSEWHERE")
"""In the order of their ports: a certificate for 127.0.0.1, a former one, and the first at an address that it lacks."""


SCRAM_512 = "org.apache.kafka.common.security.scram.ScramLoginModule required;"

MONGODB_LOGINS = {"ARBITRAGE_MONGODB_USER": LOGIN.user, "ARBITRAGE_MONGODB_PASSWORD": LOGIN.password}


@dataclass(frozen=True)
class SecuredKafka:
    files: AuthorityFiles
    ports: Mapping[str, int]

    def place(self, listener: str) -> str:
        return f"127.0.0.{2 if listener == 'ELSEWHERE' else 1}:{self.ports[listener]}"

    def configured(self, listener: str = "CLIENT", ca: Path | None = None, login: Login = LOGIN) -> Address:
        """Return the address with the login, as a session's processes get it."""
        config = Configuration(kafka=self.place(listener), kafka_ca=str(ca or self.files.ca))
        variables = {"USER": login.user, "PASSWORD": login.password, "MECHANISM": login.mechanism}
        environment = {f"ARBITRAGE_KAFKA_{name}": value for name, value in variables.items()}
        return Address(config.kafka or "", configured_kafka_login(config, environment))


@dataclass(frozen=True)
class SecuredMongod:
    files: AuthorityFiles
    port: int

    def configured(self, ca: Path | None = None, host: str = "127.0.0.1", option: str = "replicaSet=rs0") -> Address:
        """Return the address with the login, as a session's processes get it."""
        config = Configuration(
            mongodb=f"mongodb://{host}:{self.port}/?{option}", mongodb_ca=None if ca is None else str(ca)
        )
        return Address(*configured_mongodb(config, MONGODB_LOGINS))


@contextmanager
def secured_kafka(home: Path, owner: Login = LOGIN) -> Iterator[SecuredKafka]:
    """Return a started and ready broker with its data below `home`, stopped at the end. Its users log in by either
    SCRAM."""
    try:
        jars, java = broker_classpath(home_folder()), checked_java()
    except CannotStartError as reason:
        pytest.skip(str(reason))
    past = moment_of(wall_now()) - timedelta(days=SERVER_DAYS + 1)
    expired = home / "expired.pem"
    expired.write_bytes(made_certificates(home / "made", "kafka.example", at=past).server("kafka.example").read_bytes())
    files = made_certificates(home / "made")
    controller_port, *ports = free_ports(1 + len(LISTENERS))
    broker = EmbeddedBroker(home, jars, ports[0], controller_port, owner, "controller", java)
    broker.prepare()
    kafka = SecuredKafka(files, dict(zip(LISTENERS, ports, strict=True)))
    with (broker.folder / "server.properties").open("a") as properties:
        properties.write(tls_properties(kafka, controller_port, expired, owner))
    process = ServiceProcess(broker.command(), kafka.configured(login=owner), broker.folder / "broker.out")
    process.start()
    try:
        asyncio.run(wait_ready(process.address, START_SECONDS))
        yield kafka
    finally:
        process.stop()


def tls_properties(kafka: SecuredKafka, controller_port: int, expired: Path, owner: Login) -> str:
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
        "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.client.scram-sha-512.sasl.jaas.config": SCRAM_512,
        "listener.name.expired.ssl.keystore.type": "PEM",
        "listener.name.expired.ssl.keystore.location": expired,
        "listener.name.expired.scram-sha-256.sasl.jaas.config": jaas_of(owner),
        "listener.name.expired.sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.elsewhere.scram-sha-256.sasl.jaas.config": jaas_of(owner),
        "listener.name.elsewhere.sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }
    return "".join(f"{name}={value}\n" for name, value in settings.items())


@contextmanager
def secured_mongod(home: Path) -> Iterator[SecuredMongod]:
    """Return a started mongod, primary and without plain text, with its data below `home`, stopped at the end. `LOGIN`
    is its owner's."""
    files = made_certificates(home / "certificates", "db.example")
    (port,) = free_ports(1)
    # at first it takes plain text too, for the set-up of the embedded one
    mongod = prepared_mongod(EmbeddedMongod(home, port, tls_options(files, "preferTLS"), MONGODB_KEY))
    # 127.0.0.2 is in no certificate
    command = tuple("127.0.0.1,127.0.0.2" if word == "127.0.0.1" else word for word in mongod.command())
    process = ServiceProcess(command, Address(mongod.uri, LOGIN), home / "mongod.out")
    process.start()
    try:
        asyncio.run(plain_text_off(process))
        yield SecuredMongod(files, port)
    finally:
        process.stop()


def members_address(regions: Sequence[str]) -> str:
    """Return the address of a replica set on this machine, with a member for each region."""
    places = ",".join(f"127.0.0.1:{port}" for port in free_ports(len(regions)))
    return f"mongodb://{places}/?replicaSet={REPLICA_SET}"


@contextmanager
def secured_members(home: Path, files: AuthorityFiles, made_in: Path) -> Iterator[None]:
    """Return a started mongod for each region that `arbitrage apart make` has written into `made_in`, without plain
    text and not yet a set, with its data below `home`."""
    wanted = store_of(read_session(next(made_in.glob("*/run.json")).parent))
    with ExitStack() as stack:
        for member in wanted.members:
            key, port = (made_in / member.region / "mongodb.key").read_text(), int(member.address.rpartition(":")[2])
            folder = home / member.region
            mongod = EmbeddedMongod(folder, port, tls_options(files, "requireTLS"), key, replica_set=wanted)
            process = ServiceProcess(prepared_mongod(mongod).command(), mongod.uri, folder / "mongod.out")
            process.start()
            stack.callback(process.stop)
        yield


def tls_options(files: AuthorityFiles, mode: str) -> tuple[str, ...]:
    """As docs/security.md has them."""
    certificate = ("--tlsCertificateKeyFile", str(files.server("db.example")), "--tlsCAFile", str(files.ca))
    return (*OPTIONS, "--tlsMode", mode, *certificate, "--tlsAllowConnectionsWithoutCertificates")


def prepared_mongod(mongod: EmbeddedMongod) -> EmbeddedMongod:
    try:
        mongod.prepare()
    except StoreError as reason:
        pytest.skip(str(reason))
    return mongod


async def plain_text_off(process: ServiceProcess) -> None:
    await wait_primary(process)
    client = connect(process.address)
    await client.admin.command("setParameter", 1, tlsMode="requireTLS")
    client.close()
