"""What the session needs of the moving average's app, said if it is not there; and what it keeps of a market."""

from dataclasses import replace
from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cep.apps.hosts.average_app import FILE_NAME, MOST_BEGUN, AverageApp, shipped_average_app
from cep.errors import CepCannotStartError
from market.money import Price
from market.trade.moving_average import AverageCrossing, Close, MovingAverage
from tests.market.average_rules import app_rule, naive_rule

SHIPPED = Path(__file__).parents[4] / "apps" / FILE_NAME
CLOSE = Close("alpha", "us", "BTC/USD", Price(Decimal(5)), 0, 0, "us")


def of(*prices: str) -> list[Close]:
    return [replace(CLOSE, price=Price(Decimal(price))) for price in prices]


def asked(rule: AverageApp, closes: list[Close], average: MovingAverage | None = None) -> list[AverageCrossing | None]:
    average, said = average or MovingAverage(), list[AverageCrossing | None]()
    for close in closes:
        average, crossing = rule(average, close)
        said.append(crossing)
    return said


def test_the_session_s_text_is_the_one_in_apps() -> None:
    assert files("cep.apps.hosts").joinpath(FILE_NAME).read_text() == SHIPPED.read_text()


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("price decimal);", "price double);", "line "),
        ("insert into Signals;", "insert into Crossings;", "the session needs its stream Signals (exchange string, "),
        ("insert into Means", "insert int Means", "line "),
    ],
)
def test_another_text_is_refused_with_what_is_missing(before: str, after: str, said: str) -> None:
    with pytest.raises(CepCannotStartError, match=r"moving-average\.app: ") as refused:
        AverageApp(SHIPPED.read_text().replace(before, after))
    assert said in str(refused.value)


def test_how_far_it_looks_back_is_in_the_text_alone() -> None:
    """A longer window keeps more closes, and what an earlier text kept is gone on with."""
    longer = AverageApp(SHIPPED.read_text().replace("length(10)", "length(12)"))
    shorter = AverageApp(SHIPPED.read_text().replace("length(10)", "length(3)"))
    closes = of(*map(str, range(1, 16)))
    average = MovingAverage()
    for close in closes:
        average, _ = shipped_average_app()(average, close)
    assert len(average.closes) == 10
    after, _ = longer(average, CLOSE)
    assert len(after.closes) == 11
    after, _ = shorter(average, CLOSE)
    assert after == MovingAverage((Decimal(14), Decimal(15), Decimal(5)), -1)


def test_markets_that_alternate_keep_apart() -> None:
    rule = shipped_average_app()
    here, there = of("5", "4", "6"), [replace(close, exchange="beta") for close in of("4", "6", "5")]
    averages = [MovingAverage(), MovingAverage()]
    said: list[list[AverageCrossing | None]] = [[], []]
    for pair in zip(here, there, strict=True):
        for place, close in enumerate(pair):
            averages[place], crossing = rule(averages[place], close)
            said[place].append(crossing)
    assert said == [[None, None, AverageCrossing("BUY", Decimal(5))], [None, None, None]]


def test_it_goes_on_however_often_markets_are_begun() -> None:
    """Each answer is of what it is given, as if each close came to a process of its own."""
    rule, pair = shipped_average_app(), [MovingAverage(tuple(map(Decimal, one))) for one in ("54", "46")]
    close = replace(CLOSE, price=Price(Decimal(6)))
    said = [rule(pair[number % 2], close)[1] for number in range(MOST_BEGUN + 10)]
    assert set(said[::2]) == {AverageCrossing("BUY", Decimal(5))}
    assert set(said[1::2]) == {None}


def test_signals_alone_are_asked_again_without_a_market_for_each() -> None:
    """As a recording has them: closes between two signals are in the second one's alone."""
    rule, average, asked_again = shipped_average_app(), MovingAverage(), 0
    prices = [str(50 + number * 37 % 11 + (number // 7 % 2) * 5) for number in range(200)]
    for close in of(*prices):
        before, (average, expected) = average, naive_rule(average, close)
        if expected is not None:
            asked_again += 1
            assert rule(MovingAverage(before.closes), close) == (average, expected)
    assert rule.begun == 1 < asked_again


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=60))
def test_it_answers_by_its_arguments_whichever_closes_it_was_not_asked_about(turns: list[tuple[int, bool]]) -> None:
    average = MovingAverage()
    for price, is_asked in turns:
        before, close = average, of(str(price))[0]
        average, expected = naive_rule(average, close)
        if is_asked:
            assert app_rule()(MovingAverage(before.closes), close) == (average, expected)


def test_a_mean_is_shown_as_digits_whatever_closes_came_before() -> None:
    rule = shipped_average_app()
    closes = of("1.250", *("300",) * 10, "200", "900")
    (said,) = [crossing for crossing in asked(rule, closes) if crossing and crossing.trade_type == "BUY"][-1:]
    assert str(said.mean) == "350"


def test_a_signal_that_the_session_does_not_know_is_an_error() -> None:
    rule = AverageApp(SHIPPED.read_text().replace("'BUY' as side", "'LONG' as side"))
    with pytest.raises(ValueError, match="gives the signal 'LONG', and the session knows BUY, SELL"):
        asked(rule, of("5", "4", "6"))
