"""All parts apart, as the manifests start them, over TLS and each with the login of its role: they trade with each
other, and neither finds nor may do more than its own."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.cli.main import run
from launch.errors import CannotStartError
from launch.setup.jars import broker_classpath
from launch.setup.login_files import OwnLogins, own_logins
from launch.setup.login_rights import SUPERVISOR
from session.logins import Login
from simulators.simulator_server import ACCOUNTS
from store.server.mongo_client import connect
from streams.broker.embedded_broker import free_ports
from tests.secured_services import SecuredKafka, SecuredMongod, secured_kafka, secured_mongod
from tests.whole.running import ROOT
from tests.whole.running_apart import HOST, Part, RunningApart, closed, deployed_parts, running_apart

READY_SECONDS = 300
TRADED = 5

pytestmark = [pytest.mark.whole, pytest.mark.soak]


def configuration(path: Path, kafka: SecuredKafka, mongodb: SecuredMongod) -> Path:
    path.write_text(
        f'kafka = "{kafka.place("CLIENT")}"\nmongodb = "mongodb://127.0.0.1:{mongodb.port}/?replicaSet=rs0"\n'
        f'exchanges = ["coinbaseexchange", "bitstamp", "bitflyer", "kraken"]\nmarket = "storm"\n'
        f"port = {free_ports(1)[0]}\n"
    )
    return path


def make(folder: Path, config: Path, kafka: SecuredKafka, mongodb: SecuredMongod) -> None:
    words = ("--kafka-ca", str(kafka.files.ca), "--mongodb-ca", str(mongodb.files.ca))
    mechanisms = ("--kafka-mechanism", "SCRAM-SHA-512", "--owner-mechanism", "SCRAM-SHA-256")
    url = f"http://{HOST}:{free_ports(1)[0]}"
    assert run(["apart", "make", str(folder), "--config", str(config), "--exchanges", url, *mechanisms, *words]) == 0


async def make_owner(mongodb: SecuredMongod, login: Login) -> None:
    """As whoever starts the server makes the first user."""
    client = connect(mongodb.configured(mongodb.files.ca))
    await client.admin.command("createUser", login.user, pwd=login.password, roles=["root"])
    client.close()


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningApart, list[Part]]]:
    try:
        broker_classpath(Path(os.environ.get("ARBITRAGE_HOME") or ROOT / ".data"))
    except CannotStartError as reason:
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("apart")
    own: OwnLogins = own_logins(folder / "session")
    owner = own.login(SUPERVISOR)
    with secured_kafka(folder / "kafka", owner) as kafka, secured_mongod(folder / "mongodb") as mongodb:
        asyncio.run(make_owner(mongodb, owner))
        config = configuration(folder / "arbitrage.toml", kafka, mongodb)
        make(folder / "session", config, kafka, mongodb)
        with running_apart(folder / "session", folder / "parts") as running:
            yield running, deployed_parts(config)


def test_they_start_by_their_own_commands_and_trade(apart: tuple[RunningApart, list[Part]]) -> None:
    running, deployed = apart
    (prepare,) = (part for part in deployed if part.kind == "prepare")
    others = [part for part in deployed if part is not prepare]
    running.run(prepare, 120)
    for part in others:
        running.start(part)
    running.until_ready(others, READY_SECONDS)
    running.until(lambda: closed(running) >= TRADED, 120, "too few arbitrages were closed")


def test_their_books_are_those_of_the_exchanges(apart: tuple[RunningApart, list[Part]]) -> None:
    running, deployed = apart
    assert set(running.stop("bot").values()) == {0}
    (exchanges,) = (part for part in deployed if part.kind == "exchanges")
    assert running.violations(running.home(exchanges) / ACCOUNTS) == []
    assert set(running.stop().values()) == {0}
