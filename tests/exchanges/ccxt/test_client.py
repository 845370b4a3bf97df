"""The one way to a ccxt client: loopback when simulated, armed and encrypted when live, secrets never shown."""

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exchanges.addresses import Place, address_fault, every_address
from exchanges.catalogue import EXCHANGES, sandboxes
from exchanges.ccxt.client import ExchangeConfig, live_config, make_exchange, simulated_config
from exchanges.credentials import Credentials, credentials_path, load_credentials
from exchanges.errors import AccountRejectedError
from exchanges.key_variables import key_variables
from exchanges.requests.time_synced_signing import client_class
from session.exchange_entries import ExchangeEntry
from simulators.web.account_keys import ensure_credentials

KEYS = Credentials("a-key", "c2VjcmV0", "a-password")
ARMED = {"ARBITRAGE_ARM_LIVE": "yes"} | {
    name: "c2VjcmV0"
    for exchange in EXCHANGES
    for box in (False, True)
    for name in key_variables(exchange, box).values()
}


def live(exchange: str, mode: Place = "live", base_url: str | None = None) -> Any:
    return make_exchange(live_config(exchange, ARMED, mode, base_url), ARMED)


def simulated(exchange: str) -> Any:
    return make_exchange(ExchangeConfig(exchange, "simulated", "http://127.0.0.1:1/x", KEYS))


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_all_places_have_the_same_class(exchange: str) -> None:
    clients = [simulated(exchange), live(exchange)] + ([live(exchange, "sandbox")] if exchange in sandboxes() else [])
    places: tuple[Place, ...] = ("simulated", "live", "sandbox")
    assert {type(client) for client in clients} == {client_class(exchange)}
    for client, place in zip(clients, places, strict=False):
        addresses = [client.implode_hostname(address) for address in every_address(client.urls)]
        assert addresses
        assert [address_fault(place, address) for address in addresses] == [None] * len(addresses)
        assert set(client.urls) == {"api"}
        assert client.enableRateLimit, "ccxt asks `throttle` only then"
        assert client.budget is not None
        assert client.options["maxRetriesOnFailure"] == 0
        assert client.streaming["keepAlive"] < 10_000


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_no_text_of_a_simulated_client_leads_to_the_real_exchange(exchange: str) -> None:
    client, real = simulated(exchange), client_class(exchange)()
    hosts = {real.implode_hostname(address).split("/")[2] for address in every_address(real.urls["api"])}
    texts = [text for name, value in vars(client).items() if name != "logger" for text in every_address(value)]
    assert not [text for text in texts if "://" in text and any(host in text for host in hosts)]
    assert exchange not in ("bitflyer", "coinbaseexchange") or client.hostname == "127.0.0.1:1"


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_only_what_has_a_sandbox_is_sent_there(exchange: str) -> None:
    if exchange not in sandboxes():
        with pytest.raises(
            AccountRejectedError, match=f"{exchange} has no sandbox, only binance and bybit and coinbaseexchange"
        ):
            live(exchange, "sandbox")
        return
    sandbox, real = live(exchange, "sandbox"), live(exchange)
    both = set(every_address(sandbox.urls)) & set(every_address(real.urls))
    assert both == set()


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_nothing_leaves_loopback_while_simulated(exchange: str) -> None:
    with pytest.raises(AccountRejectedError, match="not on loopback"):
        make_exchange(ExchangeConfig(exchange, "simulated", "https://api.example.com", KEYS))


@pytest.mark.parametrize("mode", ["live", "sandbox"])
@pytest.mark.parametrize(
    ("base_url", "fault"),
    [
        ("http://api.example.com", "is not encrypted"),
        ("https://127.0.0.1:9000/coinbaseexchange", "is on loopback"),
        ("http://127.0.0.1:9000/coinbaseexchange", "is not encrypted"),
        ("https://localhost", "is on loopback"),
    ],
)
def test_real_trading_rejects_addresses(mode: Place, base_url: str, fault: str) -> None:
    with pytest.raises(AccountRejectedError, match=f"{mode} coinbaseexchange: the address {base_url} {fault}"):
        live("coinbaseexchange", mode, base_url)


