"""Rows as CSV: quotes, delimiters, headers, decimal commas, null, and round trips."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.formats.ends import ROW, reader, values, writer
from tests.cep.apps.formats.test_json_format import ROWS

COLUMNS = "a string, b string, n int, x double"


@pytest.mark.parametrize(
    ("text", "message", "rows"),
    [
        ("", "p,q,1,2.5\n", [("p", "q", 1, 2.5)]),
        ("", "p,q,1,2.5\r\n\r\nr,s, 2 ,1e3", [("p", "q", 1, 2.5), ("r", "s", 2, 1000.0)]),
        ("", '"a,b","say ""hi""",,\n', [("a,b", 'say "hi"', None, None)]),
        ("", '"two\nlines",,1,2\n', [("two\nlines", None, 1, 2.0)]),
        ("", '"","",,', [("", "", None, None)]),
        ("", 'it"s,b,1,2', [('it"s', "b", 1, 2.0)]),
        (", delimiter=';'", "p;q,q;1;2", [("p", "q,q", 1, 2.0)]),
        (", delimiter='\\t'", "p\tq\t1\t2", [("p", "q", 1, 2.0)]),
        (", decimal.comma='true'", "p;q;1;2,5", [("p", "q", 1, 2.5)]),
        (", null.text='NULL'", 'NULL,"NULL",NULL,', [(None, "NULL", None, None)]),
        (", header='true'", "x,n,b,a,more\n2.5,1,q,p,z\n", [("p", "q", 1, 2.5)]),
        (", header.present='true', fail.on.missing.attribute='false'", "a,n\np,1", [("p", None, 1, None)]),
        (", header='true', @attributes(x='my x')", "a,b,n,my x\np,q,1,2", [("p", "q", 1, 2.0)]),
        (", @attributes('3', '2', '1', '0')", "2,1,q,p", [("p", "q", 1, 2.0)]),
        (", fail.on.unknown.attribute='false'", "p,q,1,2,more", [("p", "q", 1, 2.0)]),
        ("", "", []),
    ],
)
def test_lines_are_rows(text: str, message: str, rows: list[object]) -> None:
    assert reader(f"type='csv'{text}", COLUMNS).read(message.encode()) == rows


@pytest.mark.parametrize("text", ["", ", decimal.comma='true', delimiter='\\t'"])
@pytest.mark.parametrize("digits", ["1" * 500_000, "1" * 250_000 + "e" + "1" * 250_000])
def test_a_long_text_that_is_no_number_is_looked_at_once(text: str, digits: str) -> None:
    """With two places for a digit it was looked at as often as it has digits: for hours."""
    separator = "\t" if text else ","
    with pytest.raises(ValueError, match="'x' is no double"):
        reader(f"type='csv'{text}", COLUMNS).read(separator.join(("p", "q", "1", digits + "x")).encode())


@pytest.mark.parametrize(
    ("text", "message", "problem"),
    [
        ("", "p,q,1", "'x' is missing"),
        ("", "p,q,1,2,3", "5 fields, and the columns are in 4"),
        ("", "p,q,one,2", "'n' is no int: 'one'"),
        ("", "p,q,2147483648,2", "'n' is no int"),
        ("", 'p,"q,1,2', "a quote that does not end, or a sign behind one, at character 3"),
        ("", '"p"q,q,1,2', "a sign behind one, at character 1"),
        ("", "p,q,1,1e999", "'x' is no double"),
        (", decimal.comma='true'", "p;q;1;1.000,5", "'x' is no double with a decimal comma: '1.000,5'"),
        (", header='true'", "a,a\n1,2", "the header has 'a' twice"),
        (", header='true'", "a,b,n\np,q,1", "'x' is missing"),
    ],
)
def test_what_is_no_row_is_said(text: str, message: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        reader(f"type='csv'{text}", COLUMNS).read(message.encode())


def test_bytes_of_another_encoding_are_no_rows_and_a_mark_of_byte_order_is_no_text() -> None:
    with pytest.raises(ValueError, match=r"no UTF-8 \(byte 1\)"):
        reader("type='csv'", "a string").read("aé".encode("latin-1"))
    assert reader("type='csv'", "a string").read("\ufeffa".encode()) == [("a",)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("delimiter='ab'", "write one character"),
        ("decimal.comma='true', delimiter=','", "write another delimiter"),
        ("@attributes(a='first', b='1', n='2', x='3')", "write the field's place, from 0"),
        ("@attributes(a='0')", "the column 'b' has no place"),
        ("headers='true'", "the option 'headers' is not known; did you mean 'header'?"),
    ],
)
def test_a_source_that_says_nonsense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(f"type='csv', {text}", COLUMNS)


def test_rows_are_written_in_the_order_that_the_payload_says() -> None:
    text = "type='csv', header='true', delimiter='-', @payload(symbol='0', price='2', big='1')"
    found = writer(text, "symbol string, price double, big long")
    written = found.write({"symbol": "WSO2", "price": 55.6, "big": 100})
    assert written == b"symbol-big-price\r\nWSO2-100-55.6\r\n"
    assert found.join([written, written]) == b"symbol-big-price\r\nWSO2-100-55.6\r\nWSO2-100-55.6\r\n"
    with pytest.raises(AppUnsupportedError, match="gives the places 0, 2; write 0 to 1"):
        writer("type='csv', @payload(symbol='0', price='2')")


def test_a_null_alone_is_no_line() -> None:
    with pytest.raises(ValueError, match=r"give it a null\.text"):
        writer("type='csv'", "a string").write({"a": None})
    assert writer("type='csv', null.text='NULL'", "a string").write({"a": None}) == b"NULL\r\n"


@pytest.mark.parametrize("text", ["", ", delimiter=';', decimal.comma='true'", ", header='true'", ", null.text='a'"])
@given(ROWS)
def test_a_row_comes_back_as_it_was(text: str, row: tuple[object, ...]) -> None:
    assert reader(f"type='csv'{text}").read(writer(f"type='csv'{text}").write(values(row))) == [row]


@given(st.text('",;\r\n ab1é', max_size=40))
def test_whatever_comes_is_rows_or_one_error(text: str) -> None:
    rows: list[tuple[object, ...]] = []
    with suppress(ValueError):
        rows = reader("type='csv', fail.on.unknown.attribute='false'", "a string", needs_all=False).read(text.encode())
    assert all(len(row) == 1 for row in rows)


@pytest.mark.parametrize("message", [b'"' * (1 << 20), b"a" * (1 << 20), b"," * (1 << 20), b'"a""' * (1 << 18)])
def test_a_long_message_ends(message: bytes) -> None:
    with pytest.raises(ValueError, match=r"fields|quote|missing|no double"):
        reader("type='csv'").read(message)


def test_a_long_header_ends() -> None:
    header = ",".join(f"c{number}" for number in range(120_000))
    found = reader("type='csv', header='true'", "c9 string, c119999 int")
    assert found.read(f"{header}\n{',' * 8}z,y{',' * 119_990}7".encode()) == [("y", 7)]


def test_a_row_is_written_and_read() -> None:
    assert writer("type='csv'").write(values(ROW)) == b"WSO2,55.6,3,9007199254740993,true\r\n"
