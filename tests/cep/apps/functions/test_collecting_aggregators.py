"""`list:collect`, `str:groupConcat`, `math:percentile`: values, what leaves, nulls, mistakes, limits."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_limits import AppLimitError, AppLimits

STREAM = "define stream S (text string, n int, d double, o object, exact decimal);\n"


def values(expression: str, rows: list[Any], column: str = "text", window: str = "length(3)") -> list[Any]:
    text = f"{STREAM}from S#window.{window} select {expression} as v insert into O;"
    engine, found = StreamEngine(parse_app(text)), list[Any]()
    engine.listen("O", lambda _, row: found.append(row[0]))
    for at, value in enumerate(rows):
        engine.send("S", at, tuple(value if name == column else None for name in ("text", "n", "d", "o", "exact")))
    return found


@pytest.mark.parametrize(
    ("expression", "rows", "column", "expected"),
    [
        ("str:groupConcat(text)", ["A", "B", "S", "C", "A"], "text", ["A", "A,B", "A,B,S", "B,S,C", "S,C,A"]),
        ("str:groupConcat(text, '-')", ["A", "A", "B"], "text", ["A", "A-A", "A-A-B"]),
        ("str:groupConcat(text, '-', true)", ["A", "A", "B", "C"], "text", ["A", "A", "A-B", "A-B-C"]),
        ("str:groupConcat(text, '-', true, 'DESC')", ["A", "A", "B"], "text", ["A", "A", "B-A"]),
        ("str:groupConcat(text, '', false, 'asc')", ["B", "A", None], "text", ["B", "AB", "AB"]),
        ("str:groupConcat(d)", [1.5, None, 1e9], "d", ["1.5", "1.5", "1.5,1.0E9"]),
        ("list:collect(n)", [1, 2, None, 2], "n", [[1], [1, 2], [1, 2, None], [2, None, 2]]),
        ("list:collect(n, true)", [1, 1, 2, 2], "n", [[1], [1], [1, 2], [1, 2]]),
        ("list:collect(o, true)", [[1], [1], {"a": 1}], "o", [[[1]], [[1]], [[1], {"a": 1}]]),
        ("math:percentile(n, 50)", [1, 9, 5, 7], "n", [1.0, 5.0, 5.0, 7.0]),
        ("math:percentile(d, 100.0)", [1.5, None, math.nan, 0.5], "d", [1.5, 1.5, 1.5, 0.5]),
        ("math:percentile(n, 0.1)", [None, 3, 1], "n", [None, 3.0, 1.0]),
    ],
)
def test_values(expression: str, rows: list[Any], column: str, expected: list[Any]) -> None:
    found = values(expression, rows, column)
    assert found == expected
    assert [type(one) for one in found] == [type(one) for one in expected]


def test_a_percentile_is_where_it_is_written_to_be() -> None:
    # in floats 99.9 * 1000 / 100 is above 999
    found = values("math:percentile(n, 99.9)", list(range(1, 1001)), "n", "lengthBatch(1000)")
    assert found == [999.5]
    assert values("math:percentile(n, 99.85)", list(range(1, 1001)), "n", "lengthBatch(1000)") == [999.0]


def test_a_value_given_before_does_not_change() -> None:
    found = values("list:collect(text)", ["a", "b"])
    assert found == [["a"], ["a", "b"]]
    assert found[0] is not found[1]


NUMBERS = st.lists(st.none() | st.floats(-5, 5) | st.just(math.nan), min_size=1, max_size=25)


@given(numbers=NUMBERS, length=st.integers(1, 6), percent=st.sampled_from((1, 10, 25, 50, 75.5, 90, 99.9, 100)))
def test_what_leaves_the_window_leaves_them(numbers: list[float | None], length: int, percent: float) -> None:
    windows = [numbers[max(0, end - length) : end] for end in range(1, len(numbers) + 1)]
    assert repr(values("list:collect(d)", numbers, "d", f"length({length})")) == repr(windows)
    found = values(f"math:percentile(d, {percent})", numbers, "d", f"length({length})")
    for window, value in zip(windows, found, strict=True):
        ordered = sorted(one for one in window if one is not None and not math.isnan(one))
        if not ordered:
            assert value is None
            continue
        assert sum(one <= value for one in ordered) * 100 >= percent * len(ordered)
        assert sum(one >= value for one in ordered) * 100 >= (100 - percent) * len(ordered)


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("str:groupConcat()", "str:groupConcat() takes 1 to 4 arguments, and has 0"),
        ("str:groupConcat(text, text)", "a separator in quotes is expected here"),
        ("str:groupConcat(text, ',', 1)", "true or false is expected here"),
        ("str:groupConcat(text, ',', true, 'up')", "'asc' or 'desc' is expected here"),
        ("list:collect(text, 'x')", "true or false is expected here"),
        ("math:percentile(text, 50)", "takes an int, long, float or double, and this is string"),
        ("math:percentile(exact, 50)", "takes an int, long, float or double, and this is decimal"),
        ("math:percentile(d, n)", "a percentage above 0 and up to 100 is expected here"),
        ("math:percentile(d, 0)", "a percentage above 0 and up to 100 is expected here"),
        ("math:percentile(d, 101.0)", "a percentage above 0 and up to 100 is expected here"),
    ],
)
def test_mistakes_are_found_before_anything_runs(expression: str, problem: str) -> None:
    with pytest.raises(AppTextError) as error:
        StreamEngine(parse_app(f"{STREAM}from S select {expression} as v insert into O;"))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    "expression", ["list:collect(n)", "str:groupConcat(n)", "math:percentile(n, 50)", "json:group(n)"]
)
def test_values_without_a_window_are_counted(expression: str) -> None:
    terms = OperatorTerms(limits=AppLimits(window_rows=50))
    engine = StreamEngine(parse_app(f"{STREAM}from S select {expression} as v insert into O;"), terms=terms)
    for at in range(50):
        engine.send("S", at, (None, at, None, None, None))
    engine.amounts.check()
    engine.send("S", 50, (None, 50, None, None, None))
    with pytest.raises(AppLimitError, match="an aggregator of the query at line 2 keeps 51 rows, and 50 are allowed"):
        engine.amounts.check()


def test_a_window_and_its_aggregator_are_not_counted_together() -> None:
    terms = OperatorTerms(limits=AppLimits(window_rows=50))
    text = f"{STREAM}from S#window.length(50) select list:collect(n) as v insert into O;"
    engine = StreamEngine(parse_app(text), terms=terms)
    for at in range(80):
        engine.send("S", at, (None, at, None, None, None))
    engine.amounts.check()


def test_a_text_that_grows_too_long_is_a_row_that_cannot_be_computed() -> None:
    with pytest.raises(ValueError, match="a text of more than 1,000,000 characters"):
        values("str:groupConcat(text)", ["a" * 600_000, "b" * 600_000])
