"""Which trades two runs have in common, and what each made, by hand and for any two runs."""

from collections import Counter
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from market.accounting.run_comparison import (
    SAME_WITHIN,
    RunFigures,
    RunTrade,
    differing_texts,
    equity_points,
    figures_of,
    matched,
)

SECOND = SAME_WITHIN


def trade(name: str, at: int, route: str = "BTC a b", net: str | None = "1", fees: str | None = "-0.5") -> RunTrade:
    """Return a trade detected `at` microseconds, that ended as long after."""
    base, bought, sold = route.split()
    made, paid = (None if one is None else Decimal(one) for one in (net, fees))
    return RunTrade(name, at, base, bought, sold, Decimal(1), "closed", made, paid, None if net is None else 2 * at)


@pytest.mark.parametrize(
    ("first", "second", "both", "alone"),
    [
        ([("a", 5)], [("b", 5)], "a=b", "|"),
        # another latency takes a later sighting of the same opportunity
        ([("a", 5)], [("b", 5 + SECOND)], "a=b", "|"),
        ([("a", 5)], [("b", 6 + SECOND)], "", "a|b"),
        # the same moment comes before the nearest one
        ([("a", 100), ("c", 400)], [("b", 400)], "c=b", "a|"),
        ([("a", 400)], [("b", 100), ("c", 400)], "a=c", "|b"),
        # each trade once
        ([("a", 1), ("c", 2)], [("b", 1)], "a=b", "c|"),
        ([], [("b", 1)], "", "|b"),
        ([], [], "", "|"),
    ],
)
def test_trades_of_one_route_and_moment_are_one(
    first: list[tuple[str, int]], second: list[tuple[str, int]], both: str, alone: str
) -> None:
    found = matched([trade(*one) for one in first], [trade(*one) for one in second])
    assert " ".join(f"{one.trade_id}={other.trade_id}" for one, other in found.both) == both
    left = ["".join(one.trade_id for one in some) for some in (found.only_first, found.only_second)]
    assert "|".join(left) == alone


def test_another_route_is_another_trade() -> None:
    found = matched([trade("a", 5)], [trade("b", 5, "BTC b a"), trade("c", 5, "ETH a b")])
    assert (found.both, len(found.only_second)) == ((), 2)


def test_the_sum_so_far_follows_the_ends() -> None:
    late, early, unended = trade("a", 5, net="-3"), trade("b", 4, net="2"), trade("c", 1, net=None)
    assert [(one.at, one.net) for one in equity_points([late, early, unended])] == [(8, Decimal(2)), (10, Decimal(-1))]
    assert equity_points([]) == ()


TRADES = st.lists(
    st.builds(
        trade,
        st.uuids().map(str),
        st.integers(0, 6 * SECOND),
        st.sampled_from(["BTC a b", "BTC b a", "ETH a b"]),
        st.none() | st.integers(-500, 500).map(str),
    ),
    max_size=30,
)


@given(first=TRADES, second=TRADES)
def test_every_trade_of_any_two_runs_is_in_one_place(first: list[RunTrade], second: list[RunTrade]) -> None:
    found = matched(first, second)
    assert Counter([one for one, _ in found.both] + list(found.only_first)) == Counter(first)
    assert Counter([one for _, one in found.both] + list(found.only_second)) == Counter(second)
    for one, other in found.both:
        assert one.route == other.route
        assert abs(one.event_time - other.event_time) <= SAME_WITHIN
    # the sides can be exchanged, and a run is like itself
    mirrored = matched(second, first)
    assert len(mirrored.both) == len(found.both)
    assert len(matched(first, first).both) == len(first)


def test_what_trades_made() -> None:
    trades = [trade(str(at), at, net=net) for at, net in enumerate(("3", "-5", "1", "-1", None, "0"), 1)]
    assert figures_of(trades) == RunFigures(
        trades=6,
        net=Decimal(-2),
        fees=Decimal("-2.5"),
        won=2,
        lost=2,
        mean=Decimal("-0.4"),
        best=Decimal(3),
        worst=Decimal(-5),
        drawdown=Decimal(5),
    )
    assert figures_of([*trades, trade("7", 7, fees=None)]).fees is None
    nothing = figures_of([])
    assert nothing == RunFigures(0, Decimal(0), Decimal(0), 0, 0, None, None, None, Decimal(0))


@given(TRADES)
def test_a_run_falls_no_deeper_than_all_that_it_lost(trades: list[RunTrade]) -> None:
    lost = -sum(one.net for one in trades if one.net is not None and one.net < 0)
    assert 0 <= figures_of(trades).drawdown <= lost


def test_texts_that_differ_are_named() -> None:
    assert differing_texts({"a": "1", "b": "2", "c": "3"}, {"a": "1", "b": "9", "d": "4"}) == {
        "b": ("2", "9"),
        "c": ("3", None),
        "d": (None, "4"),
    }
