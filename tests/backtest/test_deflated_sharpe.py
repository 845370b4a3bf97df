"""Whether the best of many sets is more than luck."""

from dataclasses import replace
from math import sqrt

import pytest

from backtest.result.performance import ReturnMoments, moments_of
from backtest.sweep.deflated_sharpe import DeflatedSharpe, deflated_sharpe, expected_best, probability_above
from backtest.sweep.results import SetResult, results_of, table_of
from tests.backtest.test_walk_forward import result


def test_the_papers_example() -> None:
    """Five years of 250 days, an annual ratio of 2.5 after 100 tries whose ratios have an annual variance of a half."""
    of_luck = expected_best(100, sqrt(0.5 / 250))
    assert of_luck == pytest.approx(0.1132, abs=0.0001)
    moments = ReturnMoments(1_250, 2.5 / sqrt(250), -3.0, 10.0)
    assert probability_above(moments, of_luck) == pytest.approx(0.9004, abs=0.0005)


def test_one_try_is_chosen_from_nothing() -> None:
    assert expected_best(1, 0.0) == 0.0
    assert probability_above(ReturnMoments(100, 0.0, 0.0, 3.0), 0.0) == 0.5


def found(number: int, net: str, sharpe: float | None, digest: str) -> SetResult:
    moments = None if sharpe is None else ReturnMoments(500, sharpe, 0.5, 4.0)
    return replace(result(number, -1, net), digest=digest, moments=moments)


def test_sets_that_did_the_same_are_one_try() -> None:
    sets = [found(0, "9", 0.2, "a"), found(1, "9", 0.2, "a"), found(2, "3", 0.1, "b"), found(3, "1", None, "c")]
    said = deflated_sharpe(sets)
    assert isinstance(said, DeflatedSharpe)
    assert (said.set_number, said.tries) == (0, 2)
    assert deflated_sharpe([*sets, found(4, "10", None, "d")]) is None
    assert deflated_sharpe([]) is None
    assert results_of(table_of(sets)) == sets


def test_moments_of_returns() -> None:
    # of a value that is 3 with probability 1/4 and -1 otherwise: deviation √3, skewness 2/√3, kurtosis 7/3
    moments = moments_of([3.0, -1.0, -1.0, -1.0] * 10)
    assert moments is not None
    assert (moments.returns, moments.sharpe) == (40, 0.0)
    assert (moments.skewness, moments.kurtosis) == pytest.approx((2 / sqrt(3), 7 / 3))
    assert moments_of([1.0] * 40) is None
    assert moments_of([1.0, 2.0]) is None
