"""The table of exchanges: addresses that a feed may be pointed at, and names that nobody reads."""

import subprocess
import sys
from pathlib import Path

import pytest

from exchanges.books.errors import FeedRejectedError
from exchanges.books.port import WireExchange
from exchanges.catalogue import EXCHANGES, all_facts, facts_of, orders_of, own_facts, wire_of, without_client_ids
from exchanges.listed_codes import listed_codes
from exchanges.ports.orders import ExchangeOrders
from exchanges.simulated_markets import paper_markets
from market.trade.inflight_orders import WITHOUT_CLIENT_IDS

ROOT = Path(__file__).parents[2] / "exchanges"


@pytest.mark.parametrize("name", EXCHANGES)
def test_live_addresses_are_encrypted_and_simulated_ones_are_paths(name: str) -> None:
    wire, addresses = wire_of(name), own_facts(name).addresses
    assert wire.name == name
    assert addresses.stream.startswith("wss://")
    assert addresses.rest.startswith("https://")
    assert addresses.stream_path.startswith("/")
    assert wire.server_time is None or wire.server_time.path.startswith("/")


def test_every_paper_market_can_be_read() -> None:
    for market in paper_markets():
        assert wire_of(market.exchange).rest_book(market).startswith("/")


def test_an_unknown_exchange_is_rejected_in_one_sentence() -> None:
    with pytest.raises(FeedRejectedError, match="no feed for mtgox; there are feeds for binance, "):
        wire_of("mtgox")


def test_every_folder_of_an_exchange_is_in_the_catalogue_and_whole() -> None:
    folders = {path.parent.name for path in ROOT.glob("*/facts.py")} - {"ccxt", "ports"}
    assert folders == set(EXCHANGES)
    for facts in all_facts():
        assert facts.name in EXCHANGES
        assert isinstance(wire_of(facts.name), WireExchange)
        assert isinstance(orders_of(facts.name), ExchangeOrders)
    assert len({facts.label for facts in all_facts()}) == len(EXCHANGES)


def test_others_have_no_facts_and_no_orders() -> None:
    assert facts_of("mtgox") is None
    assert orders_of("mtgox") is None


@pytest.mark.parametrize("name", EXCHANGES)
def test_all_codes_of_its_facts_are_of_assets_that_are_known(name: str) -> None:
    listed = listed_codes()
    facts = facts_of(name)
    assert facts is not None
    assert [code for code in facts.codes if listed.asset_of(name, code) is None] == []


def test_market_knows_the_exchanges_without_client_ids() -> None:
    assert without_client_ids() == WITHOUT_CLIENT_IDS


def test_a_feed_reads_facts_and_books_without_loading_ccxt() -> None:
    code = """
import sys
from exchanges.listed_codes import listed_codes
from exchanges.catalogue import EXCHANGES, all_facts, wire_of
all_facts(), [wire_of(name) for name in EXCHANGES]
assert "ccxt" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT.parent)
