"""Inventory: targets that sum to what there is, exposure against the opening, holds of open legs."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.inventory import Target, holds_of, inventory_of, values_of
from market.trade.arbitrages import ArbitrageState
from market.trade.reservation_state import BalanceRow
from tests.market.samples import EUR_MARKET, JPY_MARKET, USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg

FX = {
    "EUR": replace(USD_MARKET, exchange="fx", symbol="EUR/USD", base="EUR", is_fx=True),
    "JPY": replace(USD_MARKET, exchange="fx", symbol="USD/JPY", base="USD", quote_currency="JPY", is_fx=True),
}
MARKETS = (USD_MARKET, EUR_MARKET, JPY_MARKET, *FX.values())
NOTHING, ONE, HUNDRED = Decimal(0), Decimal(1), Decimal(100)


def row(exchange: str, currency: str, free: str, held: str = "0") -> BalanceRow:
    return BalanceRow(exchange, currency, Decimal(free), Decimal(held))


ROWS = [
    row("alpha", "BTC", "1.5", "0.5"),
    row("alpha", "USD", "900"),
    row("beta", "BTC", "2"),
    row("beta", "EUR", "1100"),
]
OPENING = {"alpha": {"BTC": Decimal(3), "USD": Decimal(1_000)}, "beta": {"BTC": ONE, "EUR": Decimal(1_000)}}
VALUES = {"USD": ONE, "BTC": Decimal(60_000)}


@pytest.mark.parametrize(
    ("target", "expected"),
    [("opening", {"alpha": "3", "beta": "1"}), ("even", {"alpha": "2", "beta": "2"})],
)
def test_targets_share_what_there_is_now(target: Target, expected: dict[str, str]) -> None:
    found = inventory_of(ROWS, OPENING, (), VALUES, ("BTC",), target).holdings
    assert {one.exchange: one.target for one in found if one.currency == "BTC"} == {
        exchange: Decimal(amount) for exchange, amount in expected.items()
    }
    alpha = found[0]
    assert alpha.drift == alpha.total - alpha.target
    assert alpha.value == alpha.drift * 60_000


def test_what_one_exchange_alone_has_cannot_drift_from_it() -> None:
    euros = inventory_of(ROWS, OPENING, (), VALUES, ("BTC",)).holdings[-1]
    assert (euros.currency, euros.target, euros.drift, euros.value) == ("EUR", Decimal(1_100), Decimal(0), Decimal(0))


def test_exposure_is_what_there_is_more_than_at_the_opening() -> None:
    found = inventory_of(ROWS, OPENING, (), VALUES, ("BTC",)).exposures
    assert [(one.currency, one.is_base, one.change, one.value) for one in found] == [
        ("BTC", True, NOTHING, NOTHING),
        ("USD", False, -HUNDRED, -HUNDRED),
        ("EUR", False, HUNDRED, None),
    ]


def test_an_exchange_without_an_opening_is_no_exposure_yet() -> None:
    found = inventory_of(ROWS, {"alpha": OPENING["alpha"]}, (), VALUES, ("BTC",)).exposures
    assert [(one.currency, one.change) for one in found] == [("BTC", -ONE), ("USD", -HUNDRED)]


@pytest.mark.parametrize(("state", "count"), [("reserved", 2), ("single_leg", 2), ("closed", 0)])
def test_holds_are_those_of_open_legs(state: ArbitrageState, count: int) -> None:
    book = levels(("100", "1"))
    buy = replace(order_leg(USD_MARKET, "buy", ONE, HUNDRED), held=Decimal("100.1"))
    sell = replace(order_leg(EUR_MARKET, "sell", ONE, HUNDRED), held=ONE)
    spent = replace(order_leg(EUR_MARKET, "sell", ONE, HUNDRED), role="complete")
    arbitrage = arbitrage_of(opportunity_of((USD_MARKET, book), (EUR_MARKET, book)), buy, sell, spent)
    found = holds_of([replace(arbitrage, state=state)])
    assert len(found) == count
    if found:
        assert [(hold.exchange, hold.currency, hold.amount, hold.role) for hold in found] == [
            ("alpha", "USD", Decimal("100.1"), "buy"),
            ("beta", "BTC", 1, "sell"),
        ]


def test_values_are_mids_converted_into_the_settlement_currency() -> None:
    mids = {
        ("fx", "EUR/USD"): Decimal("1.25"),
        ("fx", "USD/JPY"): Decimal(125),
        ("alpha", "BTC/USD"): Decimal(100),
        ("beta", "BTC/EUR"): Decimal(80),
        ("gamma", "BTC/JPY"): Decimal(13_750),
    }
    assert values_of(mids, MARKETS, "USD") == {
        "USD": 1,
        "EUR": Decimal("1.25"),
        "JPY": Decimal("0.008"),
        "BTC": 100,
    }


def test_what_has_no_quote_has_no_value() -> None:
    assert values_of({("beta", "BTC/EUR"): Decimal(80)}, MARKETS, "USD") == {"USD": 1}
    assert values_of({("beta", "BTC/EUR"): Decimal(80)}, (EUR_MARKET,), "USD") == {"USD": 1}


amounts = st.decimals("0", "1000000", places=8)


@given(
    rows=st.lists(st.tuples(amounts, amounts, amounts), min_size=1, max_size=6),
    target=st.sampled_from(["opening", "even"]),
)
def test_targets_sum_to_what_there_is_but_for_rounding(
    rows: list[tuple[Decimal, Decimal, Decimal]], target: Target
) -> None:
    balances = [BalanceRow(str(number), "BTC", free, held) for number, (free, held, _) in enumerate(rows)]
    opening = {str(number): {"BTC": before} for number, (_, _, before) in enumerate(rows)}
    found = inventory_of(balances, opening, (), VALUES, ("BTC",), target).holdings
    everything = sum(row.free + row.held for row in balances)
    assert 0 <= everything - sum(one.target for one in found) <= len(rows) * Decimal("1E-8")
