"""The file of parts apart: no engine runs here, so it is held against the specification and against our own command."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from exchanges.credentials import credentials_path
from launch.commands.entry_points import parser_of_commands
from launch.setup.data_dir import read_session
from launch.setup.login_files import FOLDER
from launch.setup.login_rights import ROLES, SUPERVISOR
from session.session import Session
from tests.deploy.described_session import IMAGE_HOME, assert_all_exchanges_are_called, login_by, made_by_page
from tests.docker.shared_folders import assert_apps_reach_what_they_need

DOCKER = Path(__file__).parents[2] / "docker"
COMPOSE: dict[str, Any] = yaml.safe_load((DOCKER / "compose-apart.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
SERVERS = ("kafka", "mongodb")
PARTS = {name: service for name, service in SERVICES.items() if name not in SERVERS}
WITH_KEYS = ("exchanges", "feed", "bot")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_by_page("docker/session", tmp_path_factory.mktemp("made") / "session")


@pytest.fixture(scope="module")
def session(made: Path) -> Session:
    return read_session(made)


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Where it is in the container → what it is."""
    return {words[1]: words[0] for words in (row.split(":") for row in service["volumes"])}


def kind_of(name: str) -> str:
    return name.partition("-")[0]


def test_it_follows_the_specification_and_refers_to_what_is_there() -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    jsonschema.Draft201909Validator(schema).validate(COMPOSE)
    for service in SERVICES.values():
        assert set(service.get("depends_on", {})) <= set(SERVICES)
        named = {source for source in mounts(service).values() if not source.startswith("./")}
        assert named <= set(COMPOSE["volumes"])


def test_each_command_is_ours_and_every_exchange_has_its_feed_and_two_bots(session: Session) -> None:
    for name, service in PARTS.items():
        command = parser_of_commands().parse_args(service["command"])
        words = [kind_of(name), *([command.name] if kind_of(name) in ("feed", "bot") else [])]
        assert "-".join(words) == name
        assert command.command == ("apart" if name == "prepare" else kind_of(name))
        assert service.get("deploy", {}).get("replicas", 1) == (2 if kind_of(name) == "bot" else 1)
    for kind in ("feed", "bot"):
        assert [name for name in PARTS if kind_of(name) == kind] == [f"{kind}-{each}" for each in session.exchanges]


@pytest.mark.parametrize("name", [name for name in PARTS if name != "prepare"])
def test_each_part_has_its_own_login_and_no_other(name: str, made: Path) -> None:
    found, home, kind = mounts(PARTS[name]), IMAGE_HOME, kind_of(name)
    assert found[str(home / "run.json")] == "./session/run.json"
    logins = {path: source for path, source in found.items() if f"/{FOLDER}" in path}
    own = {str(home / FOLDER / f"{kind}.json"): f"./session/{FOLDER}/{kind}.json"}
    assert logins == (own if kind in ROLES else {})
    assert (str(credentials_path(home)) in found) == (kind in WITH_KEYS)
    for source in found.values():
        assert not source.startswith("./session/") or (made / source.removeprefix("./session/")).exists()


def test_published_apps_share_the_dashboards_folder_and_read_detections_beginning() -> None:
    assert_apps_reach_what_they_need(PARTS)


def test_the_owner_makes_the_users_with_the_login_that_the_servers_know(session: Session) -> None:
    arguments = parser_of_commands().parse_args(PARTS["prepare"]["command"])
    found = mounts(PARTS["prepare"])
    assert (arguments.work, arguments.users) == ("prepare", True)
    assert found[str(arguments.config)] == "./apart.toml"
    assert found[str(IMAGE_HOME / FOLDER)] == f"./session/{FOLDER}"
    kafka, mongodb = (SERVICES[name]["environment"] for name in SERVERS)
    owner, feed = login_by(session, SUPERVISOR, "kafka"), login_by(session, "feed", "kafka")
    assert owner is not None
    assert feed is not None
    assert kafka["KAFKA_SASL_ENABLED_MECHANISMS"].split(",") == [owner.mechanism, feed.mechanism]
    assert f"CLIENT:{owner.protocol}" in kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    assert f"user_{SUPERVISOR}=" in kafka["KAFKA_LISTENER_NAME_CLIENT_PLAIN_SASL_JAAS_CONFIG"]
    assert f"User:{SUPERVISOR}" in kafka["KAFKA_SUPER_USERS"].split(";")
    assert mongodb["MONGO_INITDB_ROOT_USERNAME"] == SUPERVISOR


def test_addresses_and_ports_are_those_of_the_session(session: Session) -> None:
    assert (
        session.services.kafka
        == SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"].split("//")[1].split(",")[0]
    )
    assert session.services.mongodb == "mongodb://mongodb:27017/?replicaSet=rs0"
    assert "--replSet rs0" in SERVICES["mongodb"]["entrypoint"][2]
    assert (session.simulated.url, session.page.host) == ("http://exchanges:8100", "0.0.0.0")
    assert PARTS["ui"]["ports"] == [f"127.0.0.1:{session.page.port}:{session.page.port}"]
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["ui"]


async def test_bots_and_feeds_may_call_the_exchanges_where_the_session_has_them(session: Session) -> None:
    await assert_all_exchanges_are_called(session)
