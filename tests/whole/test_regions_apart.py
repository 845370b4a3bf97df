"""Regions apart, as docker/compose-region.yaml has them: two that trade and one that votes, each with its own Kafka,
member of MongoDB and MirrorMaker, over TLS and with logins of least rights. On one machine, without distances."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from launch.cli.apart_command import MIRROR_FILE
from launch.cli.main import run
from launch.errors import CannotStartError
from launch.regions.regions_apart import store_of
from launch.setup.data_dir import read_session, write_atomically
from launch.setup.jars import mirror_classpath
from launch.setup.login_files import own_logins, with_logins
from launch.setup.login_rights import SUPERVISOR
from launch.setup.prerequisites import checked_java
from simulators.simulator_server import ACCOUNTS
from store.mongo.mongo_store import open_store
from streams.broker.embedded_broker import free_ports
from streams.broker.mirror_maker import JVM_FLAGS
from tests.secured_services import SecuredKafka, secured_kafka, secured_member
from tests.tls_server import made_certificates
from tests.whole.running import ROOT
from tests.whole.running_apart import HOST, Part, RunningApart, deployed_parts, running_apart

REGIONS = ("us", "eu", "jp")
TRADING = REGIONS[:2]
FAR = "bitstamp"
"""The only exchange of the second region."""
READY_SECONDS = 600
TRADED = 3

pytestmark = [pytest.mark.whole, pytest.mark.soak]


@dataclass
class Regions:
    config: Path
    running: dict[str, RunningApart]

    def parts(self, region: str) -> list[Part]:
        here = self.running[region].session.exchanges_here
        return [
            part
            for part in deployed_parts(self.config, replicas=1)
            if (part.kind in ("feed", "bot") and part.words[1] in here)
            or part.kind in ("prepare", "publisher", "cep", "ui")
            or (part.kind == "exchanges" and region == REGIONS[0])
        ]

    def traded_far(self) -> int:
        """Closed arbitrages between the two regions."""
        return asyncio.run(self._traded_far())

    async def _traded_far(self) -> int:
        first = self.running[REGIONS[0]]
        async with await open_store(with_logins(replace(first.session, home=first.made), SUPERVISOR)) as store:
            found = await store.session_arbitrages()
        return sum(one.state == "closed" and any(leg.exchange == FAR for leg in one.legs) for one in found)


def make(folder: Path, kafkas: dict[str, SecuredKafka]) -> Path:
    """As the page does for three hosts; returns the configuration."""
    certificates, config = made_certificates(folder / "certificates", "db.example"), folder / "arbitrage.toml"
    authorities = folder / "kafka-ca.pem"
    authorities.write_text("".join(kafka.files.ca.read_text() for kafka in kafkas.values()))
    members = ",".join(f"127.0.0.1:{port}" for port in free_ports(len(REGIONS)))
    config.write_text(
        f'mongodb = "mongodb://{members}/?replicaSet=rs0&heartbeatFrequencyMS=500"\nport = {free_ports(1)[0]}\n'
        f'exchanges = ["coinbaseexchange", "kraken", "{FAR}"]\nmarket = "storm"\n'
    )
    places = {"jp": "127.0.0.1:9"} | {region: kafka.place("CLIENT") for region, kafka in kafkas.items()}
    words = [word for region in REGIONS for word in ("--region", f"{region}={places[region]}")]
    words += ["--kafka-ca", str(authorities), "--mongodb-ca", str(certificates.ca)]
    words += ["--kafka-mechanism", "SCRAM-SHA-512", "--owner-mechanism", "SCRAM-SHA-256"]
    url = f"http://{HOST}:{free_ports(1)[0]}"
    assert run(["apart", "make", str(folder / "made"), "--config", str(config), "--exchanges", url, *words]) == 0
    # each has the same port for its page, on a host of its own
    second = folder / "made" / TRADING[1]
    session = replace(read_session(second), web_port=free_ports(1)[0])
    write_atomically(second / "run.json", session.to_json())
    return config


@pytest.fixture(scope="module")
def regions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Regions]:
    try:
        mirror_classpath(jars_home())
    except CannotStartError as reason:
        pytest.skip(str(reason))
    folder = tmp_path_factory.mktemp("regions-apart")
    with ExitStack() as stack:
        kafkas = {}
        for region in TRADING:
            owner = own_logins(folder / "made" / region, has_regions=True).login(SUPERVISOR)
            kafkas[region] = stack.enter_context(secured_kafka(folder / region, owner))
        config = make(folder, kafkas)
        made, files = folder / "made", made_certificates(folder / "certificates")
        replica_set = store_of(read_session(made / REGIONS[0]))
        for number, region in enumerate(REGIONS):
            key = (made / region / "mongodb.key").read_text()
            stack.enter_context(secured_member(folder / f"{region}-store", replica_set, number, key, files))
        running = {
            region: stack.enter_context(running_apart(made / region, folder / "parts" / region)) for region in TRADING
        }
        yield Regions(config, running)


def jars_home() -> Path:
    return Path(os.environ.get("ARBITRAGE_HOME") or ROOT / ".data")


def start_mirror(running: RunningApart) -> None:
    """With the file that was made for it, by the program that Kafka's own script runs."""
    main = "org.apache.kafka.connect.mirror.MirrorMaker"
    words = (str(running.made / MIRROR_FILE), "--clusters", str(running.session.region))
    command = (checked_java(), *JVM_FLAGS, "-cp", mirror_classpath(jars_home()), main, *words)
    with (running.folder / "mirror.out").open("wb") as said:
        running.processes["mirror"] = subprocess.Popen(command, stdout=said, stderr=said)


def test_two_regions_trade_with_each_other(regions: Regions) -> None:
    for region, running in regions.running.items():
        (prepare,) = (part for part in regions.parts(region) if part.kind == "prepare")
        running.run(prepare, 240)
    started = {region: [part for part in regions.parts(region) if part.kind != "prepare"] for region in TRADING}
    for region, running in regions.running.items():
        for part in started[region]:
            running.start(part)
        start_mirror(running)
    for region, running in regions.running.items():
        running.until_ready(started[region], READY_SECONDS)
    first = regions.running[REGIONS[0]]
    first.until(lambda: regions.traded_far() >= TRADED, 240, "the regions did not trade with each other")


def test_their_books_are_those_of_the_exchanges(regions: Regions) -> None:
    for running in regions.running.values():
        assert set(running.stop("bot").values()) == {0}
    first = regions.running[REGIONS[0]]
    assert first.violations(first.folder / "exchanges" / ACCOUNTS) == []
