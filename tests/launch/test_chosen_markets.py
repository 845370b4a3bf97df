"""Which markets a session trades: by exchanges, assets and symbols of its configuration."""

from typing import Any

import pytest

from exchanges.simulated_markets import paper_markets, simulated_bases, simulated_markets
from launch.config.configuration import Configuration
from launch.errors import CannotStartError
from launch.sessions.chosen_markets import chosen_markets
from launch.sessions.paper import paper_settings
from market.instruments.markets import Market, fx_route

ALL_EXCHANGES = ("coinbaseexchange", "bitstamp", "bitflyer", "kraken", "binance", "bybit", "okx", "coinbase")
NO_SYMBOLS: dict[str, tuple[str, ...]] = {"symbols": ()}


def chosen(**given: Any) -> tuple[Market, ...]:
    config = Configuration(**given)
    return chosen_markets(config.exchanges, config, "USD")


def test_none_named_means_bitcoin_on_those_of_paper_mode() -> None:
    assert chosen() == paper_markets()
    assert set(paper_settings(Configuration()).taker_fees) == {market.exchange for market in paper_markets()}


def test_a_part_of_them_keeps_all_fx() -> None:
    markets = chosen(exchanges=("kraken", "bitstamp"))
    assert {market.exchange for market in markets if not market.is_fx} == {"kraken", "bitstamp"}
    assert [market for market in markets if market.is_fx] == [market for market in paper_markets() if market.is_fx]


def test_binance_comes_with_the_price_of_its_currency() -> None:
    names = ("binance", "kraken")
    markets = chosen(exchanges=names)
    assert set(markets) <= set(simulated_markets())
    route = fx_route("USDT", "USD", markets)
    assert route is not None
    assert (route.symbol, route.inverted) == ("USDT/USD", False)
    settings = paper_settings(Configuration(exchanges=names))
    assert settings.enabled_exchanges == names
    assert settings.taker_fees["binance"] > 0


def test_each_named_asset_is_traded_on_each_named_exchange() -> None:
    traded = [market for market in chosen(assets=simulated_bases(), exchanges=ALL_EXCHANGES) if not market.is_fx]
    assert len(simulated_bases()) >= 50
    assert {(market.exchange, market.base) for market in traded} == {
        (exchange, base) for exchange in ALL_EXCHANGES for base in simulated_bases()
    }


def test_assets_on_standby_are_among_the_markets() -> None:
    assert chosen(standby_assets=("ETH", "SOL")) == chosen(assets=("BTC", "ETH", "SOL"))


def test_named_symbols_are_the_only_ones_of_their_exchange() -> None:
    markets = chosen(assets=("BTC", "ETH"), markets={"kraken": {"symbols": ("ETH/USD",)}})
    at = {(market.exchange, market.symbol) for market in markets if not market.is_fx}
    assert {symbol for exchange, symbol in at if exchange == "kraken"} == {"ETH/USD"}
    assert len({exchange for exchange, symbol in at if symbol.startswith("BTC")}) == 3


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"exchanges": ("kraken",)}, "at least two"),
        ({"exchanges": ("kraken", "mtgox")}, "unknown exchange 'mtgox'"),
        ({"assets": ("BTC", "LUNA")}, "unknown asset 'LUNA'"),
        ({"assets": ()}, "`assets` is empty"),
        ({"standby_assets": ("LUNA",)}, "unknown asset 'LUNA'"),
        ({"standby_assets": ("BTC",)}, "asset BTC is in `assets` and in `standby_assets`"),
        ({"markets": {"binance": {"symbols": ("BTC/USDT",)}}}, r"\[markets.binance\]: binance takes no part"),
        ({"markets": {"kraken": {"symbols": ("ETH/USD",)}}}, r"\[markets.kraken\] symbols: 'ETH/USD' is not"),
        (
            {"exchanges": ("kraken", "bitstamp"), "markets": {"kraken": NO_SYMBOLS}},
            "bitstamp BTC/EUR: no other exchange trades BTC",
        ),
        (
            {"exchanges": ("kraken", "bitstamp"), "markets": {"kraken": NO_SYMBOLS, "bitstamp": NO_SYMBOLS}},
            "asset BTC: none of the exchanges trades it",
        ),
    ],
)
def test_what_cannot_be_traded_is_one_sentence(given: dict[str, Any], text: str) -> None:
    with pytest.raises(CannotStartError, match=text) as caught:
        chosen(**given)
    assert "\n" not in str(caught.value)
