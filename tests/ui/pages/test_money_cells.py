"""Prices and amounts of a session's markets stand by its own steps, and every digit is in the title."""

from dataclasses import replace
from decimal import Decimal

from tests.market.samples import EUR_MARKET, USD_MARKET
from ui.page_parts.dom_tables import Cell
from ui.page_parts.money_cells import Steps, money_cell, steps_of

FINER = replace(EUR_MARKET, tick_size=Decimal("0.5"), lot_step=Decimal("0.00000001"))
STEPS = steps_of((replace(USD_MARKET, tick_size=Decimal("0.01"), lot_step=Decimal("0.0001")), FINER))


def test_prices_go_by_the_tick_and_amounts_by_the_finest_lot_of_the_asset() -> None:
    exchange, symbol = FINER.exchange, FINER.symbol
    assert STEPS.price(exchange, symbol, "70001.3") == Cell("€70,001.5", exact="70001.3 EUR")
    assert STEPS.price(USD_MARKET.exchange, USD_MARKET.symbol, Decimal("65000.1")) == Cell(
        "$65,000.10", exact="65000.1 USD"
    )
    assert STEPS.price(exchange, symbol, None) == "–"
    assert STEPS.amount("BTC", "0.5") == Cell("0.50000000", exact="0.5 BTC")
    assert STEPS.sum("BTC", "0.000000015") == Cell("0.00000002 BTC", exact="0.000000015 BTC")
    assert STEPS.sum("JPY", "1200.4") == Cell("1,200 JPY", exact="1200.4 JPY")


def test_what_has_no_steps_here_keeps_its_digits() -> None:
    assert Steps().price("gone", "ETH/USD", "1.234567") == Cell("1.234567 USD", exact="1.234567 USD")
    assert Steps().amount("ETH", "1.20") == Cell("1.2", exact="1.2 ETH")


def test_base_and_quote_are_the_markets_own_and_the_symbols_codes_after_another_session() -> None:
    steps = steps_of((replace(USD_MARKET, symbol="MATIC/USDT:USDT", base="POL"),))
    for exchange, pair in (("alpha", ("POL", "USD")), ("gone", ("MATIC", "USDT"))):
        assert (steps.base_of(exchange, "MATIC/USDT:USDT"), steps.quote_of(exchange, "MATIC/USDT:USDT")) == pair
    assert steps.price("alpha", "MATIC/USDT:USDT", "1.5") == Cell("$1.50", exact="1.5 USD")


def test_money_has_a_tone_as_it_is_shown() -> None:
    assert money_cell(Decimal("-0.00000006"), "USD") == Cell("$0.00", "", "-0.00000006 USD")
    assert money_cell(Decimal("12.3"), "USD") == Cell("+$12.30", "good", "12.3 USD")
    assert money_cell(Decimal("-12.3"), "USD", is_toned=False) == Cell("−$12.30", "", "-12.3 USD")
