"""Two exchanges with one order book, and two names of one account, are no two exchanges where money is."""

from pathlib import Path

import pytest

from launch.config.configuration import Configuration
from launch.config.session_options import PaperOptions
from launch.config.shared_books import shared_book_notes
from launch.errors import CannotStartError
from launch.sessions.live import check_accounts, live_session
from launch.sessions.paper import paper_session

OPTIONS = PaperOptions()
TWO_AT_KRAKEN = {"kraken": {"mode": "live"}, "kraken2": {"mode": "live", "ccxt": "kraken"}}


def at(*names: str, **others: object) -> Configuration:
    return Configuration.model_validate({"exchange": {name: {"mode": "live"} for name in names}, **others})


@pytest.mark.parametrize(
    ("configuration", "said"),
    [
        (
            at("coinbaseexchange", "kraken", "coinbase"),
            r"coinbase(exchange)? and coinbase(exchange)? have one order book",
        ),
        (at(exchange=TWO_AT_KRAKEN), "kraken and kraken2 have one order book"),
    ],
)
def test_with_money_they_are_refused_in_one_sentence(configuration: Configuration, said: str, tmp_path: Path) -> None:
    with pytest.raises(CannotStartError, match=rf"^{said} of BTC/USD: their prices are the same, [^.]*\.$"):
        live_session(tmp_path, OPTIONS, configuration)


def test_different_markets_of_one_exchange_may_trade(tmp_path: Path) -> None:
    markets = {"kraken": {"symbols": ["BTC/USD"]}, "kraken2": {"symbols": ["ETH/USD"]}}
    both = {**TWO_AT_KRAKEN, "bitstamp": {"mode": "live"}}
    session = live_session(tmp_path, OPTIONS, at(exchange=both, markets=markets, assets=["BTC", "ETH"]))
    assert shared_book_notes(session) == []


def test_on_paper_it_is_a_note(tmp_path: Path) -> None:
    config = Configuration(exchanges=("coinbaseexchange", "coinbase", "kraken"))
    session = paper_session(tmp_path, OPTIONS, config)
    [note] = shared_book_notes(session)
    assert "have one order book of BTC/USD; with money such a session does not start" in note
    assert shared_book_notes(paper_session(tmp_path, OPTIONS, Configuration(exchanges=("kraken", "coinbase")))) == []


def test_one_key_is_one_account(tmp_path: Path) -> None:
    markets = {"kraken": {"symbols": ["BTC/USD"]}, "kraken2": {"symbols": ["ETH/USD"]}}
    both = {**TWO_AT_KRAKEN, "bitstamp": {"mode": "live"}}
    session = live_session(tmp_path, OPTIONS, at(exchange=both, markets=markets, assets=["BTC", "ETH"]))
    environment = {"ARBITRAGE_ARM_LIVE": "yes"}
    for name in ("KRAKEN", "KRAKEN2", "BITSTAMP"):
        key = "one" if name.startswith("KRAKEN") else "another"
        environment |= {f"ARBITRAGE_{name}_KEY": key, f"ARBITRAGE_{name}_SECRET": "c2VjcmV0"}
    with pytest.raises(CannotStartError, match="kraken and kraken2 have the same API key, so one account"):
        check_accounts(session, environment)
    check_accounts(session, environment | {"ARBITRAGE_KRAKEN2_KEY": "its own"})
