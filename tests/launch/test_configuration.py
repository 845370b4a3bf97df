"""A user's mistake in the configuration gets one sentence that names the place."""

from pathlib import Path

import pytest

from cep.apps.functions.operator_terms import BrokerTerms
from exchanges.catalogue import EXCHANGES
from launch.config.apps import operator_terms
from launch.config.configuration import read_configuration
from launch.errors import CannotStartError
from launch.sessions.paper import paper_settings
from simulators.catalogue import EXCHANGES as SIMULATED


def test_defaults_where_no_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_configuration(None, {}).port == 8000


def test_a_full_file(tmp_path: Path) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text('kafka = "10.0.0.1:9092"\nexchanges = ["kraken"]\n[settings]\nmin_net_bps = 7.5\n')
    configuration = read_configuration(path, {})
    assert (configuration.kafka, configuration.exchanges) == ("10.0.0.1:9092", ("kraken",))
    assert configuration.settings == {"min_net_bps": 7.5}
    assert configuration.feeds.stale_after_ms == 3_000


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("port = ", "end of document"),
        ("port = 0", "port"),
        ("colour = 1", "colour"),
        ('kafka = "nowhere"', "kafka"),
        ('mongodb = "http://x"', "mongodb"),
        ("[feeds]\nstale_after_ms = 499", "feeds.stale_after_ms"),
        ("[feeds]\nstale_after_ms = 60001", "feeds.stale_after_ms"),
        ("[feeds]\nstale = 1", "feeds.stale"),
        ("feeds = 1", "feeds: must be a table"),
        ('[exchange]\nkraken = "public"', "exchange.kraken: must be a table"),
        ("[paper.balances]\nkraken = 1", "paper.balances.kraken: must be a table"),
        ('[exchange.kraken]\nurl = "http://me:word@x"', "exchange.kraken.url: must hold no name"),
        (
            '[apps.addresses]\n"https://a.org/x" = "https://b.org"',
            "apps.addresses: 'https://a.org/x': write scheme and",
        ),
        ('[apps.addresses]\n"a.org" = "https://b.org"', "apps.addresses: 'a.org': write scheme and host alone"),
        ('[apps.addresses]\n"https://a.org" = "b.org"', "'https://a.org': 'b.org' is no address; write"),
        (
            '[apps.addresses]\n"https://a.org" = "simulated:nosuch"',
            "no exchange 'nosuch' is simulated; there are binance",
        ),
        ('[apps.servers."mqtt://m"]\naddress = "mqtt://h:1"', "apps.servers: 'mqtt://m': write scheme://host:port"),
        ('[apps.servers."mqtt://m:1"]\naddress = "mqtt://me:word@h:1"', "is no address; write scheme://host:port"),
        ('[apps.servers."mqtt://m:1"]\naddress = "mongodb://h:1"', "'mongodb://h:1' is of another kind"),
        ('[apps.folders]\n"../feeds" = "."', "name a folder with letters"),
        ('[apps.servers."mqtt://m:1"]\naddress = "mqtt://h:70000"', "is no address; write scheme://host:port"),
        ('[apps.receive]\nlisten = "127.0.0.1:70000"\nkeys_file = "k"', "no port is above 65535"),
        ('[apps.receive]\nlisten = "0.0.0.0:80"\nkeys_file = "k"', "without a certificate shows keys and rows"),
        ('[apps.brokers."K:1"]\naddress = "k:1"', "apps.brokers: 'K:1': write host:port in small letters"),
        ('[apps.brokers."k:1"]\naddress = "me:word@k:1"', "'me:word@k:1' is no address; write host:port"),
        ('[apps.brokers."k:1"]\naddress = "k:1"\nreads = ["*"]', "'\\*' is no name of a topic; write each whole"),
        ('[apps.brokers."k:1"]\naddress = "session"\nlogin_file = "a"', "the session's Kafka has its own login"),
        ('[apps.brokers."k:1"]\nreads = ["a"]', "apps.brokers.k:1.address: is missing"),
        ('[transfers.kraken.BTC]\nminimum = "1"', "transfers.kraken.BTC.fee: is missing"),
    ],
)
def test_a_broken_file_is_one_sentence(tmp_path: Path, text: str, place: str) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text(text)
    with pytest.raises(CannotStartError, match=place) as caught:
        read_configuration(path, {})
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


