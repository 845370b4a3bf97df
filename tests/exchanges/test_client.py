"""The one way to a ccxt client: loopback when simulated, armed and encrypted when live, secrets never shown."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from exchanges.client import ExchangeConfig, live_config, make_exchange, simulated_config
from exchanges.credentials import Credentials, credentials_path, load_credentials
from exchanges.errors import AccountRefusedError
from exchanges.simulated.credentials import ensure_credentials

EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
KEYS = Credentials("a-key", "c2VjcmV0", "a-password")
ARMED = {
    "ARBITRAGE_ARM_LIVE": "yes",
    **{f"ARBITRAGE_{name.upper()}_{part}": "c2VjcmV0" for name in EXCHANGES for part in ("KEY", "SECRET", "PASSWORD")},
}


def leaves(tree: object) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        for branch in tree.values():
            yield from leaves(branch)


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_simulated_and_live_are_the_same_class(exchange: str) -> None:
    simulated = make_exchange(ExchangeConfig(exchange, "simulated", "http://127.0.0.1:1/x", KEYS))
    live = make_exchange(live_config(exchange, ARMED), ARMED)
    assert type(simulated) is type(live)
    assert {urlsplit(url).hostname for url in leaves(simulated.urls["api"])} == {"127.0.0.1"}
    assert {urlsplit(url).scheme for url in leaves(live.urls["api"])} <= {"https", "wss"}
    assert simulated.rateLimiterAlgorithm == live.rateLimiterAlgorithm == "rollingWindow"
    assert simulated.streaming["keepAlive"] < 10_000


def test_nothing_leaves_loopback_while_simulated() -> None:
    with pytest.raises(AccountRefusedError, match="not on loopback"):
        make_exchange(ExchangeConfig("kraken", "simulated", "https://api.kraken.com", KEYS))


@pytest.mark.parametrize("environment", [{}, {"ARBITRAGE_ARM_LIVE": "no"}, {**ARMED, "ARBITRAGE_ARM_LIVE": "1"}])
def test_live_trading_must_be_armed(environment: dict[str, str]) -> None:
    with pytest.raises(AccountRefusedError, match="ARBITRAGE_ARM_LIVE=yes"):
        live_config("kraken", environment)
    with pytest.raises(AccountRefusedError, match="ARBITRAGE_ARM_LIVE=yes"):
        make_exchange(ExchangeConfig("kraken", "live", None, KEYS), environment)


def test_live_trading_needs_keys() -> None:
    with pytest.raises(AccountRefusedError, match="ARBITRAGE_BITSTAMP_KEY"):
        live_config("bitstamp", {"ARBITRAGE_ARM_LIVE": "yes"})


def test_keys_are_made_once_for_the_owner_alone(tmp_path: Path) -> None:
    first = ensure_credentials(tmp_path / "home", EXCHANGES)
    assert ensure_credentials(tmp_path / "home", EXCHANGES) == first
    assert credentials_path(tmp_path / "home").stat().st_mode & 0o777 == 0o600
    assert len({keys.secret for keys in first.values()}) == len(EXCHANGES)
    assert simulated_config("kraken", "http://127.0.0.1:1/", tmp_path / "home").base_url == "http://127.0.0.1:1/kraken"


def test_missing_or_unusable_keys_are_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(AccountRefusedError, match="is missing"):
        load_credentials(tmp_path, "kraken")
    credentials_path(tmp_path).write_text("{")
    with pytest.raises(AccountRefusedError, match="no usable keys for kraken"):
        load_credentials(tmp_path, "kraken")


def test_secrets_are_never_shown() -> None:
    config = ExchangeConfig("kraken", "simulated", "http://127.0.0.1:1", replace(KEYS, uid="a-uid"))
    for secret in ("a-key", "c2VjcmV0", "a-password", "a-uid"):
        assert secret not in repr(config)
