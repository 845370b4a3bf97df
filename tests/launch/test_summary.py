"""The balance check and the percentiles of a session's summary."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launch.sessions.summary import Activity, Latencies, balance_differences, percentiles, summary_of
from launch.sessions.summary_lines import summary_lines
from market.instruments.orders import Fill, Side
from market.money import Amount, Price
from store.aggregates.month_sums import RemovedTrades
from tests.market.cycle_samples import NOW, triangle
from tests.market.samples import USD_MARKET, arbitrage_of, levels, opportunity_of, order_leg
from tests.market.test_cycle_lifecycle import begun, filled, trade_of

MARKET = replace(USD_MARKET, exchange="kraken")
BOOK = levels(("100", "1"))
PAIR = opportunity_of((USD_MARKET, BOOK), (MARKET, BOOK))
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


FILL = fill_of("buy", "1", "100", "0", "USD")


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


def activity_of(**known: Any) -> Activity:
    empty: dict[str, Any] = {"quotes": {}, "opportunities": 0, "arbitrages": (), "rejections": {}}
    empty |= {"rejected_profit": {}, "fills": (), "markets": (MARKET,), "before": {}, "after": {}, "currency": "USD"}
    return Activity(**empty | {"latencies": Latencies(), "seconds_to_first_opportunity": None} | known)


def test_what_rejections_forwent_stands_beside_their_number_as_plain_digits() -> None:
    activity = activity_of(opportunities=3, rejections={"stale": 3}, rejected_profit={"stale": Decimal("1.50E-7")})
    summary = summary_of(activity)
    assert (summary["rejections"], summary["rejected_profit"]) == ({"stale": 3}, {"stale": "0.00000015"})


@pytest.mark.parametrize(("found", "lines"), [(0, []), (8_745, ["cycles found                8,745"])])
def test_cycles_that_were_found_are_said_if_there_are_any(found: int, lines: list[str]) -> None:
    summary = summary_of(activity_of(cycle_opportunities=found))
    assert summary["cycle_opportunities"] == found
    assert [line for line in summary_lines(summary) if "cycles" in line] == lines


def test_every_opportunity_was_taken_rejected_or_over_before_a_decision() -> None:
    one = arbitrage_of(PAIR, order_leg(USD_MARKET, "buy", Decimal(1), Decimal(100)))
    traded = [one, replace(one, strategy="ma")]
    activity = activity_of(opportunities=20, arbitrages=traded, rejections={"stale": 3, "pair_busy": 9})
    removed = replace(activity, removed=RemovedTrades(arbitrages={"closed": 2}))
    assert summary_of(activity)["decisions"] == {"taken": 1, "rejected": 12, "expired": 7}
    assert summary_of(removed)["decisions"] == {"taken": 3, "rejected": 12, "expired": 5}
    # a bot counts what it read again after the counters lost their connection
    few = replace(activity, opportunities=11)
    assert summary_of(few)["decisions"] == {"taken": 1, "rejected": 12, "expired": 0}


def test_a_closed_arbitrage_may_have_completed_a_single_leg() -> None:
    bought = order_leg(USD_MARKET, "buy", Decimal(1), Decimal(100), [FILL])
    completing = replace(bought, role="complete")
    unfilled = replace(completing, fills=())
    legs = [(bought,), (bought, completing), (bought, unfilled)]
    found = [replace(arbitrage_of(PAIR, *each), state="closed") for each in legs]
    summary = summary_of(activity_of(arbitrages=found))
    assert (summary["arbitrages"], summary["single_legs"]) == ({"closed": 3}, 1)
    assert summary["arbitrages_by_legs"] == {"2": {"closed": 3}}
    assert summary["cycle_ms"] == {}


def test_trades_on_cycles_count_by_their_legs_and_in_the_profit() -> None:
    rows = begun(triangle())
    for name in ("leg1", "leg2", "leg3"):
        rows = filled(rows, name)
    closed = trade_of(rows)
    sent = tuple(
        replace(order, leg=replace(order.leg, times={**order.times, "sent": NOW + 1_000 * number}))
        for number, order in enumerate(closed.orders, start=1)
    )
    one, other = replace(closed, orders=sent), replace(trade_of(begun(triangle())), trade_id="open")
    summary = summary_of(activity_of(cycles=(one, other)))
    assert summary["arbitrages_by_legs"] == {"2": {}, "3": {"closed": 1, "reserved": 1}}
    assert summary["cycles_by_reach"] == {"within": {"closed": 1, "reserved": 1}, "across": {}}
    assert summary["pnl"]["net"] == "120"  # type: ignore[index] # a mapping, in a document
    assert summary["cycle_ms"] == {
        "3": {
            "reserved": {"p50": 0.0, "p95": 0.0, "p99": 0.0},
            "sent": {"p50": 3.0, "p95": 3.0, "p99": 3.0},
        }
    }
    lines = summary_lines(summary)
    for start in ("cycles of 3 legs", "cycles within an exchange"):
        assert any(line.startswith(start) for line in lines)
    assert not any(line.startswith("cycles across") for line in lines)
