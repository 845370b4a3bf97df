"""Which FX market converts a currency."""

from dataclasses import replace

import pytest

from market.instruments.markets import FxRoute, fx_route
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
