"""Rows as text by patterns, as key=value, and raw."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.formats.ends import ROW, reader, values, writer
from tests.cep.apps.formats.test_json_format import ROWS

COMBINED = (
    '192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=%22 HTTP/1.0" 200 2326 "http://x.test/" '
    + '"Mozilla/4.08"'
)
LOGS = [
    ("combined", COMBINED, "host string, user string, method string, status int, bytes long, agent string",
     ("192.0.2.1", "frank", "GET", 200, 2326, "Mozilla/4.08")),
    ("common", '::1 - - [10/Oct/2000:13:55:36 +0000] "\\x16\\x03" 400 -', "user string, request string, bytes long",
     (None, "\\x16\\x03", None)),
    ("syslog", "<34>Oct  1 22:14:15 mymachine su[12]: 'su root' failed",
     "priority int, program string, pid int, message string",
     (34, "su", 12, "'su root' failed")),
    ("syslog", "Oct 11 22:14:15 mymachine kernel: up", "priority int, program string, pid int", (None, "kernel", None)),
    ("syslog5424", '<165>1 2003-10-11T22:14:15.003Z h evntslog - ID47 [a@1 b="]\\""] An event',
     "host string, pid int, data string, message string",
     ("h", None, '[a@1 b="]\\""]', "An event")),
    ("log4j", "2024-01-02 03:04:05,678 WARN  [main] com.x.Y - it is - late",
     "level string, thread string, message string",
     ("WARN", "main", "it is - late")),
    ("python", "2024-01-02 03:04:05,678 - ERROR - my.app - no", "level string, logger string, message string",
     ("ERROR", "my.app", "no")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "line", "columns", "row"), LOGS)
def test_lines_of_common_logs_are_rows(name: str, line: str, columns: str, row: tuple[object, ...]) -> None:
    found = reader(f"type='text', pattern='{name}'", columns)
    assert found.by_line
    assert found.read(f"{line}\r\n\n{line}\n".encode()) == [row, row]


def test_patterns_of_the_text_name_groups() -> None:
    text = r"type='text', regex.A='(\w+)\s([-0-9]+)', regex.B='volume\s([-0-9]+)'"
    text += ", @attributes(s='A[1]', p='A[2]', v='B[1]')"
    assert reader(text, "s string, p int, v long").read(b"wos2 550 volume 100") == [("wos2", 550, 100)]
    with pytest.raises(ValueError, match="the text does not match B: 'wos2 550'"):
        reader(text, "s string, p int, v long").read(b"wos2 550")


def test_groups_with_names_are_columns() -> None:
    found = reader(r"type='text', pattern='^(?P<s>\w+)=(?P<n>\d+)$', @attributes(m='n')", "s string, m int")
    assert found.read(b"a=1\nb=2") == [("a", 1), ("b", 2)]


def test_rows_between_delimiters_are_several() -> None:
    text = "type='text', event.grouping.enabled='true'"
    assert reader(text, "s string, n int").read(b"s:\"a\",\nn:1\n~~~~~~~~~~\ns:'b',\nn:2") == [("a", 1), ("b", 2)]
    assert writer(text).join([b"a", b"b"]) == b"a\n~~~~~~~~~~\nb"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("pattern='nginx'", "pattern = 'nginx' is not known; there are common, combined, syslog"),
        ("pattern='python'", "the pattern has no group 'symbol' for the column 'symbol'"),
        ("regex.A='(a'", "is no pattern of RE2: missing \\)"),
        (r"regex.A='(a)\1'", "is no pattern of RE2"),
        ("regex.A='(a)', @attributes(symbol='A[2]')", "regex.A has no such group"),
        ("regex.A='(a)', @attributes(symbol='B[1]')", "write the pattern's name and the group"),
        ("regex.A='(a)', @attributes(symbol='A[1]')", "the column 'price' has no place"),
        ("@attributes(symbol='A[1]')", "write regex.A"),
        ("regex.A='a', pattern='python'", "write either pattern or regex"),
    ],
)
def test_a_source_that_says_nonsense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(f"type='text', {text}")


def test_a_pattern_takes_no_more_than_the_line_is_long() -> None:
    found = reader("type='text', pattern='^(?P<s>(a+)+)$'", "s string")
    with pytest.raises(ValueError, match="does not match"):
        found.read(b"a" * 60_000 + b"b")


def test_a_line_is_bounded() -> None:
    with pytest.raises(ValueError, match="a line has more than 65,536 characters"):
        reader("type='text', pattern='(?P<s>.*)'", "s string").read(b"a" * 70_000)


OPEN = ",".join(f'k{number}:"' for number in range(7_000))


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("type='keyvalue', delimiter=',', separator=':'", "z string", OPEN),
        ("type='keyvalue'", "z string", 'a="' + "\\" * 65_000),
        ("type='keyvalue'", "z string", "a=" + " " * 65_000 + "b"),
        ("type='text'", "z string", "a:" + " " * 1_000_000 + "b"),
        ("type='text'", "z string", "a:1\n" * 260_000),
        ("type='text', event.grouping.enabled='true'", "z string", f"{'~' * 10}\na:1\n" * 60_000),
        ("type='raw', by.line='true'", "z string", "a\n" * 500_000),
    ],
)
def test_a_long_message_ends(text: str, columns: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"missing|no key|rows, and|there twice"):
        reader(text, columns).read(message.encode())


def test_a_backslash_stands_between_nothing() -> None:
    with pytest.raises(AppUnsupportedError, match=r"separator = .* write one character"):
        reader(r"type='keyvalue', separator='\'", "a string")


def test_a_template_is_written_as_it_is() -> None:
    found = writer("type='text', @payload('{{symbol}} costs {{{price}}} ({{n}})')")
    assert found.write({"symbol": "<a>", "price": 2.5, "n": None}) == b"<a> costs 2.5 ()"


@given(ROWS)
def test_a_row_in_siddhis_own_form_comes_back_as_it_was(row: tuple[object, ...]) -> None:
    assert reader("type='text'").read(writer("type='text'").write(values(row))) == [row]


def test_siddhis_own_form() -> None:
    assert writer("type='text'").write(values(ROW)).startswith(b'symbol:"WSO2",\nprice:55.6,\nn:3,')


@pytest.mark.parametrize(
    ("text", "message", "row"),
    [
        ("", 'symbol=a price=2.5 n=1 big=2 ok=true more="x y"', ("a", 2.5, 1, 2, True)),
        ("", 'symbol="a \\"b\\"" price= n=1 big=2 ok=true', ('a "b"', None, 1, 2, True)),
        (", delimiter=',', separator=':'", "symbol: a b , price:1,n:1,big:2,ok:false", ("a b", 1.0, 1, 2, False)),
        (", @attributes(symbol='s.name')", "s.name=x price=1 n=1 big=2 ok=true", ("x", 1.0, 1, 2, True)),
    ],
)
def test_pairs_are_a_row(text: str, message: str, row: tuple[object, ...]) -> None:
    assert reader(f"type='keyvalue'{text}").read(message.encode()) == [row]


@pytest.mark.parametrize(
    ("message", "problem"),
    [("symbol", "no key=value in 'symbol'"), ("a=1 a=2", "'a' is there twice"), ("a=1", "'symbol' is missing")],
)
def test_what_is_no_pair_is_said(message: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        reader("type='keyvalue'").read(message.encode())


@pytest.mark.parametrize("text", ["", ", delimiter=',', separator=':'", ", delimiter='\\t'"])
@given(ROWS)
def test_a_row_of_pairs_comes_back_as_it_was(text: str, row: tuple[object, ...]) -> None:
    written = writer(f"type='keyvalue'{text}").write(values(row))
    assert reader(f"type='keyvalue'{text}").read(written) == [row]


def test_pairs_of_a_payload() -> None:
    found = writer("type='keyvalue', @payload(what='{{symbol}}', kind='fixed one', at='{{n}}/{{big}}')")
    assert found.write(values(ROW)) == b'what=WSO2 kind="fixed one" at=3/9007199254740993'


def test_a_raw_message_is_the_column() -> None:
    columns = "body string, topic string"
    assert reader("type='raw', @attributes(topic='trp:topic')", columns).read("é".encode(), {"topic": "t"}) == [
        ("é", "t")
    ]
    assert reader("type='passThrough', encoding='base64'", "body string").read(b"\xff\0") == [("/wA=",)]
    assert reader("type='raw', by.line='true'", "body string").read(b"a\n\nb\n") == [("a",), ("b",)]
    with pytest.raises(ValueError, match="no UTF-8"):
        reader("type='raw'", "body string").read(b"\xff")
    assert writer("type='raw', encoding='base64'", "body string").write({"body": "/wA="}) == b"\xff\0"
    with pytest.raises(ValueError, match="'body' is no Base64"):
        writer("type='raw', encoding='base64'", "body string").write({"body": "?"})
    with pytest.raises(AppUnsupportedError, match="a raw message is one column, a string"):
        reader("type='raw'")


@given(st.binary(max_size=50))
def test_bytes_come_back_as_they_were(message: bytes) -> None:
    ((text,),) = reader("type='raw', encoding='base64'", "body string").read(message)
    assert writer("type='raw', encoding='base64'", "body string").write({"body": text}) == message


@given(st.text('="\\ ab,:\r\n', max_size=40), st.sampled_from(["keyvalue", "text"]))
def test_whatever_comes_is_rows_or_one_error(text: str, kind: str) -> None:
    rows: list[tuple[object, ...]] = []
    with suppress(ValueError):
        rows = reader(f"type='{kind}'", "a string", needs_all=False).read(text.encode())
    assert all(len(row) == 1 for row in rows)
