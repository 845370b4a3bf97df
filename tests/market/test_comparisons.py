"""What is compared with what, and the sentence if something is not."""

from dataclasses import replace

import pytest

from exchanges.catalogue import EXCHANGES
from exchanges.listed_codes import listed_codes
from exchanges.simulated_markets import simulated_markets
from market.instruments.comparisons import compared_markets
from market.instruments.markets import Market

MARKETS = simulated_markets(("BTC", "ETH"))


def without(*symbols: str) -> list[Market]:
    return [market for market in MARKETS if market.symbol not in symbols]


def test_each_market_is_compared_with_the_same_asset_elsewhere() -> None:
    rows = compared_markets(listed_codes(), MARKETS, "USD")
    others = len(EXCHANGES) - 1
    assert {(row.market.base, len(row.others)) for row in rows} == {("BTC", others), ("ETH", others)}
    assert {row.reason for row in rows} == {None}
    routes = {row.market.quote_currency: row.route and row.route.symbol for row in rows}
    assert routes == {"USD": None, "EUR": "EUR/USD", "JPY": "USD/JPY", "USDT": "USDT/USD"}


LUNA = replace(next(one for one in MARKETS if one.exchange == "kraken"), symbol="LUNC/USD", base="LUNA")


@pytest.mark.parametrize(
    ("markets", "symbol", "reason"),
    [
        (without("EUR/USD"), "BTC/EUR", "no FX market converts EUR to USD"),
        ([one for one in MARKETS if one.exchange == "kraken"], "BTC/USD", "no other exchange trades BTC"),
        ([*MARKETS, LUNA], "LUNC/USD", "it would be compared as LUNA, but it is LUNC"),
    ],
)
def test_a_market_that_is_compared_with_none_says_why(markets: list[Market], symbol: str, reason: str) -> None:
    row = next(one for one in compared_markets(listed_codes(), markets, "USD") if one.market.symbol == symbol)
    assert row.others == ()
    assert reason in (row.reason or "")


def test_nothing_is_compared_with_a_market_that_does_not_convert() -> None:
    rows = compared_markets(listed_codes(), without("EUR/USD"), "USD")
    assert all("bitstamp" not in row.others for row in rows)
