"""Rows as XML: Siddhi's own form, paths into feeds of others, what is refused, and bombs."""

import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.formats.ends import ROW, reader, values, writer
from tests.cep.apps.formats.test_json_format import ROWS

OWN = "type='xml'"
FEED = """<?xml version="1.0" encoding="UTF-8"?>
<rss xmlns:dc="http://purl.org/dc/elements/1.1/" version="2.0"><channel>
  <item id="1"><title>A &amp; <b>B</b></title><dc:creator>x</dc:creator><tag>p</tag>
  <tag>q</tag><price cur="USD">1,5</price>
  </item>
  <item id="2"><title><![CDATA[<i>]]></title><dc:creator>y</dc:creator><price cur="USD"/></item>
</channel></rss>"""


def test_a_row_is_written_and_read_in_siddhis_form() -> None:
    written = writer(OWN).write(values(ROW))
    assert written == (
        b"<events><event><symbol>WSO2</symbol><price>55.6</price><n>3</n><big>9007199254740993</big><ok>true</ok>"
        b"</event></events>"
    )
    assert reader(OWN).read(written) == [ROW]
    assert reader(OWN).read(writer(OWN).join([written, written])) == [ROW, ROW]


@given(ROWS)
def test_a_row_comes_back_as_it_was_but_for_characters_that_xml_has_not(row: tuple[object, ...]) -> None:
    (found,) = reader(OWN).read(writer(OWN).write(values(row)))
    text = row[0]
    if isinstance(text, str):
        text = "".join(
            one if one in "\t\n\r" or (one >= " " and one not in "\ufffe\uffff") else "\ufffd" for one in text
        )
    assert found == (text, *row[1:])


def test_a_feed_of_others_is_read_by_paths() -> None:
    text = """type='xml', enclosing.element='/rss/channel/item', namespaces='dc=http://purl.org/dc/elements/1.1/',
        fail.on.missing.attribute='false',
        @attributes(id='@id', title='title', by='dc:creator', tags='tag[*]', first='tag[1]', currency='price/@cur')"""
    columns = "id int, title string, by string, tags string, first string, currency string, price double"
    with pytest.raises(ValueError, match="'price' is no double: '1,5'"):
        reader(text, columns).read(FEED.encode())
    rows = reader(text, columns).read(FEED.replace("1,5", "1.5").encode())
    assert rows == [(1, "A & B", "x", '["p","q"]', "p", "USD", 1.5), (2, "<i>", "y", "[]", None, "USD", None)]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("//item", ["1", "2"]),
        ("//item[@id='2']", ["2"]),
        ("/rss/channel/item[2]", ["2"]),
        ("/*/channel/*", ["1", "2"]),
        ("rss/channel/item", ["1", "2"]),
    ],
)
def test_a_path_names_the_rows(path: str, found: list[str]) -> None:
    text = f'type="xml", enclosing.element="{path}", @attributes(id="@id")'
    assert reader(text, "id string").read(FEED.encode()) == [(one,) for one in found]


def test_a_name_is_that_of_any_namespace_and_a_prefix_that_of_one() -> None:
    body = b'<a xmlns="urn:x" xmlns:y="urn:y"><e><n>1</n><y:n>2</y:n></e></a>'
    with pytest.raises(ValueError, match="'n' is there 2 times; its path may end with"):
        reader("type='xml', enclosing.element='/a/e'", "n int").read(body)
    for prefix, value in (("urn:x", 1), ("urn:y", 2)):
        text = f"type='xml', enclosing.element='/a/e', namespaces='p={prefix}', @attributes(n='p:n')"
        assert reader(text, "n int").read(body) == [(value,)]


