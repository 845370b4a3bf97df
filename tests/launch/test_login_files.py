"""Logins to Kafka and MongoDB: who has which rights, where they are kept, what is rejected."""

import os
import re
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from launch.commands.doctor import rights_finding
from launch.config.configuration import Configuration
from launch.config.configuration_sources import ENVIRONMENT
from launch.config.session_options import PaperOptions
from launch.errors import CannotStartError
from launch.sessions.paper import paper_session, paper_settings, run_paper
from launch.setup.data_dir import is_private, locked
from launch.setup.login_files import (
    delete_logins,
    own_logins,
    session_logins,
    supervisors_session,
    with_logins,
)
from launch.setup.login_rights import MIRROR, MIRROR_READER, ROLES, SUPERVISOR
from launch.setup.service_logins import LOGIN_VARIABLES
from launch.supervisor.process_groups import child_environment
from runtime.logins import Address, Login, login_of
from session.session import Session
from store.mongo.database_setup import prepare_database
from store.mongo.store import open_store
from store.queries.trade_reader import open_reader
from store.server.client import connect
from store.server.database_users import DatabaseUser, ensure_users
from store.server.documents import COLLECTIONS
from streams.broker.embedded_broker import free_ports
from streams.topics import QUOTES, SHARED, SHARED_IN

DOCS = Path(__file__).parents[2] / "docs" / "security.md"
MONGODB = {"ARBITRAGE_MONGODB_USER": "erika", "ARBITRAGE_MONGODB_PASSWORD": "her secret"}
URI = "mongodb://db.example:27017/?replicaSet=rs0&tls=true"


def session(home: Path, reported: Configuration) -> Session:
    return paper_session(home, PaperOptions(), reported)


def test_the_docs_show_the_table_of_rights() -> None:
    rows = re.findall(r"^\| `(\w+)` \|([^|]*)\|([^|]*)\|([^|]*)\|$", DOCS.read_text(), re.MULTILINE)

    def named(cell: str) -> tuple[str, ...] | None:
        return None if "no login" in cell else tuple(re.findall(r"`(\w+)`", cell))

    reported = {role: tuple(map(named, cells)) for role, *cells in rows}
    assert reported == {role: (rights.collections, rights.topics, rights.topics_read) for role, rights in ROLES.items()}
    beginnings = {role: re.findall(r"`([\w-]+)…`", " ".join(cells)) for role, *cells in rows}
    assert beginnings == {
        role: [rights.topics_of_its_own] if rights.topics_of_its_own else [] for role, rights in ROLES.items()
    }


def test_no_part_but_the_dashboard_may_change_settings_or_the_audit() -> None:
    for name in ("settings", "settings_versions", "audit"):
        assert [role for role, rights in ROLES.items() if name in (rights.collections or ())] == ["ui"]
    written = {name for rights in ROLES.values() for name in rights.collections or ()}
    assert written <= set(COLLECTIONS)


async def test_a_part_changes_in_the_database_what_it_may_and_nothing_else(mongodb_uri: str) -> None:
    owner, database = connect(mongodb_uri), "rights_of_parts"
    feed = DatabaseUser(Login("feed", "f" * 20), database, ROLES["feed"].collections)
    try:
        for _ in range(2):
            await ensure_users(owner, [feed])
        client = connect(str(mongodb_uri).replace("://", f"://feed:{feed.login.password}@"))
        allowed, rejected = client[database]["feeds"], client[database]["settings"]
        await allowed.insert_one({"_id": 1})
        assert await rejected.find_one() is None
        for attempt in (
            rejected.update_one({}, {"$set": {"trading_state": "halted"}}, upsert=True),
            client["elsewhere"]["feeds"].insert_one({"_id": 1}),
            allowed.create_index("at"),
            client.admin.command("createUser", "me", pwd="me", roles=["root"]),
        ):
            with pytest.raises(Exception, match="not authorized"):
                await attempt
        client.close()
    finally:
        await owner.admin.command("dropUser", "feed")
        await owner.admin.command("dropRole", "feed")
        await owner.drop_database(database)
        owner.close()