def test_addresses_of_requests_are_read(tmp_path: Path) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text('[apps.addresses]\n"https://a.org" = "simulated:kraken"\n"http://b.org:80" = "https://B.org/x?y=1"')
    addresses = {"https://a.org": "simulated:kraken", "http://b.org:80": "https://B.org/x?y=1"}
    assert read_configuration(path, {}).apps.addresses == addresses


def test_brokers_of_apps_are_the_operators_terms(tmp_path: Path) -> None:
    path = tmp_path / "arbitrage.toml"
    text = '[apps.brokers."k:1,l:2"]\naddress = "m:3"\nreads = ["a"]\nwrites = ["b"]\nlogin_file = "c"'
    path.write_text(f'{text}\n[apps.brokers."n:4"]\naddress = "session"')
    assert operator_terms(read_configuration(path, {}).apps).brokers == (
        BrokerTerms("k:1,l:2", "m:3", ("a",), ("b",), Path("c")),
        BrokerTerms("n:4", "session"),
    )


def test_every_simulated_exchange_may_be_asked() -> None:
    assert sorted(SIMULATED) == sorted(EXCHANGES)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match="cannot be read"):
        read_configuration(tmp_path / "none.toml", {})


def test_the_environment_stands_above_the_file(tmp_path: Path) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text('kafka = "10.0.0.1:9092"\nport = 8001\n')
    configuration = read_configuration(path, {"ARBITRAGE_KAFKA": "kafka:9092"})
    assert (configuration.kafka, configuration.port) == ("kafka:9092", 8001)


def test_a_broken_variable_is_named(tmp_path: Path) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text("")
    with pytest.raises(CannotStartError, match="ARBITRAGE_KAFKA"):
        read_configuration(path, {"ARBITRAGE_KAFKA": "nonsense"})


@pytest.mark.parametrize(
    ("environment", "text", "sentence"),
    [
        ({"ARBITRAGE_PORT": "abc"}, None, "ARBITRAGE_PORT: must be a whole number."),
        (
            {"ARBITRAGE_PORT": "0"},
            "colour = 1",
            "FILE: colour: there is no such setting; ARBITRAGE_PORT: must be at least 1.",
        ),
        ({"ARBITRAGE_BIND": "::1"}, "port = 70000", "FILE: port: must be at most 65,535."),
    ],
)
def test_each_fault_is_where_it_was_written(
    tmp_path: Path, environment: dict[str, str], text: str | None, sentence: str
) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text(text or "")
    with pytest.raises(CannotStartError) as rejected:
        read_configuration(path, environment)
    assert str(rejected.value).replace(str(path), "FILE") == sentence


def test_first_settings_that_are_wrong_name_their_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[settings]\nmin_net_bps = 20000\n")
    with pytest.raises(CannotStartError) as rejected:
        paper_settings(read_configuration(path, {}))
    assert str(rejected.value) == f"{path}: [settings]: min_net_bps: must be at most 10,000."


@pytest.mark.parametrize(
    "text",
    [
        f"port = {'9' * 5_000}",
        f"port = {'[' * 100_000}",
        '[paper.balances.alpha]\nUSD = "1e-999999999"',
        '[paper.balances.alpha]\nUSD = "1e50000000"',
        "[paper.balances.alpha]\nUSD = 1e999",
        f"[paper.balances.alpha]\nUSD = {'9' * 4_000}",
    ],
)
def test_a_number_that_no_sum_could_hold_is_one_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "arbitrage.toml"
    path.write_text(text)
    with pytest.raises(CannotStartError, match=r"arbitrage\.toml: ") as rejected:
        read_configuration(path, {})
    assert len(str(rejected.value)) < 400
