"""Rows of JSON that others wrote: where they are, and values as their columns say."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.hosts.app_outside import ResponseSource
from cep.apps.hosts.response_rows import response_rows
from cep.apps.language.expression_tree import ValueType

COLUMNS: tuple[tuple[str, ValueType], ...] = (("price", "double"), ("n", "int"), ("text", "string"), ("on", "bool"))


def source(element: str = "$") -> ResponseSource:
    return ResponseSource("S", "s", "200", element, COLUMNS)


@pytest.mark.parametrize(
    ("element", "body", "rows"),
    [
        ("$", '{"price": "1.5", "n": 3, "text": "a", "on": true, "more": []}', [(1.5, 3, "a", True)]),
        ("$", '{"price": 2, "n": "4", "text": 7, "on": "false"}', [(2.0, 4, "7", False)]),
        ("$", '{"price": null, "text": {"a": 1}}', [(None, None, '{"a":1}', None)]),
        ("$", '[{"n": 1}, {"n": 2}]', [(None, 1, None, None), (None, 2, None, None)]),
        ("$", '{"event": {"n": 1}}', [(None, 1, None, None)]),
        ("$", "[]", []),
        ("$.data.rows", '{"data": {"rows": [{"n": 1}]}}', [(None, 1, None, None)]),
        ("$.*", '{"n": 1, "text": "a"}', [(None, 1, "a", None)]),
        ("$.*", '{"a": {"n": 1}, "b": {"n": 2}, "c": 3}', [(None, 1, None, None), (None, 2, None, None)]),
    ],
)
def test_rows_are_where_the_source_says(element: str, body: str, rows: list[object]) -> None:
    assert response_rows(source(element), body.encode()) == rows


@pytest.mark.parametrize(
    ("element", "body", "problem"),
    [
        ("$", "<html>", "no JSON"),
        ("$", "3", "no object at"),
        ("$", "[1]", "no object at"),
        ("$.data", "{}", "nothing is named 'data'"),
        ("$", '{"n": 1.5}', "'n' is no int: '1.5'"),
        ("$", '{"n": 3000000000}', "'n' is no int"),
        ("$", '{"n": true}', "'n' is no int"),
        ("$", '{"price": true}', "'price' is no double"),
        ("$", '{"price": [1]}', "'price' is no double"),
        ("$", '{"price": "much"}', "'price' is no double"),
        ("$", '{"on": "perhaps"}', "'on' is no bool"),
        ("$", '{"on": []}', "'on' is no bool: a list"),
        ("$", '{"text": ' + "[" * 1_000 + "]" * 1_000 + "}", "'text' is no string: a list"),
        ("$", '{"text": ' + '{"a":' * 1_000 + "1" + "}" * 1_001, "'text' is no string: an object"),
    ],
)
def test_what_is_no_row_is_said(element: str, body: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        response_rows(source(element), body.encode())


@given(st.binary(max_size=60) | st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "price", "text", "on"]), inner),
).map(lambda value: repr(value).replace("'", '"').replace("None", "null").replace("True", "true").encode()),
    st.sampled_from(["$", "$.*", "$.n", "$.n.*"]))  # fmt: skip
def test_whatever_comes_is_rows_or_one_error(body: bytes, element: str) -> None:
    rows: list[tuple[object, ...]] = []
    with suppress(ValueError):
        rows = response_rows(source(element), body)
    assert all(len(row) == len(COLUMNS) for row in rows)


@pytest.mark.parametrize("value", [2**53 + 1, 1_616_663_618_000_000_001, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("form", ["{}", '"{}"'])
def test_a_long_is_exact(value: int, form: str) -> None:
    long = ResponseSource("S", "s", "200", "$", (("n", "long"),))
    assert response_rows(long, f'{{"n": {form.format(value)}}}'.encode()) == [(value,)]
