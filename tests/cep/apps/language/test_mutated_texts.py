"""Texts that somebody mangled give an app or one sentence with its place: never a trace."""

import random
from collections.abc import Iterator

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError

TEXTS = (
    """@App:name('a') @OnError(action = 'stream') define stream Trades (symbol string, price double, amount long);
    define trigger T at every 5 sec; define trigger C at '0 0 * * * ?'; define window W (price double) time(1 sec);
    @PrimaryKey('symbol') define table Last (symbol string, price double);
    define aggregation Bars from Trades select symbol, sum(price) as s group by symbol
    aggregate by amount every sec ... year;
    @info(name = 'q') from Trades[price > 2.5 and not (symbol is null)]#window.lengthBatch(4) as t
    left outer join Last as l on t.symbol == l.symbol
    select t.symbol as symbol, ifThenElse(t.price > 1.0, 'a', 'b') as x, str:concat(t.symbol, t.price) as y
    group by t.symbol having x == 'a' order by y desc limit 3 offset 1 output last every 2 events insert into Out;
    from Trades select symbol, price update or insert into Last set Last.price = price on Last.symbol == symbol;""",
    """define stream Trades (symbol string, price double); define stream Others (symbol string, price double);
    partition with (symbol of Trades, price > 3.0 as 'high' or price <= 3.0 as 'low' of Others) begin
    from every e1 = Trades[price > 1.0]<2:3> -> not Others[price > e1[last].price] for 2 sec
    -> e3 = Trades and e4 = Others within 1 min select e1[0].price as p, e3.symbol as s insert all events into #Inner;
    from #Inner#window.expression('count() < 5 and last.p - first.p < 2.0') select avg(p) as m insert into Out; end;
    from every a = Trades, b = Trades[price > a.price]+, c = Others? select a.price as p insert expired events into Seq;
    from Trades#window.session(5 sec, symbol, 1 sec) select regex:find('a+', symbol) as f, math:sqrt(price) as r
    output snapshot every 1 sec insert into Snap;""",
    """CREATE STREAM Trades (symbol string, price double); CREATE STREAM Others (symbol string, price double);
    CREATE TABLE Kept (symbol string, price double);
    INSERT INTO Means SELECT symbol, avg(price) AS mean FROM Trades[price > 1.0] WINDOW SLIDING_LENGTH(10)
    GROUP BY symbol;
    INSERT INTO Both SELECT t.symbol AS s, m.mean AS m FROM Trades WINDOW SLIDING_TIME(5 sec) AS t JOIN Means AS m
    ON t.symbol == m.symbol; CREATE TRIGGER Beat WITH (interval = 5 sec);""",
)
PIECES = (
    *(
        "(",
        ")",
        "'",
        ";",
        ",",
        "->",
        "every",
        "not",
        "<",
        ">",
        "#",
        "@",
        "!",
        "1" * 40,
        "0",
        "-1",
        "null",
        ".",
        "within",
    ),
    *("insert", "select", "\x00", "é", "/*", "--", "'\\", "1.0e999", "5 year", "group by", "#window.", "[", "]"),
)


def mutated(chosen: random.Random) -> str:
    text = chosen.choice(TEXTS)
    for _ in range(chosen.randint(1, 4)):
        at, length = chosen.randrange(len(text) + 1), chosen.randint(1, 30)
        other = chosen.choice(TEXTS)
        begin = chosen.randrange(len(other))
        match chosen.randrange(4):
            case 0:
                text = text[:at] + text[at + length :]
            case 1:
                text = text[:at] + chosen.choice(PIECES) + text[at:]
            case 2:
                text = text[:at] + other[begin : begin + length] + text[at + length :]
            case _:
                text = text[:at] + text[at : at + length] * chosen.randint(2, 5) + text[at + length :]
    return text


def mutations(count: int, seed: int) -> Iterator[str]:
    chosen = random.Random(seed)
    return (mutated(chosen) for _ in range(count))


def outcome(text: str) -> str | None:
    """Return what is wrong with it; None if it is an app."""
    try:
        StreamEngine(parse_app(text))
    except AppTextError as error:
        return str(error)
    return None


@pytest.mark.parametrize("text", TEXTS)
def test_the_texts_themselves_are_apps(text: str) -> None:
    StreamEngine(parse_app(text))


@pytest.mark.parametrize(("count", "seed"), [(400, 1), pytest.param(100_000, 3, marks=pytest.mark.soak)])
def test_a_mangled_text_gives_an_app_or_one_sentence(count: int, seed: int) -> None:
    apps = 0
    for text in mutations(count, seed):
        problem = outcome(text)
        apps += problem is None
        assert problem is None or (problem.startswith("line ") and "\n" not in problem), text
    # some of each, else nothing is shown
    assert 0 < apps < count
