"""Paper trading at live prices: the whole system against an outside world that it reads and never trades in.

The simulated exchanges stand for the real ones behind a gateway that keeps every word: there is no way to those here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exchanges.key_variables import key_variables_of
from simulators.matching.exchange_journal import Entry, read_journal
from streams.broker.embedded_broker import free_ports
from tests.whole.listening_gateway import Said, listening_gateway
from tests.whole.running import new_home, ours_running, running_command, running_paper

pytestmark = pytest.mark.soak

SECONDS = 30
NAMES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken")
CANARY = "ThisKeyMustNeverLeave"
PRIVATE_WORDS = ("signature", "passphrase", "api_key", "apikey", "token", "nonce", CANARY.lower())
PRIVATE_HEADERS = ("sign", "key", "auth", "passphrase", "nonce")
CONFIGURATION = """
exchanges = ["coinbaseexchange", "bitstamp", "bitflyer", "kraken"]

[settings]
min_net_bps = 3
taker_fees = { coinbaseexchange = 0.001, bitstamp = 0.0012, bitflyer = 0.001, kraken = 0.001 }

[paper]
latency_ms = 20
latency_spread = 0.4

[paper.balances.kraken]
USD = 250000
"""


@dataclass(frozen=True)
class Lived:
    """Two sessions in one data folder."""

    home: Path
    outside: Path
    first: dict[str, Any]
    second: dict[str, Any]
    health: dict[str, Any]
    reported: tuple[str, str]
    said: list[Said]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Lived:
    home, outside = new_home(tmp_path_factory.mktemp("public")), tmp_path_factory.mktemp("outside")
    (port,) = free_ports(1)
    with (
        pytest.MonkeyPatch.context() as environment,
        running_command(outside, "exchanges", "--port", str(port), "--market", "storm"),
        listening_gateway(f"http://127.0.0.1:{port}") as gateway,
    ):
        for name in sorted({name for one in NAMES for name in key_variables_of(one)}):
            environment.setenv(name, CANARY)
        environment.setenv("ARBITRAGE_ARM_LIVE", "yes")
        configuration = home / "arbitrage.toml"
        places = "".join(f'[exchange.{name}]\nmode = "public"\nurl = "{gateway.url}"\n' for name in NAMES)
        configuration.write_text(CONFIGURATION + places)
        documents, reported, health = [], [], {}
        for number, seconds in enumerate((SECONDS, 5)):
            out = home / f"out-{number}.json"
            words = ("--seconds", str(seconds), "--json", str(out), "--config", str(configuration))
            with running_paper(home, *words, market=None) as paper:
                paper.wait_for("trading on paper at live prices", 240)
                health = paper.get("/health")
                assert paper.process.wait(timeout=seconds + 120) == 0, paper.said
                reported.append(paper.said)
            documents.append(json.loads(out.read_text()))
            assert ours_running(home) == []
        return Lived(home, outside, documents[0], documents[1], health, (reported[0], reported[1]), gateway.said)


def test_it_trades_on_what_the_exchanges_show(lived: Lived) -> None:
    assert set(lived.first["quotes"]) == set(NAMES)
    assert all(count > 0 for count in lived.first["quotes"].values())
    assert lived.first["arbitrages"]["closed"] >= 1
    assert {fill["exchange"] for fill in lived.first["fills"]} <= set(NAMES)


def test_the_books_balance(lived: Lived) -> None:
    for document in (lived.first, lived.second):
        assert document["balance_differences"] == []
        assert document["balanced"] is True
    assert lived.first["balances_before"]["kraken"] == {"BTC": "1", "USD": "250000"}
    assert lived.first["balances_before"] != lived.first["balances_after"]


def test_the_accounts_outlive_the_session(lived: Lived) -> None:
    assert lived.second["balances_before"] == lived.first["balances_after"]
    assert "the resuming the paper accounts" not in lived.reported[0]
    assert "the resuming the paper accounts" in lived.reported[1]


def test_no_order_ever_reached_an_exchange(lived: Lived) -> None:
    journals = list(lived.outside.rglob("*.jsonl"))
    assert {path.stem for path in journals} >= set(NAMES)
    for path in journals:
        (entry,) = read_journal(path)
        assert entry == Entry(opening=entry.opening)


def test_nothing_was_asked_that_needs_a_key(lived: Lived) -> None:
    """Check every request: only reads, no header or word of a signature, and no key, though the environment is full."""
    assert {name for name in NAMES if any(said.path.startswith(f"/{name}/") for said in lived.said)} == set(NAMES)
    assert {said.method for said in lived.said} == {"GET", "WS", "FRAME"}
    for said in lived.said:
        headers = [name for name in said.headers if name != "sec-websocket-key"]
        assert not [name for name in headers if any(word in name for word in PRIVATE_HEADERS)], said.text
        words = said.text.lower().replace("sec-websocket-key", "")
        assert not [word for word in PRIVATE_WORDS if word in words], said.text


def test_it_says_what_it_is(lived: Lived) -> None:
    assert lived.health["mode"] == "public"
    assert "no key is needed and none is read" in lived.reported[0]
