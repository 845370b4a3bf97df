"""A configured Kafka and MongoDB are used instead of the embedded ones."""

import json
from pathlib import Path

import pytest

from tests.secured_services import secured_kafka, secured_mongod
from tests.services import LOGIN
from tests.whole.running import new_home, running_paper

LOGINS = {
    "ARBITRAGE_KAFKA_USER": LOGIN.user,
    "ARBITRAGE_KAFKA_PASSWORD": LOGIN.password,
    "ARBITRAGE_KAFKA_MECHANISM": LOGIN.mechanism,
    "ARBITRAGE_KAFKA_PROTOCOL": LOGIN.protocol,
    "ARBITRAGE_MONGODB_USER": LOGIN.user,
    "ARBITRAGE_MONGODB_PASSWORD": LOGIN.password,
}

pytestmark = pytest.mark.whole


@pytest.mark.soak
def test_configured_addresses_replace_the_embedded_services(
    tmp_path: Path, kafka_address: str, mongodb_uri: str
) -> None:
    home = new_home(tmp_path / "home")
    configuration = tmp_path / "arbitrage.toml"
    configuration.write_text(f'kafka = "{kafka_address}"\nmongodb = "{mongodb_uri}"\n')
    out = home / "out.json"
    words = ("--config", str(configuration), "--seconds", "15", "--json", str(out))
    with running_paper(home, *words, environment=LOGINS) as paper:
        assert paper.process.wait(timeout=300) == 0, paper.said
    assert json.loads(out.read_text())["balanced"] is True
    assert not (home / "kafka").exists()
    assert not (home / "mongodb").exists()


def test_a_session_trades_over_tls_with_spark_as_well(tmp_path: Path) -> None:
    """Each part reaches a Kafka and a MongoDB that take no plain text: feeds, bots, the dashboard, and Spark's Java."""
    home = new_home(tmp_path / "home")
    configuration, out = tmp_path / "arbitrage.toml", home / "out.json"
    environment = LOGINS | {"ARBITRAGE_KAFKA_PROTOCOL": "SASL_SSL"}
    words = ("--config", str(configuration), "--seconds", "15", "--json", str(out))
    with secured_kafka(tmp_path / "kafka") as kafka, secured_mongod(tmp_path / "mongodb") as mongodb:
        configuration.write_text(
            f'kafka = "{kafka.place("CLIENT")}"\nkafka_ca = "{kafka.files.ca}"\n'
            f'mongodb = "mongodb://127.0.0.1:{mongodb.port}/?replicaSet=rs0"\nmongodb_ca = "{mongodb.files.ca}"\n'
        )
        with running_paper(home, *words, environment=environment) as paper:
            assert paper.process.wait(timeout=300) == 0, paper.said
    summary = json.loads(out.read_text())
    assert summary["balanced"] is True
    assert not (home / "kafka").exists()
    assert not (home / "mongodb").exists()
    # what Spark finds comes back by Kafka alone
    assert summary["opportunities"] > 0
