"""Which exchanges are compared, and in which order."""

import pytest

from cep.detection.market_layout import layout
from market.instruments.markets import FxRoute
from tests.cep.logs import MARKETS, market


def test_slots_are_in_the_order_of_the_exchanges_and_shared_by_bases() -> None:
    found = layout(MARKETS, "USD")
    assert [(slot.exchange, slot.symbols) for slot in found.slots] == [
        ("coinbaseexchange", (("BTC", "BTC/USD"), ("ETH", "WETH/USD"))),
        ("bitstamp", (("BTC", "BTC/EUR"), ("ETH", "ETH/EUR"))),
        ("bitflyer", (("BTC", "BTC/JPY"),)),
        ("kraken", (("BTC", "BTC/USD"), ("ETH", "ETH/USD"))),
        ("kraken", (("BTC", "BTC/EUR"),)),
        ("kraken", (("ETH", "WETH/USD"),)),
    ]


def test_a_markets_symbol_need_not_begin_with_its_base() -> None:
    markets = (
        market("binance", "POL", "USD", code="MATIC"),
        market("binance", "POL", "USD"),
        market("kraken", "POL", "USD"),
    )
    found = layout(markets, "USD")
    assert found.slot_numbers("POL") == {
        ("binance", "MATIC/USD"): 0,
        ("binance", "POL/USD"): 1,
        ("kraken", "POL/USD"): 2,
    }
    assert found.slot_numbers("MATIC") == {}
    assert found.pairs == ((0, 2), (1, 2), (2, 0), (2, 1))


def test_routes_are_those_that_prices_need() -> None:
    found = layout(MARKETS, "USD")
    assert found.routes == (FxRoute("EUR", "EUR/USD", inverted=False), FxRoute("JPY", "USD/JPY", inverted=True))
    assert [slot.fx for slot in found.slots] == [None, 0, 1, None, 0, None]


def test_two_markets_of_one_exchange_are_no_pair() -> None:
    found = layout(MARKETS, "USD")
    assert (3, 4) not in found.pairs
    assert found.pairs[:5] == ((0, 1), (0, 2), (0, 3), (0, 4), (0, 5))
    assert found.pairs_with(3) == ((0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2))


def test_a_currency_that_nothing_converts_is_rejected() -> None:
    with pytest.raises(LookupError, match="GBP"):
        layout((market("kraken", "BTC", "GBP"), market("bitstamp", "BTC", "USD")), "USD")
