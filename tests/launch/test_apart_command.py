"""`arbitrage apart`: what parts that run without a supervisor find in their data folders, and who may do what."""

import json
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from exchanges.credentials import load_credentials
from launch.commands.apart import prepare_log, prepare_store
from launch.commands.main import run
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.sessions.paper import paper_settings
from launch.setup.data_dir import locked, read_session
from launch.setup.login_files import own_logins, with_logins
from launch.setup.login_rights import ROLES, SUPERVISOR
from runtime.logins import Address, login_of
from simulators.catalogue import EXCHANGES
from store.errors import StoreError
from store.mongo.store import open_store
from store.server.client import connect
from store.server.database_users import drop_all_but
from streams.broker.embedded_broker import wait_ready
from streams.errors import StreamError
from streams.topic_admin import ensure_input_log
from streams.topic_writer import TopicWriter
from streams.topics import OPPORTUNITIES, TICKS
from tests.services import LOGIN, START_SECONDS, kafka_process

SERVICES = 'kafka = "kafka:9092"\nmongodb = "mongodb://mongodb/?replicaSet=rs0"\n'
URL = "http://exchanges:8100"


def make(folder: Path, text: str = SERVICES, url: str = URL, *words: str) -> int:
    file = folder.parent / "arbitrage.toml"
    file.write_text(text)
    return run(["apart", "make", str(folder), "--config", str(file), "--exchanges", url, *words])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ARBITRAGE_KAFKA", "ARBITRAGE_MONGODB"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "session"


def test_each_part_finds_the_session_and_its_own_login(folder: Path) -> None:
    words = ("--kafka-mechanism", "SCRAM-SHA-256", "--owner-mechanism", "PLAIN")
    assert make(folder, SERVICES, URL, *words, "--kafka-ca", "/certificates/ca.crt") == 0
    session = read_session(folder)
    assert (session.home, session.simulated.url, session.services.kafka) == (folder, URL, "kafka:9092")
    own = own_logins(folder)
    for role, rights in ROLES.items():
        mine = with_logins(read_session(folder), role)
        kafka, mongodb = login_of(mine.services.kafka), login_of(mine.services.mongodb)
        assert (kafka is None, mongodb is None) == (rights.topics_read is None, rights.collections is None)
        if kafka is not None:
            assert (kafka.user, kafka.password, kafka.mechanism) == (role, own.passwords[role], "SCRAM-SHA-256")
            assert (kafka.protocol, kafka.ca) == ("SASL_SSL", "/certificates/ca.crt")
        assert (folder / "passwords" / role).read_text() == own.passwords[role]
    owner = login_of(with_logins(read_session(folder), SUPERVISOR).services.kafka)
    assert owner is not None
    assert owner.mechanism == "PLAIN"
    assert all(load_credentials(folder, name).api_key for name in EXCHANGES)


def test_no_secret_is_in_the_description_and_only_its_owner_reads_the_rest(folder: Path) -> None:
    assert make(folder) == 0
    text = (folder / "run.json").read_text()
    keys = json.loads((folder / "exchange_accounts.json").read_text())
    secrets = [*own_logins(folder).passwords.values(), *(each["secret"] for each in keys.values())]
    assert len(secrets) == len(ROLES) + 1 + len(EXCHANGES)
    assert not [secret for secret in secrets if secret in text]
    assert {path.stat().st_mode & 0o077 for path in (folder, *folder.rglob("*")) if path.is_file()} == {0}


def test_an_account_with_a_name_of_its_own_has_keys(folder: Path) -> None:
    assert make(folder, SERVICES + 'exchanges = ["kraken", "kraken2"]\n[exchange.kraken2]\nccxt = "kraken"\n') == 0
    assert load_credentials(folder, "kraken2").api_key != load_credentials(folder, "kraken").api_key


def test_a_second_time_it_is_another_session_with_the_same_passwords(folder: Path) -> None:
    def made() -> tuple[str, list[str]]:
        assert make(folder) == 0
        kept = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "run.json"]
        return read_session(folder).session_id, [path.read_text() for path in kept]

    first, second = made(), made()
    assert first[0] != second[0]
    assert first[1] == second[1]


