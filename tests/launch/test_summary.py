"""The balance check and the percentiles of a session's summary."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.sessions.summary import Activity, Latencies, balance_differences, percentiles, summary_of
from market.instruments.orders import Fill, Side
from market.money import Amount, Price
from tests.market.samples import USD_MARKET

MARKET = replace(USD_MARKET, exchange="kraken")
AMOUNTS = st.decimals("0.00000001", "100", places=8)


def fill_of(side: Side, amount: str, cost: str, fee: str, fee_currency: str) -> Fill:
    return Fill(
        fill_id="1",
        exchange="kraken",
        symbol="BTC/USD",
        side=side,
        price=Price(Decimal(1)),
        amount=Amount(Decimal(amount)),
        cost=Decimal(cost),
        fee=Decimal(fee),
        fee_currency=fee_currency,
        filled_at=0,
    )


@pytest.mark.parametrize(
    ("fill", "after"),
    [
        (fill_of("buy", "0.5", "30000", "30", "USD"), {"BTC": "1.5", "USD": "69970"}),
        (fill_of("sell", "0.5", "30000", "30", "USD"), {"BTC": "0.5", "USD": "129970"}),
        (fill_of("buy", "0.5", "30000", "0.0005", "BTC"), {"BTC": "1.4995", "USD": "70000"}),
    ],
)
def test_balances_move_by_fills_and_fees(fill: Fill, after: dict[str, str]) -> None:
    before = {"kraken": {"BTC": Decimal(1), "USD": Decimal(100_000)}}
    reported = {"kraken": {currency: Decimal(amount) for currency, amount in after.items()}}
    assert balance_differences(before, reported, [fill], [MARKET]) == []


@given(difference=AMOUNTS)
def test_the_last_digit_counts(difference: Decimal) -> None:
    before = {"kraken": {"BTC": Decimal(1)}}
    after = {"kraken": {"BTC": Decimal(1) + difference}}
    (row,) = balance_differences(before, after, [], [])
    assert Decimal(row["reported"]) - Decimal(row["expected"]) == difference


def test_an_exchange_whose_closing_balances_are_missing_is_not_compared() -> None:
    both = {"kraken": {"BTC": Decimal(1)}, "bitstamp": {"BTC": Decimal(1)}}
    assert balance_differences(both, {"bitstamp": {"BTC": Decimal(1)}}, [], []) == []
    assert balance_differences(both, {"bitstamp": {"BTC": Decimal(2)}}, [], [])


def test_a_currency_that_vanished_is_a_difference() -> None:
    assert balance_differences({"kraken": {"BTC": Decimal(1)}}, {"kraken": {}}, [], [])


@pytest.mark.parametrize(
    ("milliseconds", "expected"),
    [
        ([], None),
        ([7.0], {"p50": 7.0, "p95": 7.0, "p99": 7.0}),
        ([float(number) for number in range(1, 101)], {"p50": 50.0, "p95": 95.0, "p99": 99.0}),
    ],
)
def test_percentiles_by_nearest_rank(milliseconds: list[float], expected: dict[str, float] | None) -> None:
    assert percentiles(milliseconds) == expected


def test_what_rejections_forwent_stands_beside_their_number_as_plain_digits() -> None:
    activity = Activity(
        quotes={},
        opportunities=3,
        arbitrages=(),
        rejections={"stale": 3},
        rejected_profit={"stale": Decimal("1.50E-7")},
        fills=(),
        markets=(MARKET,),
        before={},
        after={},
        currency="USD",
        latencies=Latencies(),
        seconds_to_first_opportunity=None,
    )
    summary = summary_of(activity)
    assert (summary["rejections"], summary["rejected_profit"]) == ({"stale": 3}, {"stale": "0.00000015"})