def test_an_empty_element_is_the_empty_text_or_no_number() -> None:
    body = b"<events><event><s/><n> </n></event></events>"
    assert reader(OWN, "s string, n int").read(body) == [("", None)]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{}", "no XML"),
        (b"", "no XML"),
        (b"<events><event></events>", "no XML"),
        (b"<other/>", "no element where the rows are"),
        (b"<events><event><n>1</n></event></events>", "'symbol' is missing"),
        (b'<?xml version="1.0" encoding="klingon"?><events/>', "no XML"),
        (b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><events><event>&b;</event></events>', "document type"),
        (b"<a>" * 65 + b"</a>" * 65, "nested more than 64 levels deep"),
        (b"<a>" + b"<b/>" * 30_000 + b"</a>", "more than 30,000 elements and attributes"),
        (b"<a>" + b"x" * (1 << 20) + b"</a>", "bytes, and 1,048,576 are allowed"),
    ],
)
def test_what_is_no_row_is_said(body: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        reader(OWN).read(body)


BOMBS = {
    "entities": b'<!DOCTYPE z [<!ENTITY a "ha">'
    + b"".join(b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(12))
    + b"]><z>&m;</z>",
    "depth": b"<a>" * 300_000,
    "elements": b"<a>" + b"<b></b>" * 149_000 + b"</a>",
    "attributes": b"<a " + b" ".join(b'a%d=""' % n for n in range(90_000)) + b"/>",
    "texts": b"<a>" * 60 + b"x<b/>" * 29_000 + b"</a>" * 60,
    "sections": b"<a>" * 60 + b"<![CDATA[x]]><?p?>" * 55_000 + b"</a>" * 60,
    "spaces": b"<a " + b" ".join(b'xmlns:a%d="%d"' % (n, n) for n in range(25_000)) + b"/>",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_memory(name: str) -> None:
    assert len(BOMBS[name]) <= 1 << 20
    found = reader("type='xml', enclosing.element='//none'")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"document type|nested|more than|no element|no XML"):
            found.read(BOMBS[name])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 50_000_000


DEEP = b"<a>" + b"<b>" * 60 + b"<c x='1'/>" * 14_000 + b"</b>" * 60 + b"</a>"


@pytest.mark.parametrize("path", ["//*//*//*//*//*//*//*//c", "//b//b//b//b//b//b//c", "//b//b//b//b//b//@x"])
def test_a_path_of_many_depths_finds_each_element_once(path: str) -> None:
    text = f"type='xml', enclosing.element='/a', @attributes(n='{path}')"
    with pytest.raises(ValueError, match="'n' is there 14000 times"):
        reader(text, "n string").read(DEEP)


def test_rows_in_rows_are_bounded() -> None:
    with pytest.raises(ValueError, match="rows stand in rows: more than 100,000 elements"):
        reader("type='xml', enclosing.element='//b', @attributes(n='.//none')", "n string").read(DEEP)
    nested = b"<a><b><n>1</n><b><n>2</n></b></b></a>"
    assert reader("type='xml', enclosing.element='//b'", "n int").read(nested) == [(1,), (2,)]


@given(st.binary(max_size=80) | st.text("<>/ab c='\"&;!-[]?x", max_size=60).map(str.encode))
def test_whatever_comes_is_rows_or_one_error(body: bytes) -> None:
    rows: list[tuple[object, ...]] = []
    with suppress(ValueError):
        rows = reader("type='xml', enclosing.element='//a'", "b string", needs_all=False).read(body)
    assert all(len(row) == 1 for row in rows)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("enclosing.element='count(//a)'", "is no path"),
        ("enclosing.element='/a[b=1]'", "is not read; write"),
        ("enclosing.element='/a/@b'", "a row is an element"),
        ("enclosing.element='/q:a'", "the prefix 'q' has no namespace"),
        ("namespaces='a'", "write prefix=address"),
        ("@attributes(n='a[*]')", "a path with \\[\\*\\] gives a list"),
        ("@payload('<a/>')", "@payload says what a sink writes"),
        ("validate.xml='true'", "the option 'validate.xml' is not known"),
    ],
)
def test_a_source_that_says_nonsense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        reader(f"type='xml', {text}")


def test_a_template_escapes_what_stands_in_it() -> None:
    payload = '<order id="{{symbol}}"><price>{{price}}</price></order>'
    found = writer(f"type='xml', @payload('{payload}')")
    assert found.write({"symbol": '<&">', "price": None}) == b'<order id="&lt;&amp;&quot;&gt;"><price></price></order>'
    inside = writer(f"type='xml', enclosing.element='<orders>', @payload('{payload}')")
    assert inside.write({"symbol": "a", "price": 1.5}) == b'<orders><order id="a"><price>1.5</price></order></orders>'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("@payload('<a>{{symbol}}')", "@payload gives no XML"),
        ("@payload('<a>{{other}}</a>')", "names 'other', which is no column"),
        ("enclosing.element='<a b>'", "enclosing.element gives no XML"),
        ("@attributes(n='a')", "a sink has @payload"),
    ],
)
def test_a_sink_that_says_nonsense_is_refused(text: str, problem: str) -> None:
    with pytest.raises(AppUnsupportedError, match=problem):
        writer(f"type='xml', {text}")


def test_a_column_whose_name_xml_has_not_is_refused() -> None:
    with pytest.raises(AppUnsupportedError, match="gives no XML"):
        writer(OWN, "`a b` string")
