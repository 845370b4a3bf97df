"""Choosing on one time span and testing on the next."""

from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtest.sweep.errors import SweepRejectedError
from backtest.sweep.results import SetResult
from backtest.sweep.walk_forward import spans_of, walk_forward
from market.money import ZERO
from market.trade.arbitrages import PROFIT_PARTS


def result(number: int, span: int, net: str, drawdown: str = "0") -> SetResult:
    profit = dict.fromkeys(PROFIT_PARTS, ZERO) | {"net": Decimal(net)}
    return SetResult(number, span, (("a", Decimal(number)),), 1, 1, 0, profit, Decimal(drawdown), True, "")


@given(start=st.integers(0, 10**16), length=st.integers(1, 10**12), folds=st.integers(1, 50))
def test_spans_cover_all_of_it_once(start: int, length: int, folds: int) -> None:
    if length < folds + 1:
        with pytest.raises(SweepRejectedError, match="too short"):
            spans_of(start, start + length - 1, folds)
        return
    spans = spans_of(start, start + length - 1, folds)
    assert [span.number for span in spans] == list(range(folds + 1))
    assert (spans[0].start, spans[-1].end) == (start, start + length)
    assert all(before.end == after.start for before, after in pairwise(spans))
    lengths = {span.end - span.start for span in spans}
    assert max(lengths) - min(lengths) <= 1
    assert min(lengths) >= 1


@pytest.mark.parametrize("folds", [0, -1, 1_001])
def test_a_number_of_folds_that_makes_none_is_rejected(folds: int) -> None:
    with pytest.raises(SweepRejectedError, match="takes 1 to 1,000 folds"):
        spans_of(0, 10**9, folds)


def test_each_span_is_judged_with_what_was_best_before_it() -> None:
    spans = spans_of(0, 299, 2)
    results = {
        0: [result(0, 0, "5"), result(1, 0, "9"), result(2, 0, "1")],
        1: [result(0, 1, "4"), result(1, 1, "-3"), result(2, 1, "8")],
        2: [result(0, 2, "100"), result(1, 2, "50"), result(2, 2, "2")],
    }
    found = walk_forward(spans, results)
    assert [(fold.training.number, fold.test.number) for fold in found.folds] == [(0, 1), (1, 2)]
    assert [fold.chosen.number for fold in found.folds] == [1, 2]
    assert [fold.tested.net for fold in found.folds] == [Decimal(-3), Decimal(2)]
    assert (found.in_sample, found.out_of_sample) == (Decimal(17), Decimal(-1))


def test_what_comes_later_does_not_change_a_choice() -> None:
    spans = spans_of(0, 299, 2)
    results = {number: [result(0, number, "1"), result(1, number, "2")] for number in range(3)}
    before = walk_forward(spans, results).folds[0]
    later = {**results, 2: [replace(one, profit=one.profit | {"net": Decimal(10) - one.net}) for one in results[2]]}
    assert walk_forward(spans, later).folds[0] == before


def test_equal_nets_are_decided_by_drawdown_then_number() -> None:
    spans = spans_of(0, 1, 1)
    results = {
        0: [result(2, 0, "5", "1"), result(0, 0, "5", "3"), result(1, 0, "5", "1")],
        1: [result(number, 1, "0") for number in range(3)],
    }
    assert walk_forward(spans, results).folds[0].chosen.number == 1
