"""`arbitrage apart make --region`: what each region gets, and what is in no other."""

import json
import re
from pathlib import Path

import pytest

from exchanges.credentials import credentials_path
from launch.commands.main import run
from launch.errors import CannotStartError
from launch.regions.apart import store_of
from launch.setup.data_dir import read_session
from launch.setup.login_files import own_logins, with_logins
from launch.setup.login_rights import MIRROR, MIRROR_READER, ROLES, SUPERVISOR
from runtime.logins import login_of
from session.session import Session

REGIONS = ("us", "eu", "jp")
STORE = 'mongodb = "mongodb://us.internal:27017,eu.internal:27017,jp.internal:27017/?replicaSet=rs0"\n'
KAFKAS = tuple(word for region in REGIONS for word in ("--region", f"{region}={region}.internal:9092"))
WORDS = ("--kafka-ca", "/certificates/ca.pem", "--mongodb-ca", "/certificates/ca.pem", "--owner-mechanism", "PLAIN")


def make(folder: Path, text: str = STORE, words: tuple[str, ...] = KAFKAS) -> int:
    file = folder.parent / "arbitrage.toml"
    file.write_text(text)
    place = ("--config", str(file), "--exchanges", "http://us.internal:8100")
    return run(["apart", "make", str(folder), *place, *WORDS, *words])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ARBITRAGE_KAFKA", "ARBITRAGE_MONGODB"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "regions"


def sessions(folder: Path) -> dict[str, Session]:
    return {path.parent.name: read_session(path.parent) for path in folder.glob("*/run.json")}


def test_each_region_has_its_kafka_and_all_share_one_session_and_its_store(folder: Path) -> None:
    assert make(folder) == 0
    found = sessions(folder)
    assert set(found) == set(REGIONS)
    for region, session in found.items():
        assert (session.place.region, session.place.regions, session.services.kafka) == (
            region,
            REGIONS,
            f"{region}.internal:9092",
        )
        assert "tls=true" in session.services.mongodb
        assert [one.address for one in store_of(session).members] == [f"{name}.internal:27017" for name in REGIONS]
    assert len({(one.session_id, one.services.mongodb, one.simulated.url, one.markets) for one in found.values()}) == 1
    assert [found[region].exchanges_here for region in REGIONS] == [
        ("coinbaseexchange", "kraken"),
        ("bitstamp",),
        ("bitflyer",),
    ]
    accounts = {credentials_path(folder / region).read_text() for region in REGIONS}
    assert len(accounts) == 1


def test_logins_to_kafka_are_each_regions_own_and_those_to_the_store_are_shared(folder: Path) -> None:
    assert make(folder) == 0
    for role in (SUPERVISOR, *ROLES):
        logins = [
            (login_of(mine.services.kafka), login_of(mine.services.mongodb))
            for mine in (with_logins(read_session(folder / region), role) for region in REGIONS)
        ]
        to_kafka = {kafka.password for kafka, _ in logins if kafka is not None}
        to_mongodb = {mongodb.password for _, mongodb in logins if mongodb is not None}
        rights = ROLES.get(role)
        assert len(to_kafka) == (0 if rights is not None and rights.topics_read is None else len(REGIONS))
        assert len(to_mongodb) == (0 if rights is not None and rights.collections is None else 1)
    assert len({(folder / region / "mongodb.key").read_text() for region in REGIONS}) == 1


@pytest.mark.parametrize("region", REGIONS)
def test_a_regions_mirror_reads_the_others_and_has_no_login_that_writes_there(folder: Path, region: str) -> None:
    assert make(folder) == 0
    own = {name: own_logins(folder / name, has_regions=True).passwords for name in REGIONS}
    file = folder / region / "mirrormaker.properties"
    assert file.stat().st_mode & 0o777 == 0o600
    lines = dict(line.split("=", 1) for line in file.read_text().splitlines())
    for name in REGIONS:
        role = MIRROR if name == region else MIRROR_READER
        assert own[name][role] in lines[f"{name}.sasl.jaas.config"]
        assert lines[f"{name}.security.protocol"] == "SASL_SSL"
        assert lines[f"{name}.sasl.mechanism"] == "SCRAM-SHA-512"
        assert lines[f"{name}.ssl.truststore.location"] == "/certificates/ca.pem"
    assert lines["clusters"].split(", ")[0] == region
    texts = "".join(path.read_text() for path in (folder / region).rglob("*") if path.is_file())
    for name in REGIONS:
        if name != region:
            assert {role for role, password in own[name].items() if password in texts} == {MIRROR_READER}


def test_a_second_time_it_is_another_session_with_the_same_secrets(folder: Path) -> None:
    def made() -> tuple[str, list[str]]:
        assert make(folder) == 0
        kept = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "run.json"]
        return sessions(folder)["us"].session_id, [path.read_text() for path in kept]

    first, second = made(), made()
    assert first[0] != second[0]
    assert first[1] == second[1]


def test_a_region_without_exchanges_only_votes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(folder, f'{STORE}exchanges = ["coinbaseexchange", "kraken", "bitstamp"]\n') == 0
    assert "jp: only votes" in capsys.readouterr().out
    assert set(sessions(folder)) == {"us", "eu"}
    assert (folder / "jp" / "mongodb.key").exists()
    # in the names of its settings: a password may have these two letters
    lines = (folder / "us" / "mirrormaker.properties").read_text().splitlines()
    assert "clusters=us, eu" in lines
    assert not [line for line in lines if re.search(r"\bjp\b", line.partition("=")[0])]
    assert json.loads((folder / "us" / "run.json").read_text())["regions"] == list(REGIONS)


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        (STORE, KAFKAS[:4], "names 2; name 3 or more"),
        (STORE, (*KAFKAS[:4], "--region", "us=other:1"), "is not REGION=HOST:PORT of a region that is named once"),
        (STORE, (*KAFKAS[:4], "--region", "jp"), "is not REGION=HOST:PORT"),
        (STORE, (*KAFKAS[:4], "--region", "jp=jp.internal"), "is not REGION=HOST:PORT"),
        (f'{STORE}kafka = "k:1"\n', KAFKAS, "kafka is set, but --region names that of each region"),
        ('mongodb = "mongodb://m:1/?replicaSet=rs0"\n', KAFKAS, "names 1 of 3 members"),
        (STORE.replace("?replicaSet=rs0", ""), KAFKAS, "end the address with .replicaSet=rs0"),
        (STORE.replace(":27017/", "/"), KAFKAS, "name HOST:PORT of each region"),
        ("", KAFKAS, "mongodb is missing"),
    ],
)
def test_a_mistake_gets_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, words: tuple[str, ...], sentence: str
) -> None:
    assert make(folder, text, words) == CannotStartError.exit_code
    said = capsys.readouterr().err
    assert re.search(sentence, said), said
    assert said.count("\n") == 1
    assert not folder.exists()
