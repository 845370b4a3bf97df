"""The file of one region of three: held against the specification, our own command and what a region of ours has."""

import json
from pathlib import Path
from string import Template
from typing import Any

import jsonschema
import pytest
import yaml

from exchanges.credentials import credentials_path
from launch.commands.apart import MIRROR_FILE, STORE
from launch.commands.entry_points import parser_of_commands
from launch.regions.apart import store_of
from launch.regions.network.namespaces import IMPATIENT
from launch.setup.data_dir import read_session
from launch.setup.login_files import FOLDER, with_logins
from launch.setup.login_rights import ROLES, SUPERVISOR
from runtime.logins import login_of
from session.session import Session
from store.server.embedded_mongod import ABANDONED, COPYING, LEAVING
from tests.deploy.described_session import IMAGE_HOME, made_by_page
from tests.docker.shared_folders import assert_apps_reach_what_they_need

DOCKER = Path(__file__).parents[2] / "docker"
TEXT = (DOCKER / "compose-region.yaml").read_text()
REGIONS = ("us", "eu", "jp")
SERVERS = ("kafka", "mongodb", "mirror")
WITH_KEYS = ("exchanges", "feed", "bot")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_by_page("docker/regions", tmp_path_factory.mktemp("made") / "regions")


def compose(region: str) -> dict[str, Any]:
    """As Compose reads it on the host of that region, without the messages for variables that are missing."""
    given = {"REGION": region, "HOST": f"{region}.internal", "OWNER_PASSWORD": "owner"}
    plain = TEXT
    for name in given:
        first, *rest = plain.split(f"${{{name}:?")
        plain = first + "".join(f"${{{name}}}{after.partition('}')[2]}" for after in rest)
    found: dict[str, Any] = yaml.safe_load(Template(plain).substitute(given))
    return found


def started(region: str) -> dict[str, dict[str, Any]]:
    """Return the services of that host."""
    services = compose(region)["services"]
    return {name: one for name, one in services.items() if region in one.get("profiles", [region])}


def parts_of(region: str) -> dict[str, dict[str, Any]]:
    return {name: one for name, one in started(region).items() if name not in SERVERS}


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Where it is in the container → what it is."""
    return {words[1]: words[0] for words in (row.split(":") for row in service["volumes"])}


def kind_of(name: str) -> str:
    return name.partition("-")[0]


def session_of(made: Path, region: str) -> Session:
    return read_session(made / region)


@pytest.mark.parametrize("region", REGIONS)
def test_it_follows_the_specification_and_refers_to_what_is_there(region: str) -> None:
    file = compose(region)
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    jsonschema.Draft201909Validator(schema).validate(file)
    for service in started(region).values():
        assert set(service.get("depends_on", {})) <= set(started(region))
        named = {source for source in mounts(service).values() if not source.startswith("./")}
        assert named <= set(file["volumes"])


@pytest.mark.parametrize("region", REGIONS)
def test_each_region_starts_its_exchanges_and_no_others(made: Path, region: str) -> None:
    session, parts = session_of(made, region), parts_of(region)
    for name, service in parts.items():
        command = parser_of_commands().parse_args(service["command"])
        words = [kind_of(name), *([command.name] if kind_of(name) in ("feed", "bot") else [])]
        assert "-".join(words) == name
        assert command.command == ("apart" if name == "prepare" else kind_of(name))
    for kind in ("feed", "bot"):
        assert {name for name in parts if kind_of(name) == kind} == {
            f"{kind}-{each}" for each in session.exchanges_here
        }
    # one simulated market for all regions
    assert ("exchanges" in parts) == (session.simulated.url == f"http://{region}.internal:8100")


@pytest.mark.parametrize("region", REGIONS)
def test_each_part_has_its_own_login_and_no_other(made: Path, region: str) -> None:
    for name, service in parts_of(region).items():
        found, home, kind = mounts(service), IMAGE_HOME, kind_of(name)
        assert found[str(home / "run.json")] == f"./regions/{region}/run.json"
        own = {str(home / FOLDER / f"{kind}.json"): f"./regions/{region}/{FOLDER}/{kind}.json"} if kind in ROLES else {}
        if kind == "prepare":
            own = {str(home / each): f"./regions/{region}/{each}" for each in (FOLDER,)}
            assert found[str(home / STORE)] == f"./regions/{region}/{STORE}"
        assert {path: source for path, source in found.items() if f"/{FOLDER}" in path} == own
        assert (str(credentials_path(home)) in found) == (kind in WITH_KEYS)
        for source in found.values():
            kept = made / source.removeprefix("./regions/")
            # docker makes an empty folder of one that is not there
            assert not source.startswith("./regions/") or kept.exists() or kept.name == STORE


@pytest.mark.parametrize("region", REGIONS)
def test_published_apps_share_the_dashboards_folder_and_read_detections_beginning(region: str) -> None:
    assert_apps_reach_what_they_need(parts_of(region))


@pytest.mark.parametrize("region", REGIONS)
def test_servers_are_where_the_session_says_with_its_certificates_and_logins(made: Path, region: str) -> None:
    session, services = session_of(made, region), started(region)
    kafka, mongodb, mirror = (services[name] for name in SERVERS)
    advertised = kafka["environment"]["KAFKA_ADVERTISED_LISTENERS"].split(",")[0]
    assert advertised == f"CLIENT://{session.services.kafka}"
    mine = with_logins(session, "feed")
    feed, owner = login_of(mine.services.kafka), login_of(with_logins(session, SUPERVISOR).services.kafka)
    assert feed is not None
    assert owner is not None
    assert kafka["environment"]["KAFKA_SASL_ENABLED_MECHANISMS"].split(",") == [owner.mechanism, feed.mechanism]
    assert f"CLIENT:{feed.protocol}" in kafka["environment"]["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"].split(",")
    member = next(one for one in store_of(session).members if one.region == region)
    assert mongodb["ports"] == [f"{member.address.rpartition(':')[2]}:27017"]
    words = mongodb["entrypoint"][2]
    for name, setting in (ABANDONED, COPYING, LEAVING):
        assert f"{name} {setting}" in words
    assert mongodb["sysctls"] == {f"net.ipv4.{name}": value for name, value in IMPATIENT.items()}
    assert "--tlsMode requireTLS" in words
    # parts, and MirrorMaker, know both servers by the file that `apart make` names
    for name, service in {**parts_of(region), "mirror": mirror}.items():
        assert name == "exchanges" or mounts(service)[feed.ca] == "./certificates/ca.pem"
    assert mirror["command"][1:] == ["--clusters", region]
    assert mounts(mirror)[mirror["command"][0]] == f"./regions/{region}/{MIRROR_FILE}"
    for service in (kafka, mongodb):
        assert f"./certificates/servers/{region}.internal.pem" in mounts(service).values()


def test_what_is_open_to_other_hosts_asks_for_tls_or_is_the_simulated_exchanges() -> None:
    open_ports = {name: one["ports"] for name, one in started("us").items() if "ports" in one}
    assert set(open_ports) == {"kafka", "mongodb", "exchanges", "ui"}
    assert open_ports["ui"] == ["127.0.0.1:8000:8000"]


def test_secrets_stay_out_of_git_and_of_the_image() -> None:
    for ignored in (".gitignore", ".dockerignore"):
        lines = {line.rstrip("/") for line in (DOCKER.parent / ignored).read_text().splitlines()}
        assert {"docker/regions", "docker/certificates"} <= lines
