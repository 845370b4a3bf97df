"""Which FX market converts a currency."""

from dataclasses import replace

import pytest

from market.instruments.markets import FxRoute, base_and_quote, codes_in, fx_route
from tests.market.samples import MARKETS, USD_MARKET

FX = (
    replace(USD_MARKET, symbol="EUR/USD", base="EUR", quote_currency="USD", is_fx=True),
    replace(USD_MARKET, symbol="USD/JPY", base="USD", quote_currency="JPY", is_fx=True),
)


@pytest.mark.parametrize(
    ("currency", "expected"),
    [
        ("USD", None),
        ("EUR", FxRoute("EUR", "EUR/USD", inverted=False)),
        ("JPY", FxRoute("JPY", "USD/JPY", inverted=True)),
    ],
)
def test_routes(currency: str, expected: FxRoute | None) -> None:
    assert fx_route(currency, "USD", (*MARKETS, *FX)) == expected


def test_a_currency_that_nothing_converts_is_an_error() -> None:
    with pytest.raises(LookupError, match="no FX market converts EUR to USD"):
        fx_route("EUR", "USD", MARKETS)


def test_a_traded_market_is_no_fx_market() -> None:
    traded = replace(FX[0], is_fx=False)
    with pytest.raises(LookupError):
        fx_route("EUR", "USD", (traded,))


@pytest.mark.parametrize(
    ("symbol", "codes"),
    [("BTC/JPY", ("BTC", "JPY")), ("BTC/USDT:USDT", ("BTC", "USDT")), ("BTC/USD:BTC", ("BTC", "USD"))],
)
def test_the_codes_in_a_symbol(symbol: str, codes: tuple[str, str]) -> None:
    assert codes_in(symbol) == codes


def test_base_and_quote_are_the_markets_own() -> None:
    renamed = replace(USD_MARKET, symbol="MATIC/USDT:USDT", base="POL", quote_currency="USD")
    markets = (USD_MARKET, renamed)
    assert base_and_quote("alpha", "MATIC/USDT:USDT", markets) == ("POL", "USD")
    assert base_and_quote("alpha", "BTC/USD", markets) == ("BTC", "USD")
    # of an earlier session
    assert base_and_quote("beta", "MATIC/USDT:USDT", markets) == ("MATIC", "USDT")