async def test_every_role_finds_the_database_ready(mongodb_uri: str, tmp_path: Path) -> None:
    """Each process does this before its own work, and it must not need more rights than the process has."""
    owner, database = connect(mongodb_uri), f"roles_{uuid4().hex}"
    parts = [role for role, rights in ROLES.items() if rights.collections is not None]
    made = session(tmp_path, Configuration())
    whole = replace(
        made,
        services=replace(made.services, mongodb=mongodb_uri, database=database),
    )
    try:
        settings = await prepare_database(whole, paper_settings(Configuration()))
        for role in parts:
            user = DatabaseUser(Login(f"{role}-here", "p" * 20), database, ROLES[role].collections)
            await ensure_users(owner, [user])
            as_role = replace(whole, services=replace(whole.services, mongodb=Address(mongodb_uri, user.login)))
            async with await open_store(as_role) as store:
                assert await store.settings.current() == settings
            reader = await open_reader(as_role)
            assert await reader.settings.current() == settings
            await reader.close()
    finally:
        for role in parts:
            await owner.admin.command("dropUser", f"{role}-here")
            await owner.admin.command("dropRole", f"{role}-here")
        await owner.drop_database(database)
        owner.close()


def test_a_region_has_mirrors_and_its_feeds_offer_their_quotes(tmp_path: Path) -> None:
    own = own_logins(tmp_path, has_regions=True)
    assert own_logins(tmp_path) == own
    plain, regional = own.topic_users(), own.topic_users(has_regions=True)
    writers = {user.login.user for user in plain if QUOTES in user.writes}
    regional_writers = {user.login.user for user in regional if QUOTES in user.writes}
    assert (writers, regional_writers) == (set(), {"feed"})
    changed = {one.login.user for one, before in zip(regional, plain, strict=False) if one != before}
    assert changed == {"feed", "apps"}
    (apps,) = (one for one in regional if one.login.user == "apps")
    assert (SHARED in apps.writes, SHARED_IN in apps.writes, SHARED_IN in apps.reads) == (True, False, True)
    assert [user.login for user in regional[len(plain) :]] == [own.login(MIRROR_READER), own.login(MIRROR)]


def test_secrets_are_made_once_and_each_part_finds_its_own_alone(tmp_path: Path) -> None:
    reported = Configuration()
    mine = supervisors_session(session(tmp_path, reported), reported, {})
    own = own_logins(tmp_path)
    assert own == own_logins(tmp_path)
    assert len({own.mongodb_key, own.controller, *own.passwords.values()}) == 2 + len(ROLES) + 1
    assert login_of(mine.services.kafka) == login_of(mine.services.mongodb) == own.login(SUPERVISOR)
    bare = Session.from_json(mine.to_json())
    for role, rights in ROLES.items():
        found = with_logins(bare, role)
        wanted = own.login(role)
        assert login_of(found.services.kafka) == (None if rights.topics_read is None else wanted)
        assert login_of(found.services.mongodb) == (None if rights.collections is None else wanted)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert {(tmp_path / "logins").stat().st_mode & 0o777} == {0o700}
    assert not any(secret.encode() in mine.to_json() for secret in own.passwords.values())
    delete_logins(tmp_path)
    assert [path.name for path in (tmp_path / "logins").iterdir()] == ["own.json"]
    assert own == own_logins(tmp_path)


