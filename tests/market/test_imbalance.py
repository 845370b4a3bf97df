"""What a trade between two exchanges would bring back, and how far below its threshold it may be for that."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.inventory import inventory_of
from market.accounting.rebalancing import imbalance_of, rebalancing_plan
from market.accounting.transfer_terms import SATOSHI, TransferTerms, terms_of
from market.decide.thresholds import Imbalance, lowered_threshold
from market.trade.reservation_state import BalanceRow

EVEN = {name: {"BTC": Decimal(10)} for name in ("alpha", "beta", "gamma")}
TERMS = TransferTerms("beta", "BTC", Decimal("0.001"), Decimal("0.01"), SATOSHI, 3_600, "a test")
AMOUNTS = st.decimals(min_value=0, max_value=30, places=3)


def rows(*amounts: str | Decimal) -> list[BalanceRow]:
    return [
        BalanceRow(exchange, "BTC", Decimal(amount), Decimal(0))
        for exchange, amount in zip(EVEN, amounts, strict=False)
    ]


def found(*amounts: str, terms: TransferTerms | None = TERMS) -> Imbalance | None:
    """Return what buying on alpha and selling on beta would bring back."""
    return imbalance_of(rows(*amounts), EVEN, "alpha", "beta", terms)


def test_a_trade_brings_back_no_more_than_either_exchange_is_away_from_its_share() -> None:
    assert found("4", "16", "10") == Imbalance(Decimal(6), Decimal("0.001"))
    assert found("4", "12", "14") == Imbalance(Decimal(2), Decimal("0.001"))
    assert found("9", "20", "1") == Imbalance(Decimal(1), Decimal("0.001"))


@pytest.mark.parametrize("amounts", [("16", "4", "10"), ("10", "10", "10"), ("4", "4", "22"), ("9.5", "10.5", "10")])
def test_the_other_direction_and_what_is_within_the_tolerance_bring_nothing_back(amounts: tuple[str, ...]) -> None:
    assert found(*amounts) is None


def test_an_exchange_without_the_asset_brings_nothing_back() -> None:
    assert imbalance_of(rows("4", "16"), EVEN, "alpha", "delta", None) is None


@pytest.mark.parametrize("terms", [None, TransferTerms("beta", "BTC", SATOSHI, Decimal(7), SATOSHI, 60, "a test")])
def test_what_cannot_be_sent_costs_nothing_to_send(terms: TransferTerms | None) -> None:
    imbalance = found("4", "16", "10", terms=terms)
    assert imbalance == Imbalance(Decimal(6), None)
    assert lowered_threshold(5.0, imbalance, 100.0) == 0.0


@pytest.mark.parametrize(
    ("below", "least"),
    [(0.0, 5.0), (2.0, 3.0), (5.0, 0.0), (6.0, -1.0), (100.0, -10.0)],
)
def test_a_threshold_is_lowered_down_to_what_a_transfer_costs(below: float, least: float) -> None:
    # 0.001 of 1 are 10 bps
    assert lowered_threshold(5.0, Imbalance(Decimal(1), Decimal("0.001")), below) == least
    assert lowered_threshold(5.0, None, below) == 5.0


@given(
    threshold=st.floats(-100, 100),
    below=st.floats(0, 1_000),
    most=st.decimals(min_value="0.001", max_value=100, places=3),
    fee=st.none() | st.decimals(min_value=0, max_value=1, places=4),
)
def test_it_is_never_raised_and_never_costs_more_than_a_transfer(
    threshold: float, below: float, most: Decimal, fee: Decimal | None
) -> None:
    imbalance = Imbalance(most, fee)
    least = lowered_threshold(threshold, imbalance, below)
    assert least <= threshold
    assert least == threshold or least >= -imbalance.transfer_bps
    assert least >= threshold - below


@given(AMOUNTS, AMOUNTS, AMOUNTS)
def test_a_trade_goes_the_way_of_the_plans_transfers(alpha: Decimal, beta: Decimal, gamma: Decimal) -> None:
    """Between two exchanges the plan sends what a trade would bring back, or less: it may need some for a third."""
    held = rows(alpha, beta, gamma)
    inventory = inventory_of(held, EVEN, (), {"BTC": Decimal(1)}, ("BTC",))
    terms = terms_of(TransferTerms(name, "BTC", Decimal(0), Decimal(0), SATOSHI, 60, "a test") for name in EVEN)
    for one in rebalancing_plan(inventory.holdings, terms, {"BTC": Decimal(1)}, Decimal(0)).transfers:
        back = imbalance_of(held, EVEN, one.destination, one.source, None)
        assert back is not None
        assert one.amount <= back.most
        assert imbalance_of(held, EVEN, one.source, one.destination, None) is None