@pytest.mark.parametrize(
    ("text", "url", "sentence"),
    [
        ('mongodb = "mongodb://m/"\n', URL, "kafka is missing"),
        ('kafka = "k:1"\n', URL, "mongodb is missing"),
        ('kafka = "k:1"\nmongodb = "mongodb://me:word@m/"\n', URL, "holds a password"),
        (f"{SERVICES}record = true\n", URL, "record = true needs the supervisor"),
        (f'{SERVICES}[apps]\npublish = ["apps/stale-feed.app"]\n', URL, "[apps] publish needs the supervisor"),
        (f'{SERVICES}[exchange.kraken]\nmode = "live"\n', URL, "is not paper trading"),
        (SERVICES, "exchanges:8100", "write http://HOST:PORT"),
        (SERVICES, "http://exchanges:high", "write http://HOST:PORT"),
        (SERVICES, "http://exchanges:8100/kraken", "write http://HOST:PORT"),
        (SERVICES, "http://api.kraken.com:80", "is not on loopback or in a private network"),
    ],
)
def test_a_mistake_gets_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], text: str, url: str, sentence: str
) -> None:
    assert make(folder, text, url) == CannotStartError.exit_code
    said = capsys.readouterr().err
    assert sentence in said
    assert said.count("\n") == 1
    assert not folder.exists()


def test_the_data_folder_of_other_sessions_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked(folder):
        (folder / "run.json").write_text("of a running session")
        assert make(folder) == CannotStartError.exit_code
    assert "is the data folder of sessions on this machine" in capsys.readouterr().err
    assert (folder / "run.json").read_text() == "of a running session"
    assert not (folder / "logins").exists()


def test_a_folder_that_cannot_be_looked_at_gets_one_sentence_too(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(folder.with_name("long" * 80)) == CannotStartError.exit_code
    said = capsys.readouterr().err
    assert "cannot be written" in said
    assert said.count("\n") == 1


async def test_users_are_made_only_where_kafka_keeps_them(folder: Path) -> None:
    assert make(folder, SERVICES, URL, "--kafka-mechanism", "PLAIN") == 0
    made = read_session(folder)
    session = replace(made, services=replace(made.services, kafka="127.0.0.1:1"))
    with pytest.raises(CannotStartError, match="name a --kafka-mechanism of SCRAM"):
        await prepare_log(session, own_logins(folder))


def test_users_are_made_with_the_passwords_that_parts_have_and_no_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(folder) == 0
    (folder / "logins" / "own.json").unlink()
    monkeypatch.setenv("ARBITRAGE_HOME", str(folder))
    capsys.readouterr()
    assert run(["apart", "prepare", "--users"]) == CannotStartError.exit_code
    said = capsys.readouterr().err
    assert "own.json is missing, which has the passwords of all parts; copy it" in said
    assert said.count("\n") == 1
    assert not (folder / "logins" / "own.json").exists()


async def test_parts_change_in_mongodb_what_their_role_may(folder: Path, mongodb_uri: str) -> None:
    assert make(folder) == 0
    database = f"apart_{uuid4().hex}"
    made = read_session(folder)
    session = replace(made, services=replace(made.services, mongodb=mongodb_uri, database=database))
    owner = connect(mongodb_uri)
    try:
        settings = paper_settings(Configuration())
        for _ in range(2):
            await prepare_store(session, settings, own_logins(folder))
        feed = login_of(with_logins(read_session(folder), "feed").services.mongodb)
        mine = replace(session, services=replace(session.services, mongodb=Address(mongodb_uri, feed)))
        async with await open_store(mine) as store:
            assert await store.settings.current() == settings
        client = connect(mine.services.mongodb)
        await client[database]["feeds"].insert_one({"_id": "kraken"})
        with pytest.raises(Exception, match="not authorized"):
            await client[database]["settings"].delete_many({})
        client.close()
        with pytest.raises(StoreError):
            await prepare_store(mine, settings, own_logins(folder))
    finally:
        await drop_all_but(owner, [LOGIN.user])
        await owner.drop_database(database)
        owner.close()


@pytest.mark.slow
async def test_parts_write_to_kafka_what_their_role_may(folder: Path, tmp_path: Path) -> None:
    words = ("--kafka-protocol", "SASL_PLAINTEXT", "--kafka-mechanism", "SCRAM-SHA-256")
    assert make(folder, SERVICES, URL, *words) == 0
    with kafka_process(tmp_path / "kafka") as process:
        await wait_ready(process.address, START_SECONDS)
        made = read_session(folder)
        session = replace(made, services=replace(made.services, kafka=process.address))
        for _ in range(2):
            await prepare_log(session, own_logins(folder))
        feed = login_of(with_logins(read_session(folder), "feed").services.kafka)
        address = Address(process.address, feed)
        await written(address, TICKS)
        with pytest.raises(StreamError):
            await written(address, OPPORTUNITIES)
        with pytest.raises(StreamError):
            await ensure_input_log(address, "app-input-1", 1)


async def written(address: str, topic: str) -> None:
    writer = TopicWriter(address)
    writer.write(topic, b"row", None, 0)
    await writer.flush()
    await writer.close()
