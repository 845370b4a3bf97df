"""Rows of JSON that others wrote: where they are, and values as their columns say; and rows as JSON."""

from contextlib import suppress

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.formats.ends import COLUMNS, ROW, reader, values, writer

PRICES = "price double, n int, text string, on bool"


@pytest.mark.parametrize(
    ("element", "body", "rows"),
    [
        ("$", '{"price": "1.5", "n": 3, "text": "a", "on": true, "more": []}', [(1.5, 3, "a", True)]),
        ("$", '{"price": 2, "n": "4", "text": 7, "on": "false"}', [(2.0, 4, "7", False)]),
        ("$", '{"price": " 2e3 ", "n": "+4", "on": "TRUE"}', [(2000.0, 4, None, True)]),
        ("$", '{"price": null, "text": {"a": 1}}', [(None, None, '{"a":1}', None)]),
        ("$", '[{"n": 1}, {"n": 2}]', [(None, 1, None, None), (None, 2, None, None)]),
        ("$", '{"event": {"n": 1}}', [(None, 1, None, None)]),
        ("$", "[]", []),
        ("$.data.rows", '{"data": {"rows": [{"n": 1}]}}', [(None, 1, None, None)]),
        ("$.data[0]", '{"data": [{"n": 1}]}', [(None, 1, None, None)]),
        ("$['my data']", '{"my data": {"n": 1}}', [(None, 1, None, None)]),
        ("$.*", '{"n": 1, "text": "a"}', [(None, 1, "a", None)]),
        ("$.*", '{"a": {"n": 1}, "b": {"n": 2}, "c": 3}', [(None, 1, None, None), (None, 2, None, None)]),
    ],
)
def test_rows_are_where_the_source_says(element: str, body: str, rows: list[object]) -> None:
    found = reader(f'type="json", enclosing.element="{element}"', PRICES, needs_all=False)
    assert found.read(body.encode()) == rows


@pytest.mark.parametrize(
    ("element", "body", "problem"),
    [
        ("$", "<html>", "no JSON"),
        ("$", "3", "no object where the rows are"),
        ("$", "[1]", "no object where the rows are"),
        ("$.data", "{}", "nothing is named 'data'"),
        ("$.data[1]", '{"data": [1]}', r"nothing is at \[1\]"),
        ("$", '{"n": 1.5}', "'n' is no int: '1.5'"),
        ("$", '{"n": 3000000000}', "'n' is no int"),
        ("$", '{"n": "1_000"}', "'n' is no int: '1_000'"),
        ("$", '{"n": "٣"}', "'n' is no int"),
        ("$", '{"n": true}', "'n' is no int"),
        ("$", '{"price": true}', "'price' is no double"),
        ("$", '{"price": [1]}', "'price' is no double"),
        ("$", '{"price": "much"}', "'price' is no double"),
        ("$", '{"price": "nan"}', "'price' is no double: 'nan'"),
        ("$", '{"price": "1e999"}', "'price' is no double: '1e999'"),
        ("$", '{"price": "-inf"}', "'price' is no double"),
        ("$", '{"on": "perhaps"}', "'on' is no bool"),
        ("$", '{"on": 1}', "'on' is no bool"),
        ("$", '{"on": []}', "'on' is no bool: a list"),
        ("$", '{"text": ' + "[" * 1_000 + "]" * 1_000 + "}", "'text' is no string: a list"),
        ("$", '{"text": ' + '{"a":' * 1_000 + "1" + "}" * 1_001, "'text' is no string: an object"),
        ("$", "[" + "{}," * 10_000 + "{}]", "10,001 rows, and 10,000 are allowed"),
        ("$", '"' + "x" * (1 << 20) + '"', "1,048,578 bytes, and 1,048,576 are allowed"),
    ],
)
def test_what_is_no_row_is_said(element: str, body: str, problem: str) -> None:
    found = reader(f"type='json', enclosing.element='{element}'", PRICES, needs_all=False)
    with pytest.raises(ValueError, match=problem):
        found.read(body.encode())


def test_a_row_that_lacks_a_column_is_none_unless_the_text_says_so() -> None:
    with pytest.raises(ValueError, match="'n' is missing"):
        reader("type='json'", "n int").read(b"{}")
    assert reader("type='json', fail.on.missing.attribute='false'", "n int").read(b"{}") == [(None,)]


def test_a_float_has_32_bits() -> None:
    assert reader("type='json'", "f float").read(b'{"f": 3e38}') == [(3e38,)]
    with pytest.raises(ValueError, match="'f' is no float"):
        reader("type='json'", "f float").read(b'{"f": 4e38}')


def test_attributes_say_where_columns_are() -> None:
    text = """type='json', enclosing.element='$.orders', @attributes(symbol='$.a.symbol', price='prices[-1]',
        topic='trp:topic', names='$.items[*].name')"""
    found = reader(text, "symbol string, price double, n int, topic string, names string")
    body = b'{"orders": [{"a": {"symbol": "x"}, "prices": [1, 2.5], "n": 7, "items": [{"name": "p"}, {"name": "q"}]}]}'
    assert found.read(body, {"topic": "t"}) == [("x", 2.5, 7, "t", '["p","q"]')]
    with pytest.raises(ValueError, match="'topic' is missing"):
        found.read(body)


