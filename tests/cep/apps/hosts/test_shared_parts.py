"""What regions share of an app, and what they cannot."""

import pytest

from cep.apps.hosts.hosted_app import app_source
from cep.apps.hosts.shared_parts import check_shared, shared_parts
from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.hosts.signal_app import signal_text

STREAM = "CREATE STREAM GLOBAL News (who string, n long);\n"
KEYED = "@PrimaryKey('who') CREATE TABLE GLOBAL Sums (who string, n long);\n"
QUOTES = "from quotes select exchange as who, sequence as n insert into News;\n"
LOSES = "of two regions one loses its change; insert a row for each change, with the region in its key, and sum"
ROUND = "would go round between regions for ever; insert them into a LOCAL stream"


def checked(text: str) -> None:
    source = app_source(text, "a", region="us")
    check_shared(source.app, source.outside)


@pytest.mark.parametrize(
    ("text", "at", "problem"),
    [
        (
            f"{STREAM}{QUOTES}from News select who, n insert into News;",
            (3, 37),
            f"'News' is GLOBAL, but rows of it are made of rows of it (News -> News), and {ROUND}",
        ),
        (
            f"{STREAM}from News select who, n insert into Next;\nfrom Next#window.length(3) select who, n "
            f"insert into News; {QUOTES}",
            None,
            f"(News -> Next -> News), and {ROUND}",
        ),
        (
            f"{STREAM}from every a = News -> b = quotes select a.who as who, a.n as n insert into News;",
            None,
            f"(News -> News), and {ROUND}",
        ),
        (
            f"{STREAM}define stream Told (who string, n long);\n{QUOTES}"
            "partition with (who of News) begin from News select who, n insert into #In; "
            "from #In select who, n insert into Told; end; from Told select who, n insert into News;",
            None,
            f"(News -> #In -> Told -> News), and {ROUND}",
        ),
        (
            f"@OnError(action='stream') {STREAM}{QUOTES}from !News select who, n insert into News;",
            None,
            f"(News -> !News -> News), and {ROUND}",
        ),
        (
            f"{STREAM}@sink(type = 'http-call', sink.id = 'i', publisher.url = 'http://h/p') "
            "define stream Ask (n long);"
            "@source(type = 'http-call-response', sink.id = 'i') define stream Told (who string, n long);"
            f"{QUOTES}from News select n insert into Ask; from Told select who, n insert into News;",
            None,
            f"(News -> Ask -> Told -> News), and {ROUND}",
        ),
        (
            f"CREATE STREAM GLOBAL News (who string, o object); {QUOTES.replace('sequence as n', 'map:create() as o')}",
            (1, 1),
            "'News' is GLOBAL, but 'o' is an object, which is not written to other regions",
        ),
        (
            "@sink(type = 'http-call', sink.id = 'i', publisher.url = 'http://h/p') define stream Ask (n long);\n"
            "@source(type = 'http-call-response', sink.id = 'i') CREATE STREAM GLOBAL Told (n long);\n"
            "from quotes select sequence as n insert into Ask;",
            None,
            "it has a source, which each region reads for itself; insert its rows into another stream that is GLOBAL",
        ),
        (
            f"{KEYED}from quotes select exchange as who, sequence as m update Sums set Sums.n = Sums.n + m "
            "on Sums.who == who;",
            None,
            f"'Sums' is GLOBAL, but 'n' is set to what is made of the row's own values: {LOSES}",
        ),
        (
            f"{KEYED}from quotes select exchange as who update Sums set n = n + 1L on Sums.who == who;",
            None,
            f"'n' is set to what is made of the row's own values: {LOSES}",
        ),
        (
            f"{KEYED}from quotes select exchange as who insert into Told; "
            "from Told update Sums set n = n + 1L on Sums.who == who;",
            None,
            f"'n' is set to what is made of the row's own values: {LOSES}",
        ),
        (
            f"{KEYED}define stream Told (who string); from quotes select exchange as who insert into Told; "
            "from Told select * update Sums set Sums.n = n + 1L on Sums.who == who;",
            None,
            f"'n' is set to what is made of the row's own values: {LOSES}",
        ),
        (
            f"{KEYED}from quotes join Sums on quotes.exchange == Sums.who select Sums.who as who, Sums.n + 1L as n "
            "update or insert into Sums set Sums.n = n on Sums.who == who;",
            (1, 20),
            f"rows of it are made of rows of it (Sums -> Sums): {LOSES}",
        ),
        (
            f"{KEYED}from quotes join Sums on quotes.exchange == Sums.who select Sums.who as who, Sums.n as n "
            "insert into Old; from Old select who, n + 1L as n update or insert into Sums set Sums.n = n "
            "on Sums.who == who;",
            None,
            f"(Sums -> Old -> Sums): {LOSES}",
        ),
    ],
)  # fmt: skip
def test_what_would_be_wrong_in_one_region_is_refused(text: str, at: tuple[int, int] | None, problem: str) -> None:
    with pytest.raises(AppUnsupportedError) as refused:
        checked(text)
    assert problem in refused.value.problem
    assert at in (None, (refused.value.at.line, refused.value.at.column))


@pytest.mark.parametrize(
    "text",
    [
        signal_text(),
        f"{STREAM}{QUOTES}from News select who, n insert into Heard;",
        # it looks into a table that is made of the stream, and no row makes another by itself
        f"{STREAM}define table Own (who string, n long); from News select who, n insert into Own;"
        "from quotes join Own on quotes.exchange == Own.who select Own.who as who, Own.n as n insert into News;",
        f"{KEYED}from quotes select exchange as who, sequence as n update or insert into Sums "
        "set Sums.n = n on Sums.who == who;",
        f"{KEYED}from quotes select exchange as who, sequence as n update Sums set n = n on Sums.who == who;",
        f"{KEYED}from quotes select exchange as who, sequence as n insert into Told; "
        "from Told update Sums set n = n on Sums.who == who;",
        f"{KEYED}from quotes select exchange as who, sequence as n delete Sums on Sums.who == who and Sums.n < n;",
        f"{KEYED}from quotes[not (Sums.who == exchange in Sums)] select exchange as who, sequence as n "
        "insert into Sums;",
        f"{KEYED}from quotes join Sums on quotes.exchange == Sums.who select Sums.who as who insert into Out;",
        # a region's own counts as it likes
        "@PrimaryKey('who') CREATE TABLE LOCAL Sums (who string, n long);"
        "from quotes select exchange as who update Sums set n = n + 1L on Sums.who == who;",
    ],
)
def test_the_rest_is_shared(text: str) -> None:
    checked(text)


def test_streams_and_tables_with_the_word_are_shared() -> None:
    source = app_source(f"{STREAM}{KEYED}CREATE TABLE LOCAL T (n long); {QUOTES}", "a")
    parts = shared_parts(source.app, source.outside)
    assert parts.streams == {"News": (("who", "string"), ("n", "long"))}
    assert [one.table for one in parts.tables] == ["Sums"]
    assert parts.names == {"News", "Sums"}
