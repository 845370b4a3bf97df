"""Configured services: the login and TLS of each client, and what is refused before anything is sent."""

from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pymongo.errors import PyMongoError
from pymongo.uri_parser import parse_uri

from launch.commands.doctor import configured_findings
from launch.config.configuration import Configuration, read_configuration
from launch.errors import CannotStartError
from launch.setup.authority_folder import AuthorityFiles, issue_files
from launch.setup.service_logins import (
    configured_kafka_login,
    configured_mongodb,
    is_encrypted,
    places_of,
    without_login,
)
from runtime.certificate_issuing import moment_of
from runtime.clock import wall_now
from runtime.logins import Address, Login
from runtime.loopback import is_loopback
from streams.broker.kafka_users import spark_options
from streams.topic_admin import client_settings

KAFKA = {"ARBITRAGE_KAFKA_USER": "erika", "ARBITRAGE_KAFKA_PASSWORD": "her secret"}
MONGODB = {"ARBITRAGE_MONGODB_USER": "erika", "ARBITRAGE_MONGODB_PASSWORD": "her secret"}
PLAIN = KAFKA | {"ARBITRAGE_KAFKA_PROTOCOL": "SASL_PLAINTEXT"}
LOGIN = Login("erika", "her secret")
URI = "mongodb://db.example:27017/?replicaSet=rs0"
FAR_KAFKA = Configuration(kafka="kafka.example:9093")


@pytest.fixture
def ca(tmp_path: Path) -> Path:
    files = AuthorityFiles(tmp_path / "made")
    list(issue_files(files, [], moment_of(wall_now())))
    return files.ca


def rejected(config: Configuration, environment: dict[str, str]) -> str:
    """Return the sentence, of whichever service is configured."""
    with pytest.raises(CannotStartError) as found:
        configured_mongodb(config, environment) if config.mongodb else configured_kafka_login(config, environment)
    assert "\n" not in str(found.value)
    assert "her secret" not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize("missing", sorted(MONGODB))
def test_half_a_login_is_one_sentence(missing: str) -> None:
    half = {name: value for name, value in MONGODB.items() if name != missing}
    assert f"is set without {missing}; set both" in rejected(Configuration(mongodb=URI), half)


def test_kafka_is_reached_over_tls_unless_it_is_said_otherwise() -> None:
    assert configured_kafka_login(Configuration(), KAFKA) is None
    assert configured_kafka_login(FAR_KAFKA, {}) is None
    assert configured_kafka_login(FAR_KAFKA, KAFKA) == Login("erika", "her secret", "SCRAM-SHA-512", "SASL_SSL")
    named = PLAIN | {"ARBITRAGE_KAFKA_MECHANISM": "PLAIN"}
    here = Configuration(kafka="localhost:9092,127.0.0.1:9093")
    assert configured_kafka_login(here, named) == Login("erika", "her secret", "PLAIN", "SASL_PLAINTEXT")
    assert "known are SCRAM-SHA-256" in rejected(FAR_KAFKA, KAFKA | {"ARBITRAGE_KAFKA_MECHANISM": "GSSAPI"})


def test_the_authority_of_a_kafka_reaches_its_clients_and_spark(
    ca: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "arbitrage.toml").write_text('kafka = "kafka.example:9093"\nkafka_ca = "made/ca.pem"\n')
    monkeypatch.chdir(tmp_path)
    config = read_configuration(None, {})
    address = Address("kafka.example:9093", configured_kafka_login(config, KAFKA))
    assert client_settings(address)["ssl.ca.location"] == str(ca)
    assert client_settings(address)["security.protocol"] == "SASL_SSL"
    options = spark_options(address)
    assert options["kafka.security.protocol"] == "SASL_SSL"
    assert options["kafka.ssl.truststore.location"] == str(ca)
    assert options["kafka.ssl.truststore.type"] == "PEM"


