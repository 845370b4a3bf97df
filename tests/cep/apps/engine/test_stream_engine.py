"""Apps in the engine: rows in, rows out."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.explanation import described_parts
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.errors import AppTextError, AppUnsupportedError

TRADES = "define stream Trades (symbol string, price double, amount long);\n"
DEEP = f"{'amount + (' * 110}1{')' * 110}"
Values = list[int | None]
Log = list[tuple[str, int, tuple[Any, ...]]]


def known(rows: Values) -> list[int]:
    return [row for row in rows if row is not None]


NAIVE: dict[str, Callable[[Values], int | None]] = {
    "sum": lambda rows: sum(known(rows)) if known(rows) else None,
    "min": lambda rows: min(known(rows), default=None),
    "max": lambda rows: max(known(rows), default=None),
    "count": len,
    "distinctCount": lambda rows: len(set(rows)),
}


def out_of(text: str, log: Log, stream: str = "Out") -> list[tuple[int, tuple[Any, ...]]]:
    """Time and values of every row of the stream."""
    engine, rows = StreamEngine(parse_app(text)), list[tuple[int, tuple[Any, ...]]]()
    engine.listen(stream, lambda at, row: rows.append((at, row)))
    for name, at, row in log:
        engine.send(name, at, row)
    engine.advance(10_000_000)
    return rows


def trades(*prices: float | None, gap: int = 100) -> Log:
    return [("Trades", place * gap, ("BTC", price, place)) for place, price in enumerate(prices)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("from Trades[price > 2] select price", [3.0]),
        ("from Trades[not (price > 2)] select amount", [0, 1, 3]),
        ("from Trades select amount / 2 as half", [0, 0, 1, 1]),
        ("from Trades select price + amount as x", [1.0, 3.0, 5.0, None]),
        ("from Trades select 1 / 0 as x", [None, None, None, None]),
        ("from Trades[price != 2] select amount", [0, 2, 3]),
        ("from Trades select sum(price) as s", [1.0, 3.0, 6.0, 6.0]),
        ("from Trades select count() as n, amount having n > 2", [(3, 2), (4, 3)]),
        ("from Trades#window.length(2) select sum(amount) as s", [0, 1, 3, 5]),
        ("from Trades#window.lengthBatch(2) select sum(amount) as s", [1, 5]),
        ("from Trades#window.time(150) select count() as n", [1, 2, 2, 2]),
        ("from Trades select amount output last every 2 events", [1, 3]),
        ("from Trades#window.lengthBatch(4) select amount order by amount desc limit 2", [3, 2]),
    ],
)
def test_queries(query: str, expected: list[Any]) -> None:
    rows = out_of(f"{TRADES}{query} insert into Out;", trades(1, 2, 3, None))
    assert [row if len(row) > 1 else row[0] for _, row in rows] == expected


def test_both_spellings_are_the_same_app() -> None:
    other = "CREATE STREAM Trades (symbol string, price double, amount long);\n"
    theirs = "INSERT INTO Out SELECT sum(price) AS s FROM Trades WINDOW SLIDING_LENGTH(2);"
    ours = "from Trades#window.length(2) select sum(price) as s insert into Out;"
    log = trades(1, 2, 3)
    assert out_of(other + theirs, log) == out_of(TRADES + ours, log) == [(0, (1.0,)), (100, (3.0,)), (200, (5.0,))]


def test_expired_rows_have_the_time_of_what_made_them_leave() -> None:
    text = f"{TRADES}from Trades#window.time(250) select amount insert expired events into Out;"
    assert out_of(text, trades(1, 2, 3, 4)) == [(300, (0,)), (10_000_000, (1,)), (10_000_000, (2,)), (10_000_000, (3,))]


def test_a_join_meets_what_the_other_side_keeps() -> None:
    text = f"""{TRADES}define stream Quotes (symbol string, bid double);
    from Quotes as q join Trades#window.length(1) as t on q.symbol == t.symbol
    select q.bid, t.price insert into Out;"""
    log: Log = [("Trades", 1, ("BTC", 1.0, 1)), ("Quotes", 2, ("BTC", 9.0)), ("Quotes", 3, ("ETH", 8.0))]
    assert out_of(text, log) == [(2, (9.0, 1.0))]


def test_every_key_of_a_partition_has_its_own_state() -> None:
    text = f"""{TRADES}partition with (symbol of Trades) begin
    from Trades select symbol, count() as n insert into #Mid;
    from #Mid[n == 2] select symbol insert into Out;
    end;"""
    log: Log = [("Trades", at, (symbol, 1.0, 1)) for at, symbol in enumerate(("BTC", "ETH", None, None, "BTC", "BTC"))]
    assert out_of(text, log) == [(4, ("BTC",))]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # amounts 0, 1, 2, ... and prices
        ("every a=Trades[price > 5] -> b=Trades[price < 3]", [(0, 2), (1, 2), (4, 5)]),
        ("a=Trades[price > 5] -> b=Trades[price < 3]", [(0, 2)]),
        ("every (a=Trades[price > 5] -> b=Trades[price < 3])", [(0, 2), (4, 5)]),
        ("every a=Trades[price > 5] -> b=Trades[price < 3] within 100 millisec", [(1, 2), (4, 5)]),
        ("every a=Trades[price > 5], b=Trades[price < 3]", [(1, 2), (4, 5)]),
        ("every a=Trades[price > 5] -> b=Trades[price < 3 and amount > a.amount + 1]", [(0, 2), (1, 5), (4, None)]),
    ],
)
def test_patterns_and_sequences(steps: str, expected: list[tuple[int, int | None]]) -> None:
    text = f"{TRADES}from {steps} select a.amount as x, b.amount as y insert into Out;"
    rows = [row for _, row in out_of(text, trades(9, 8, 1, 4, 7, 2))]
    assert rows == [row for row in expected if row[1] is not None]


def test_counted_steps_have_their_rows_by_number() -> None:
    text = f"""{TRADES}from every a=Trades[price > 5]<2:3>, b=Trades[price < 3]
    select a[0].amount as first, a[last].amount as last, a[2].amount as third insert into Out;"""
    assert [row for _, row in out_of(text, trades(9, 8, 1, 9, 9, 9, 1))] == [(0, 1, None), (3, 5, 5)]


def test_a_named_window_is_read_by_several_queries() -> None:
    text = f"""{TRADES}define window Last (price double) length(1) output all events;
    from Trades select price insert into Last;
    from Last select price insert expired events into Out;
    from Last select max(price) as top insert into Top;"""
    assert out_of(text, trades(1, 2, 3)) == [(100, (1.0,)), (200, (2.0,))]
    assert [row for _, row in out_of(text, trades(1, 2, 3), "Top")] == [(1.0,), (2.0,), (3.0,)]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "from Trade select symbol insert into Out;",
            "line 2, column 6: there is no stream 'Trade'; did you mean 'Trades'?",
        ),
        ("from Trades[pric > 1] select symbol insert into Out;", "there is no attribute 'pric'; did you mean 'price'?"),
        ("from Trades[price] select symbol insert into Out;", "a condition is expected here, and this is double"),
        ("from Trades[symbol > 1] select symbol insert into Out;", "> compares numbers, and these are string and int"),
        ("from Trades select summ(price) as s insert into Out;", "there is no function summ()"),
        ("from Trades select sum(symbol) as s insert into Out;", "sum() takes a number, and this is string"),
        ("from Trades select price + 1 insert into Out;", "this value needs a name"),
        ("from Trades#window.lenght(2) select price insert into Out;", "did you mean 'length'?"),
        ("from Trades#window.length('2') select price insert into Out;", "a number of events is expected here"),
        ("from Trades[price > 1e999] select price insert into Out;", "this number is too large for double"),
        (f"from Trades select {DEEP} as x insert into Out;", "an expression is nested too deep"),
        ("from Trades#window.timeBatch(0 sec) select price insert into Out;", "a batch must last longer than 0"),
        ("from every not Trades for 0 sec select 1 as x insert into Out;", "`not` must wait longer than 0"),
        ("from Trades select symbol insert into Trades;", "'Trades' has the columns symbol string, price double"),
    ],
)
def test_mistakes_are_told_with_their_place(text: str, problem: str) -> None:
    with pytest.raises(AppTextError) as told:
        StreamEngine(parse_app(TRADES + text))
    assert problem in str(told.value)
    assert str(told.value).startswith("line 2, column ")


def test_absence_is_noticed_by_the_clock() -> None:
    text = f"{TRADES}from every a=Trades -> not Trades for 150 millisec select a.amount insert into Out;"
    log: Log = [("Trades", at, ("BTC", 1.0, at)) for at in (0, 100, 400)]
    assert out_of(text, log) == [(250, (100,)), (550, (400,))]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        ("select symbol, price insert into Last;", [("BTC", 1.0), ("ETH", 2.0), ("BTC", 3.0)]),
        ("select symbol, price update or insert into Last on Last.symbol == symbol;", [("BTC", 3.0), ("ETH", 2.0)]),
        ("select symbol, price update Last on Last.symbol == symbol;", []),
    ],
)
def test_tables_are_written_and_asked(write: str, expected: list[tuple[str, float]]) -> None:
    app = f"{TRADES}define table Last (symbol string, price double);\nfrom Trades {write}"
    engine = StreamEngine(parse_app(app))
    for at, (symbol, price) in enumerate((("BTC", 1.0), ("ETH", 2.0), ("BTC", 3.0))):
        engine.send("Trades", at, (symbol, price, 1))
    assert engine.data.ask(parse_on_demand("from Last select *")).rows == expected
    assert engine.data.ask(parse_on_demand("from Last select count() as n")).rows == (
        [(len(expected),)] if expected else []
    )


def test_a_second_row_of_one_primary_key_is_dropped() -> None:
    text = f"""{TRADES}@PrimaryKey('symbol') define table First (symbol string, price double);
    from Trades select symbol, price insert into First;"""
    engine = StreamEngine(parse_app(text))
    for at in (1, 2):
        engine.send("Trades", at, ("BTC", float(at), 1))
    assert engine.data.ask(parse_on_demand("from First select price")).rows == [(1.0,)]
    engine.data.ask(parse_on_demand("update First set First.price = 5.0 on First.symbol == 'BTC'"))
    assert engine.data.ask(parse_on_demand("from First select price")).rows == [(5.0,)]
    engine.data.ask(parse_on_demand("delete First on First.price > 4.0"))
    assert engine.data.ask(parse_on_demand("from First select price")).rows == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("Kept.symbol = 'C' on Kept.n == 1", [("B", 2), ("C", 1)]),
        ("Kept.symbol = 'B' on Kept.n == 1", [("A", 1), ("B", 2)]),
        ("Kept.symbol = 'C', Kept.n = 7 on Kept.n < 3", [("A", 1), ("B", 2)]),
        ("Kept.symbol = ifThenElse(Kept.n == 1, 'B', 'A') on Kept.n < 3", [("A", 2), ("B", 1)]),
        ("Kept.symbol = ifThenElse(Kept.n == 1, 'B', 'C') on Kept.n < 3", [("B", 1), ("C", 2)]),
        ("Kept.n = 7 on Kept.n < 3", [("A", 7), ("B", 7)]),
    ],
)
def test_an_update_changes_all_of_its_rows_or_none(change: str, expected: list[tuple[str, int]]) -> None:
    engine = StreamEngine(parse_app("@PrimaryKey('symbol') define table Kept (symbol string, n int);"))
    heard = dict[Any, Any]()
    engine.data.table("Kept").listen(heard.__setitem__)
    for symbol, n in (("A", 1), ("B", 2)):
        engine.data.ask(parse_on_demand(f"select '{symbol}' as symbol, {n} as n insert into Kept"))
    engine.data.ask(parse_on_demand(f"update Kept set {change}"))
    assert sorted(engine.data.ask(parse_on_demand("from Kept select *")).rows) == expected
    assert sorted(row for row in heard.values() if row is not None) == expected


def test_an_on_demand_query_that_is_nested_too_deep_is_refused() -> None:
    engine = StreamEngine(parse_app(f"{TRADES}define table T (amount long);"))
    with pytest.raises(AppTextError, match="an expression is nested too deep"):
        engine.data.ask(parse_on_demand(f"from T select {DEEP} as x"))


def test_a_filter_looks_into_a_table() -> None:
    text = f"""{TRADES}define stream Watch (name string);
    define table Watched (name string);
    from Watch select name insert into Watched;
    from Trades[Watched.name == symbol in Watched] select symbol insert into Out;"""
    log: Log = [("Trades", 1, ("BTC", 1.0, 1)), ("Watch", 2, ("BTC",)), ("Trades", 3, ("BTC", 1.0, 1))]
    assert out_of(text, log) == [(3, ("BTC",))]


def test_what_is_not_there_yet_is_named_before_anything_runs() -> None:
    with pytest.raises(AppUnsupportedError, match=r"supported"):
        StreamEngine(parse_app(TRADES + "define function f[scala] return int { 1 };"))


@given(
    prices=st.lists(st.integers(-50, 50) | st.none(), max_size=30),
    length=st.integers(1, 5),
    aggregator=st.sampled_from(sorted(NAIVE)),
)
def test_a_window_by_length_is_its_last_rows(prices: Values, length: int, aggregator: str) -> None:
    text = f"{TRADES}from Trades#window.length({length}) select {aggregator}(price) as v insert into Out;"
    expected = [NAIVE[aggregator](prices[max(0, end - length) : end]) for end in range(1, len(prices) + 1)]
    assert [row[0] for _, row in out_of(text, trades(*prices))] == expected


@given(gaps=st.lists(st.integers(0, 300), max_size=30), milliseconds=st.integers(1, 500))
def test_a_window_by_time_is_what_came_since(gaps: list[int], milliseconds: int) -> None:
    times = [sum(gaps[: place + 1]) for place in range(len(gaps))]
    text = f"{TRADES}from Trades#window.time({milliseconds}) select count() as n insert into Out;"
    log: Log = [("Trades", at, ("BTC", 1.0, 1)) for at in times]
    expected = [
        sum(at - milliseconds < earlier <= at for earlier in times[: place + 1]) for place, at in enumerate(times)
    ]
    assert [row[0] for _, row in out_of(text, log)] == expected


def test_sinks_sources_and_stores_are_named_and_plain_streams_and_tables_to_the_app() -> None:
    text = """CREATE SINK Out WITH (type = 'http-call') (price double);
    @source(type = 'kafka', topic = 'x') define stream Given (price double);
    @store(type = 'database') define table Kept (price double);
    from Given select price insert into Out; from Given select price insert into Kept;"""
    engine = StreamEngine(parse_app(text))
    ends = [line for line in described_parts(engine.plan) if line.split()[0] in ("sink", "source", "store")]
    assert ends == ["sink http-call of Out", "source kafka of Given", "store database of Kept"]
    assert out_of(text, [("Given", 1, (2.5,))]) == [(1, (2.5,))]
    engine.send("Given", 1, (2.5,))
    assert engine.data.ask(parse_on_demand("from Kept select price;")).rows == [(2.5,)]


def test_constants_may_be_asked_for_null_and_for_their_type() -> None:
    text = (
        TRADES
        + "from Trades select 3 is null as a, instanceOfInteger(3) as b, instanceOfString(3) as c insert into Out;"
    )
    assert [row for _, row in out_of(text, trades(1.0))] == [(False, True, False)]


def test_log_tells_of_each_row_and_passes_it_on(caplog: pytest.LogCaptureFixture) -> None:
    text = TRADES + "from Trades#log('WARN', str:concat('of ', symbol))#window.length(1)#log('left', false)"
    with caplog.at_level("INFO", "apps"):
        rows = out_of(text + " select price insert into Out;", trades(1.5))
    assert rows == [(0, (1.5,))]
    assert [(one.levelname, one.message) for one in caplog.records] == [
        ("WARNING", "the query at line 2: of BTC: ('BTC', 1.5, 0)"),
        ("INFO", "the query at line 2: left"),
    ]


def test_annotations_that_change_nothing_here_are_taken() -> None:
    text = """@Async(buffer.size = '64', workers = '2') define stream Some (n int);
    @info(name = 'all') partition with (n of Some) begin from Some select n insert into Out; end;"""
    assert out_of(text, [("Some", 0, (1,))]) == [(0, (1,))]
