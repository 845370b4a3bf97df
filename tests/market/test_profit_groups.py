"""Sums of shares by exchange, asset and day: each way of grouping gives the same whole."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.profit_groups import GroupedBy, ProfitGroup, added, pair_name, profit_by, profit_from
from market.trade.arbitrages import PROFIT_PARTS

amounts = st.decimals("-1000", "1000", places=8)
ALL_WAYS: tuple[GroupedBy, ...] = ("exchange", "asset", "pair", "day", "strategy")


def group(exchange: str, asset: str, day: str, net: str, involved: int, arbitrages: int) -> ProfitGroup:
    profit = profit_from("USD", {"net": Decimal(net)})
    if asset == "ETH":
        return ProfitGroup(exchange, asset, day, involved, arbitrages, profit, pair_name("alpha", "alpha"), "ma")
    return ProfitGroup(exchange, asset, day, involved, arbitrages, profit, pair_name("alpha", "beta"))


GROUPS = (
    group("alpha", "BTC", "2026-01-02", "1.5", 3, 3),
    group("beta", "BTC", "2026-01-02", "-0.5", 3, 0),
    group("alpha", "ETH", "2026-01-01", "2", 1, 1),
)


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        ("exchange", [("alpha", 4, "3.5"), ("beta", 3, "-0.5")]),
        ("asset", [("BTC", 3, "1.0"), ("ETH", 1, "2")]),
        ("pair", [("alpha", 1, "2"), ("alpha → beta", 3, "1.0")]),
        ("strategy", [("arbitrage", 3, "1.0"), ("ma", 1, "2")]),
        ("day", [("2026-01-01", 1, "2"), ("2026-01-02", 3, "1.0")]),
    ],
)
def test_lines(by: GroupedBy, expected: list[tuple[str, int, str]]) -> None:
    assert [(line.name, line.arbitrages, str(line.profit.net)) for line in profit_by(GROUPS, by)] == expected


def test_what_is_not_reported_of_a_profit_is_nothing() -> None:
    assert all(getattr(profit_from("USD", {}), part) == 0 for part in PROFIT_PARTS)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["alpha", "beta"]),
            st.sampled_from(["BTC", "ETH"]),
            st.sampled_from(["2026-01-01", "2026-01-02"]),
            st.sampled_from(["alpha", "alpha → beta"]),
            st.tuples(*[amounts for _ in PROFIT_PARTS]),
        ),
        max_size=8,
    )
)
def test_every_way_of_grouping_gives_the_same_whole(rows: list[tuple[str, str, str, str, tuple[Decimal, ...]]]) -> None:
    groups = [
        ProfitGroup(exchange, asset, day, 1, 1, profit_from("USD", dict(zip(PROFIT_PARTS, parts, strict=True))), pair)
        for exchange, asset, day, pair, parts in rows
    ]
    wholes = []
    for by in ALL_WAYS:
        whole = profit_from("USD", {})
        for line in profit_by(groups, by):
            whole = added(whole, line.profit)
        wholes.append(whole)
    assert all(whole == wholes[0] for whole in wholes)
    assert wholes[0].net == sum(parts[PROFIT_PARTS.index("net")] for *_, parts in rows)