@pytest.mark.parametrize("content", [None, "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
@pytest.mark.parametrize("variable", ["ARBITRAGE_KAFKA_CA", "ARBITRAGE_MONGODB_CA"])
def test_an_authority_that_cannot_be_used_is_one_sentence(
    variable: str, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("ca.pem").write_text(content)
    with pytest.raises(CannotStartError, match=rf"^{variable}: 'ca\.pem' is not a readable file of certificates"):
        read_configuration(None, {variable: "ca.pem"})


@pytest.mark.parametrize(
    ("uri", "wanted"),
    [
        ("mongodb://db.example", "mongodb://db.example/?tls=true&tlsCAFile={ca}"),
        ("mongodb://db.example/", "mongodb://db.example/?tls=true&tlsCAFile={ca}"),
        (URI, URI + "&tls=true&tlsCAFile={ca}"),
        (f"{URI}&TLS=True", URI + "&TLS=True&tlsCAFile={ca}"),
        ("mongodb://db.example/?replicaSet=a;w=1", "mongodb://db.example/?replicaSet=a;w=1;tls=true;tlsCAFile={ca}"),
        ("mongodb+srv://erika:her%20secret@db.example", "mongodb+srv://db.example/?tls=true&tlsCAFile={ca}"),
    ],
)
def test_the_authority_of_a_mongodb_is_part_of_its_address(uri: str, wanted: str, ca: Path) -> None:
    found = configured_mongodb(Configuration(mongodb=uri, mongodb_ca=str(ca)), MONGODB)
    assert found == (wanted.format(ca=ca), LOGIN)


@pytest.mark.parametrize(
    ("more", "words"),
    [("&tlsCAFile=/other.pem", "has a tlsCAFile; remove one"), ("&tls=false", "switches TLS off; remove one")],
)
def test_an_address_that_contradicts_the_authority_is_one_sentence(more: str, words: str, ca: Path) -> None:
    assert words in rejected(Configuration(mongodb=URI + more, mongodb_ca=str(ca)), MONGODB)


@pytest.mark.parametrize(
    ("config", "environment"),
    [
        ({"kafka": "kafka.example:9092"}, PLAIN),
        ({"kafka": "127.0.0.1:9092,10.0.0.5:9092"}, PLAIN),
        ({"kafka": "127.evil.example:9092"}, PLAIN),
        ({"mongodb": URI}, MONGODB),
        ({"mongodb": "mongodb://erika:her%20secret@db.example/"}, {}),
        ({"mongodb": "mongodb://erika:her%20secret@localhost,[2001:db8::1]:27017"}, {}),
        ({"mongodb": f"{URI}&tls=false"}, MONGODB),
        ({"mongodb": "mongodb+srv://db.example/?ssl=false"}, MONGODB),
        ({"mongodb": URI, "plain_text_hosts": ["kafka"]}, MONGODB),
        ({"mongodb": "mongodb://db.example/?appName=x://localhost"}, MONGODB),
        ({"mongodb": "mongodb://db.example?appName=a@localhost"}, MONGODB),
        ({"mongodb": "mongodb://erika:her%20secret@db.example?appName=a:b@localhost"}, {}),
        ({"mongodb": f"{URI}&tls=true&TLS=false"}, MONGODB),
        ({"mongodb": f"{URI}&tls=true&ssl=false"}, MONGODB),
        ({"mongodb": f"{URI}&ssl=false&tls=true"}, MONGODB),
        ({"mongodb": "mongodb://db.example/?replicaSet=rs0;tls=false"}, MONGODB),
        ({"mongodb": "mongodb+srv://localhost/?tls=false"}, MONGODB),
        ({"mongodb": "mongodb://127.evil.example,localhost.example,127.1/"}, MONGODB),
        ({"mongodb": "mongodb://[::ffff:192.0.2.7]/"}, MONGODB),
        ({"mongodb": f"{URI}&authMechanism=MONGODB-OIDC"}, {}),
    ],
)
def test_no_password_goes_to_another_machine_in_plain_text(config: dict[str, Any], environment: dict[str, str]) -> None:
    sentence = rejected(Configuration(**config), environment)
    assert "without TLS; set" in sentence
    assert "plain_text_hosts" in sentence


@pytest.mark.parametrize(
    "uri",
    [
        "mongodb://localhost:27017/?replicaSet=rs0",
        "mongodb://127.0.0.5,[::1]:27017",
        "mongodb://%2Ftmp%2Fmongodb-27017.sock/",
        f"{URI}&tls=true",
        f"{URI}&ssl=true",
        f"{URI}&tls=%74rue",
        "mongodb://DB.Example:27017/?replicaSet=rs0;tls=true",
        "mongodb+srv://db.example/",
    ],
)
def test_a_password_goes_by_loopback_or_tls(uri: str) -> None:
    assert configured_mongodb(Configuration(mongodb=uri), MONGODB) == (uri, LOGIN)


@pytest.mark.parametrize(
    "option",
    ["tlsInsecure=true", "tlsinsecure=%74rue", "tlsAllowInvalidHostnames=true", "TLSALLOWINVALIDCERTIFICATES=1"],
)
def test_no_password_goes_to_whoever_answers(option: str, ca: Path) -> None:
    insecure = f"{URI}&tls=true&{option}"
    with_ca = Configuration(mongodb=insecure, mongodb_ca=str(ca))
    assert "mongodb_ca is set, but the address of mongodb has tls" in rejected(with_ca, {})
    assert "would go to whoever answers for db.example" in rejected(Configuration(mongodb=insecure), MONGODB)


def test_hosts_whose_network_nobody_else_reads_are_named_by_the_user() -> None:
    config = read_configuration(
        None,
        {
            "ARBITRAGE_KAFKA": "kafka:9092",
            "ARBITRAGE_MONGODB": "mongodb://MongoDB/",
            "ARBITRAGE_PLAIN_TEXT_HOSTS": "Kafka, mongodb",
        },
    )
    login = configured_kafka_login(config, PLAIN)
    assert login is not None
    assert login.protocol == "SASL_PLAINTEXT"
    assert configured_mongodb(config, MONGODB) == ("mongodb://MongoDB/", LOGIN)


def test_an_authority_without_tls_is_one_sentence(ca: Path) -> None:
    config = Configuration(kafka="127.0.0.1:9092", kafka_ca=str(ca))
    assert "kafka_ca is set without a login" in rejected(config, {})
    assert "SASL_PLAINTEXT, which has no TLS" in rejected(config, PLAIN)


@pytest.mark.parametrize(
    "uri", [URI, "mongodb+srv://db.example/", "mongodb://user@db.example/?tls=true&authMechanism=MONGODB-X509"]
)
def test_an_address_without_a_password_stays_as_it_is(uri: str) -> None:
    assert without_login(uri) == (uri, None)
    assert configured_mongodb(Configuration(mongodb=uri), {}) == (uri, None)


@pytest.mark.parametrize(
    ("address", "places"),
    [
        ("Kafka:9092,10.0.0.5:9093", [("kafka", 9092), ("10.0.0.5", 9093)]),
        ("mongodb://a:1,b/?x=c:2,d@e", [("a", 1), ("b", 27017)]),
        ("mongodb://u@[::1]:2,[2001:db8::1]?x=y", [("::1", 2), ("2001:db8::1", 27017)]),
    ],
)
def test_the_places_of_an_address(address: str, places: list[tuple[str, int]]) -> None:
    assert list(places_of(address)) == places


def test_the_doctor_says_what_is_refused() -> None:
    (finding,) = configured_findings(FAR_KAFKA, PLAIN)
    assert (finding.state, "kafka.example without TLS" in finding.text) == ("missing", True)


@pytest.mark.parametrize(
    "kafka",
    [
        "127.0.0.1/,kafka.example:9092",
        "kafka.example:9092,x@127.0.0.1:9092",
        "127.0.0.1?,kafka.example:9092",
        "127.0.0.1,kafka.example:9092",
        "SASL_PLAINTEXT://kafka.example:9092",
        "127.0.0.1:9092,",
        "127.0.0.1:9092, kafka.example:9092",
        "127.0.0.1:9092;kafka.example:9092",
        "kafka..example:9092",
        "kafka.example:99999",
        "kafka.example:0",
        "",
    ],
)
def test_a_list_of_hosts_that_clients_may_read_differently_is_one_sentence(kafka: str, tmp_path: Path) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text(f'kafka = "{kafka}"\n')
    with pytest.raises(CannotStartError, match=r"kafka: must have the form HOST:PORT, several of them with commas"):
        read_configuration(path, {})


@pytest.mark.parametrize(
    "uri",
    [
        "mongodb://erika:her secret".replace(" ", "/") + "@db.example/",
        "mongodb://erika:her?secret@db.example/",
        "mongodb://erika:hersecret",
        "mongodb://erika/her@secret",
        "mongodb://%2Fdb.example/",
        "mongodb://db.example,/",
        "mongodb://localhost\\/",
        "mongodb+srv://db..example/",
        "mongodb://db.example:99999/",
    ],
)
def test_hosts_that_cannot_be_read_are_one_sentence_without_the_password(uri: str) -> None:
    sentence = rejected(Configuration(mongodb=uri), MONGODB)
    assert sentence.startswith("mongodb: its hosts cannot be read; write it as in mongodb://HOST:PORT")
    assert "secret" not in sentence


def test_the_doctor_reads_a_password_with_brackets() -> None:
    uri = "mongodb://erika:her[secret@127.0.0.1:1/?tls=false"
    texts = [finding.text for finding in configured_findings(Configuration(mongodb=uri), {})]
    assert texts
    assert not any("secret" in text for text in texts)


HOSTS = ["db.example", "LOCALHOST:1,db.example", "127.0.0.1", "[::1]:2", "%2Ftmp%2Fa.sock"]
WORDS = ["", "erika:her%40@", "a:b@localhost@", "localhost/@", "localhost?@", "localhost,"]
PATHS = ["", "/", "/x", "/@localhost/", "//localhost"]
OPTIONS = ["", "tls=true", "tls=%74rue&ssl=true", "tls=false&tls=true", "tls=true&TLS=false", "ssl=false&tls=true"]
OPTIONS += ["tls=true;ssl=false", "tls=true&tlsInsecure=%74rue", "appName=a://localhost", "appName=x:y@localhost/"]


@pytest.mark.filterwarnings("ignore:Duplicate URI option")
def test_what_is_accepted_is_read_by_mongodbs_driver_as_by_us() -> None:
    """Each word at each place; the driver may refuse more."""
    compared = 0
    for word, hosts, path, options in product(WORDS, HOSTS, PATHS, OPTIONS):
        uri = f"mongodb://{word}{hosts}{path}?{options}"
        try:
            address, login = configured_mongodb(Configuration.model_construct(mongodb=uri), MONGODB)
            read = parse_uri(address)
        except (CannotStartError, PyMongoError, ValueError):
            continue
        compared += 1
        read_places = [
            (quote(host, "").lower(), 27017) if port is None else (host, port) for host, port in read["nodelist"]
        ]
        assert read_places == list(places_of(address)), uri
        assert read["options"].get("tls", False) == is_encrypted(address), uri
        assert login == LOGIN
        is_near = all(is_loopback(host) or port is None for host, port in read["nodelist"])
        assert is_near or (read["options"]["tls"] and not read["options"].get("tlsInsecure")), uri
    assert compared > 200
