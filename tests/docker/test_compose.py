"""No engine runs here, so the compose file is held against the specification and against our own command.

`compose-spec.json` is the Compose Specification's schema (Apache-2.0, licence beside it).
"""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from launch.commands.entry_points import parser_of_commands
from launch.config.configuration import read_configuration
from launch.config.configuration_sources import ENVIRONMENT
from launch.errors import CannotStartError
from launch.setup.service_logins import LOGIN_VARIABLES, configured_kafka_login, configured_mongodb

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text())
DOCKERFILE = (ROOT / "docker" / "Dockerfile").read_text()


def test_the_image_has_byte_code_of_all_packages() -> None:
    """Its user can write none, so each process would compile what it imports anew."""
    installs = re.findall(r"pip install [^\n]*", DOCKERFILE)
    assert len(installs) == 2
    assert not any("--no-compile" in one for one in installs)
    assert "PYTHONDONTWRITEBYTECODE" not in DOCKERFILE


def test_follows_the_compose_specification() -> None:
    schema = json.loads((Path(__file__).parent / "compose-spec.json").read_text())
    jsonschema.Draft201909Validator(schema).validate(COMPOSE)


def test_every_command_is_one_of_ours() -> None:
    arguments = parser_of_commands().parse_args(COMPOSE["services"]["arbitrage"]["command"])
    assert arguments.command == "paper"
    assert arguments.port == 8000


def test_every_variable_of_ours_is_read_by_the_configuration() -> None:
    ours = {name for name in COMPOSE["services"]["arbitrage"]["environment"] if name.startswith("ARBITRAGE_")}
    assert ours <= {*ENVIRONMENT, *LOGIN_VARIABLES}


def test_the_logins_of_its_containers_are_not_refused() -> None:
    environment = COMPOSE["services"]["arbitrage"]["environment"]
    config = read_configuration(None, environment)
    login, (_, in_mongodb) = configured_kafka_login(config, environment), configured_mongodb(config, environment)
    assert login is not None
    assert (login.user, login.protocol) == ("arbitrage", "SASL_PLAINTEXT")
    assert in_mongodb is not None
    without = {name: value for name, value in environment.items() if name != "ARBITRAGE_PLAIN_TEXT_HOSTS"}
    with pytest.raises(CannotStartError, match="would go to kafka without TLS"):
        configured_kafka_login(read_configuration(None, without), without)


@pytest.mark.parametrize(("service", "variable"), [("kafka", "ARBITRAGE_KAFKA"), ("mongodb", "ARBITRAGE_MONGODB")])
def test_addresses_name_services_of_the_file(service: str, variable: str) -> None:
    assert service in COMPOSE["services"]
    assert f"{service}:" in COMPOSE["services"]["arbitrage"]["environment"][variable]


def test_the_published_port_is_the_one_listened_on_and_loopback_only() -> None:
    host, published, inside = COMPOSE["services"]["arbitrage"]["ports"][0].split(":")
    command = COMPOSE["services"]["arbitrage"]["command"]
    assert (host, published, inside) == ("127.0.0.1", "8000", command[command.index("--port") + 1])


def test_volumes_are_declared_and_depended_services_exist() -> None:
    for service in COMPOSE["services"].values():
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in COMPOSE["volumes"]
        assert set(service.get("depends_on", {})) <= set(COMPOSE["services"])


def test_the_image_copies_what_exists_and_runs_our_command() -> None:
    lines = [shlex.split(line) for line in DOCKERFILE.splitlines() if line.startswith("COPY")]
    for _, *sources, _ in lines:
        assert all((ROOT / source).exists() for source in sources)
    assert 'ENTRYPOINT ["arbitrage"]' in DOCKERFILE


def test_the_health_check_asks_the_page_where_it_listens() -> None:
    """`/api/health` and not `/api/ready`: a page that says what is down is in order."""
    service = COMPOSE["services"]["arbitrage"]
    command, *_, code = service["healthcheck"]["test"]
    assert command == "CMD"
    compile(code, "healthcheck", "exec")
    port = service["command"][service["command"].index("--port") + 1]
    assert f"http://127.0.0.1:{port}/api/health'" in code


def test_the_image_is_of_no_machine() -> None:
    assert not re.search(r"amd64|arm64|x86|aarch64|--platform", DOCKERFILE.replace("on amd64 and arm64", ""))


def test_the_line_of_the_readme_runs_the_image_on_loopback_alone() -> None:
    (line,) = re.findall(r"^docker run .*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    words = shlex.split(line.partition(" $(")[0])
    assert words[words.index("-p") + 1] == "127.0.0.1:8000:8000"
    variable, _, value = words[words.index("-e") + 1].partition("=")
    assert read_configuration(None, {variable: value}).bind == "0.0.0.0"
    assert (ROOT / re.findall(r"-f (\S+)", line)[0]).exists()