def test_attributes_without_names_are_in_the_order_of_the_columns() -> None:
    found = reader("type='json', @attributes('$.b', '$.a')", "x int, y int")
    assert found.read(b'{"a": 1, "b": 2}') == [(2, 1)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("enclosing.element='data'", None),
        ("enclosing.element='$..data'", "is no path"),
        ("enclosing.element='$.[0]'", "is no path"),
        ("enclosing.elements='$'", "the option 'enclosing.elements' is not known; did you mean 'enclosing.element'?"),
        ("@attributes(prize='$.a')", "@attributes names 'prize', which is no column; did you mean 'price'?"),
        ("@attributes('a', 'b')", "@attributes has 2 texts for 5 columns"),
        ("@attributes(n='$.a[*]')", "'n': a path with \\* gives a list"),
        ("@payload('x')", "@payload says what a sink writes"),
        ("fail.on.missing.attribute='perhaps'", "there are true and false"),
    ],
)
def test_a_source_that_says_nonsense_is_refused(text: str, problem: str | None) -> None:
    if problem is None:
        assert reader(f"type='json', {text}").read(b'{"data": []}') == []
        return
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(f"type='json', {text}")


def test_a_row_is_written_as_before() -> None:
    assert writer("type='json'").write({"a": 1}) == b'{"event":{"a":1}}'
    assert writer("type='json', enclosing.element='$.data'").write({"a": 1}) == b'{"data":{"event":{"a":1}}}'
    assert writer("type='json'").join([b'{"a":1}', b'{"a":\n2}']) == b'{"a":1}\n{"a": 2}\n'


@pytest.mark.parametrize(
    ("payload", "row", "written"),
    [
        ('{"s": {{symbol}}, "d": {"n":{{n}}}}', {"symbol": 'a"b', "n": 3}, {"s": 'a"b', "d": {"n": 3}}),
        ('{"s": "{{symbol}}"}', {"symbol": 'a"\n'}, {"s": 'a"\n'}),
        ('{"s": "{{symbol}}"}', {"symbol": None}, {"s": None}),
        ('{"s": "to {{symbol}}: {{n}}"}', {"symbol": None, "n": None}, {"s": "to : "}),
        ('{"s": "\\"{{symbol}}\\"", "n": {{n}}}', {"symbol": "x", "n": 1}, {"s": '"x"', "n": 1}),
        ('{"s": "{{ ok }} {{n}}"}', {"ok": True, "n": 2.5}, {"s": "true 2.5"}),
    ],
)
def test_a_template_gives_json_whatever_the_values(payload: str, row: dict[str, object], written: object) -> None:
    assert orjson.loads(writer(f"type='json', @payload('{payload}')").write(row)) == written


@pytest.mark.parametrize(
    ("payload", "problem"),
    [
        ('{"s": {{symbols}}}', "names 'symbols', which is no column"),
        ('{"s": {{symbol}', "write a column as {{name}}"),
        ('{"s": {{symbol}},}', "gives no JSON"),
        ("{{{symbol}}: 1}", "gives no JSON"),
    ],
)
def test_a_template_that_gives_no_json_is_refused(payload: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        writer(f"type='json', @payload('{payload}')")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["n", "price", "text", "on"]), inner),
)  # fmt: skip


@given(st.binary(max_size=60) | JSON.map(orjson.dumps), st.sampled_from(["$", "$.*", "$.n", "$.n.*"]))
def test_whatever_comes_is_rows_or_one_error(body: bytes, element: str) -> None:
    rows: list[tuple[object, ...]] = []
    found = reader(f"type='json', enclosing.element='{element}'", PRICES, needs_all=False)
    with suppress(ValueError):
        rows = found.read(body)
    assert all(len(row) == 4 for row in rows)


ROWS = st.tuples(
    st.none() | st.text(),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.integers(-(2**31), 2**31 - 1),
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.booleans(),
)


@given(ROWS)
def test_a_row_comes_back_as_it_was(row: tuple[object, ...]) -> None:
    assert reader("type='json'").read(writer("type='json'").write(values(row))) == [row]


def test_a_template_and_its_paths_say_the_same() -> None:
    payload = '{"a": {"s": {{symbol}}}, "b": [{{price}}, {{n}}], "c": "{{big}}", "d": "{{ok}}"}'
    places = "symbol='$.a.s', price='$.b[0]', n='$.b[1]', big='$.c', ok='$.d'"
    written = writer(f"type='json', @payload('{payload}')").write(values(ROW))
    assert reader(f"type='json', @attributes({places})", COLUMNS).read(written) == [ROW]


@pytest.mark.parametrize("value", [2**53 + 1, 1_616_663_618_000_000_001, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("form", ["{}", '"{}"'])
def test_a_long_is_exact(value: int, form: str) -> None:
    assert reader("type='json'", "n long").read(f'{{"n": {form.format(value)}}}'.encode()) == [(value,)]