@pytest.mark.parametrize("mode", ["live", "sandbox"])
@pytest.mark.parametrize("environment", [{}, {"ARBITRAGE_ARM_LIVE": "no"}, {**ARMED, "ARBITRAGE_ARM_LIVE": "1"}])
def test_real_trading_must_be_armed(environment: dict[str, str], mode: Place) -> None:
    with pytest.raises(AccountRejectedError, match="ARBITRAGE_ARM_LIVE=yes"):
        live_config("binance", environment, mode)
    with pytest.raises(AccountRejectedError, match="ARBITRAGE_ARM_LIVE=yes"):
        make_exchange(ExchangeConfig("binance", mode, None, KEYS), environment)


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("is_sandbox", [False, True])
def test_each_missing_key_is_named(exchange: str, is_sandbox: bool) -> None:
    if is_sandbox and exchange not in sandboxes():
        return
    mode: Place = "sandbox" if is_sandbox else "live"
    variables = list(key_variables(exchange, is_sandbox).values())
    for absent in ([name] for name in variables), [variables]:
        for names in absent:
            environment = {name: value for name, value in ARMED.items() if name not in names} | {names[0]: " "}
            with pytest.raises(AccountRejectedError) as rejected:
                live_config(exchange, environment, mode)
            assert [name for name in variables if name in str(rejected.value).split()] == names


@pytest.mark.parametrize("exchange", EXCHANGES)
def test_the_keys_asked_for_are_those_that_ccxt_requires(exchange: str) -> None:
    needed = {name for name, is_needed in client_class(exchange)().requiredCredentials.items() if is_needed}
    ccxt_names = {"api_key": "apiKey", "secret": "secret", "password": "password"}
    assert {ccxt_names[part] for part in key_variables(exchange, False)} == needed


def test_a_live_client_without_keys_is_rejected() -> None:
    with pytest.raises(AccountRejectedError, match="needs API keys"):
        make_exchange(ExchangeConfig("kraken", "live", None, None), ARMED)


def test_an_exchange_that_ccxt_does_not_know() -> None:
    with pytest.raises(AccountRejectedError, match="ccxt has no exchange exchanges"):
        make_exchange(ExchangeConfig("exchanges", "simulated", "http://127.0.0.1:1", KEYS))


def test_only_a_simulated_exchange_is_asked_without_limits() -> None:
    simulated_one = ExchangeConfig("kraken", "simulated", "http://127.0.0.1:1/x", KEYS, is_limited=False)
    assert make_exchange(simulated_one).budget is None
    real = replace(live_config("kraken", ARMED), is_limited=False)
    assert make_exchange(real, ARMED).budget is not None


def test_keys_are_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path / "home", {name: name for name in EXCHANGES})
    assert ensure_credentials(tmp_path / "home", {name: name for name in EXCHANGES}) == first
    assert credentials_path(tmp_path / "home").stat().st_mode & 0o777 == 0o600
    assert len({keys.secret for keys in first.values()}) == len(EXCHANGES)
    assert simulated_config("kraken", "http://127.0.0.1:1/", tmp_path / "home").base_url == "http://127.0.0.1:1/kraken"


def test_each_name_of_a_simulated_exchange_has_its_own_keys(tmp_path: Path) -> None:
    keys = ensure_credentials(tmp_path, {"kraken": "kraken", "kraken2": "kraken"})
    second = simulated_config("kraken2", "http://127.0.0.1:1", tmp_path, entry=ExchangeEntry("kraken"))
    assert (second.base_url, second.credentials) == ("http://127.0.0.1:1/kraken", keys["kraken2"])
    assert keys["kraken2"] != keys["kraken"]


def test_missing_or_unusable_keys_are_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AccountRejectedError, match="is missing"):
        load_credentials(tmp_path, "kraken")
    credentials_path(tmp_path).write_text("{")
    with pytest.raises(AccountRejectedError, match="no valid API keys for kraken"):
        load_credentials(tmp_path, "kraken")


def test_secrets_are_never_shown() -> None:
    config = ExchangeConfig("kraken", "simulated", "http://127.0.0.1:1", replace(KEYS, uid="a-uid"))
    for secret in ("a-key", "c2VjcmV0", "a-password", "a-uid"):
        assert secret not in repr(config)
    assert KEYS.hidden_in("key a-key of a-password") == "key *** of ***"


def test_requests_are_not_logged_whatever_the_level(caplog: pytest.LogCaptureFixture) -> None:
    client = simulated("kraken")
    with caplog.at_level(logging.DEBUG, client.logger.name):
        client.logger.debug("request with %s", "a-key")
        client.logger.warning("a warning")
    assert [record.message for record in caplog.records] == ["a warning"]