@pytest.mark.parametrize(
    ("address", "environment", "wanted"),
    [
        (URI, MONGODB, Login("erika", "her secret")),
        (URI.replace("//", "//erika:her%20secret@"), {}, Login("erika", "her secret")),
        (URI, {}, None),
    ],
)
def test_a_configured_mongodb_is_used_with_the_login_that_is_named(
    address: str, environment: dict[str, str], wanted: Login | None, tmp_path: Path
) -> None:
    reported = Configuration(mongodb=address)
    mine = supervisors_session(session(tmp_path, reported), reported, environment)
    assert (mine.services.mongodb, login_of(mine.services.mongodb)) == (URI, wanted)
    found = with_logins(Session.from_json(mine.to_json()), "bot")
    assert (found.services.mongodb, login_of(found.services.mongodb)) == (URI, wanted)
    assert login_of(found.services.kafka) == own_logins(tmp_path).login("bot")
    for role in ("cep", "logrecorder"):
        assert login_of(with_logins(Session.from_json(mine.to_json()), role).services.mongodb) is None


def test_the_logins_of_parts_go_with_their_session(tmp_path: Path) -> None:
    reported = Configuration(mongodb=URI)
    with session_logins(session(tmp_path, reported), reported, MONGODB):
        assert (tmp_path / "logins" / "bot.json").exists()
    assert [path.name for path in (tmp_path / "logins").iterdir()] == ["own.json"]


async def test_a_start_that_finds_its_mongodb_away_leaves_no_login_of_others_behind(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    away = Configuration(mongodb="mongodb://erika:secret@127.0.0.1:9/?replicaSet=rs0", kafka="127.0.0.1:9")
    options = PaperOptions(port=port)
    with pytest.raises(CannotStartError):
        await run_paper(tmp_path, options, away, lambda _: None)
    assert [path.name for path in (tmp_path / "logins").iterdir()] == ["own.json"]


@pytest.mark.parametrize("mode", ["live", "sandbox"])
def test_real_trading_takes_no_service_that_asks_nobody(mode: str, tmp_path: Path) -> None:
    reported = Configuration(mongodb=URI)
    real = replace(session(tmp_path, reported), mode=mode)  # type: ignore[arg-type]  # a plain str
    with pytest.raises(CannotStartError, match="ARBITRAGE_MONGODB_USER") as rejected:
        supervisors_session(real, reported, {})
    assert "\n" not in str(rejected.value)
    assert login_of(supervisors_session(real, reported, MONGODB).services.mongodb) == Login("erika", "her secret")


def test_a_damaged_file_of_logins_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "logins").mkdir()
    (tmp_path / "logins" / "own.json").write_text("[]")
    (tmp_path / "logins" / "bot.json").write_text("{")
    with pytest.raises(CannotStartError, match=r"own\.json: cannot be used"):
        own_logins(tmp_path)
    with pytest.raises(CannotStartError, match=r"bot\.json: cannot be used"):
        with_logins(session(tmp_path, Configuration()), "bot")


def test_no_process_of_a_session_has_a_login_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address of MongoDB may hold its password."""
    for name in (*LOGIN_VARIABLES, *ENVIRONMENT):
        monkeypatch.setenv(name, "mongodb://erika:secret@db.example")
    assert not [name for name, value in child_environment("kraken", is_notifier=True).items() if "secret" in value]


def test_a_start_takes_the_rights_of_others_away_and_the_doctor_sees_them(tmp_path: Path) -> None:
    home = tmp_path / "data"
    assert rights_finding(home).state == "ok"
    home.mkdir()
    home.chmod(0o755)
    assert rights_finding(home).state == "advice"
    with locked(home):
        assert home.stat().st_mode & 0o777 == 0o700
    assert rights_finding(home).state == "ok"


def test_a_folder_of_ours_with_the_sticky_bit_is_closed_too(tmp_path: Path) -> None:
    home = tmp_path / "data"
    home.mkdir()
    os.chmod(home, 0o1755)
    with locked(home):
        assert is_private(home)


def test_a_folder_that_all_may_write_to_keeps_its_rights(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chmod(shared, 0o1777)
    with locked(shared):
        assert shared.stat().st_mode & 0o7777 == 0o1777
