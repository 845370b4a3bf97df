"""The table of exchanges: addresses that a feed may be pointed at, and names that nobody reads."""

import pytest

from exchanges.books.errors import FeedRejectedError
from exchanges.catalogue import wire_of
from exchanges.simulated_markets import paper_markets

NAMES = ("binance", "bitflyer", "bitstamp", "coinbaseexchange", "kraken")


@pytest.mark.parametrize("name", NAMES)
def test_live_addresses_are_encrypted_and_simulated_ones_are_paths(name: str) -> None:
    wire = wire_of(name)
    assert wire.name == name
    assert wire.live_ws.startswith("wss://")
    assert wire.live_rest.startswith("https://")
    assert wire.ws_path.startswith(f"/{name}/ws")
    assert wire.rest_prefix == f"/{name}"
    assert wire.server_time is None or wire.server_time.path.startswith("/")


def test_every_paper_market_can_be_read() -> None:
    for market in paper_markets():
        assert wire_of(market.exchange).rest_book(market).startswith("/")


def test_an_unknown_exchange_is_rejected_in_one_sentence() -> None:
    with pytest.raises(FeedRejectedError, match="no feed for mtgox; there are feeds for binance, bitflyer"):
        wire_of("mtgox")
