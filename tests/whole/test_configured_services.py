"""A configured Kafka and MongoDB are used instead of the embedded ones."""

import json
from pathlib import Path

import pytest

from tests.whole.running import new_home, running_paper

pytestmark = pytest.mark.whole


def test_configured_addresses_replace_the_embedded_services(
    tmp_path: Path, kafka_address: str, mongodb_uri: str
) -> None:
    home = new_home(tmp_path / "home")
    configuration = tmp_path / "arbitrage.toml"
    configuration.write_text(f'kafka = "{kafka_address}"\nmongodb = "{mongodb_uri}"\n')
    out = home / "out.json"
    with running_paper(home, "--config", str(configuration), "--seconds", "15", "--json", str(out)) as paper:
        assert paper.process.wait(timeout=300) == 0, paper.said
    assert json.loads(out.read_text())["balanced"] is True
    assert not (home / "kafka").exists()
    assert not (home / "mongodb").exists()
