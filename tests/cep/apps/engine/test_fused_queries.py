"""The shorter way of one row through a query gives the rows that the query's parts give, from the same state."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.compiler.query import QueryPlan
from cep.apps.engine.explanation import generated_python
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.parts.chunks import Chunk
from cep.apps.parts.patterns import PatternPlan

Values = tuple[Any, ...]
Event = tuple[int, str, Values]
Reported = list[tuple[str, int, Any]]

DEFINITIONS = """
define stream Trades (symbol string, price double, amount long, size float, fee decimal);
define stream Calm (symbol string, price double, amount long, size float, fee decimal);
define table Last (symbol string, n long);
define window Kept (symbol string, n long) length(2) output all events;
from Kept select symbol, n, count() as there insert into FromKept;
"""
STREAMS = ("Out", "Next", "FromKept")
FILTERS = (
    "",
    "[price > 2.0]",
    "[not (symbol == 'A')]",
    "[amount != 2 and price < 5.0]",
    "[symbol is null][price > 1.0]",
)
WINDOWS = ("", "#window.length(1)", "#window.length(3)", "#window.time(9)", "#window.time(0)", "#window.timeBatch(7)",
           "#window.length(2)[price > 1.0]", "#window.lengthBatch(2)", "#window.timeLength(9, 2)",
           "#window.hopping(9, 4)", "#unique:deduplicate(symbol, 5)", "#reorder:kslack(amount, 7, 2L)")  # fmt: skip
AGGREGATES = ("count()", "sum(price)", "sum(amount)", "avg(price)", "avg(amount)", "avg(fee)", "sum(fee)", "min(price)",
              "max(size)", "stdDev(price)", "distinctCount(symbol)", "sum(size)", "sum(price * 2.0)", "count(UUID())",
              "list:collect(price)", "str:groupConcat(symbol, '-', true)",
              "math:percentile(price, 60)", "sum(eventTimestamp())", "avg(currentTimeMillis())")  # fmt: skip
PLAIN = ("symbol", "price + size", "amount * 3", "UUID()", "eventTimestamp()", "currentTimeMillis()",
         "coalesce(price, 0.5)", "convert(amount, 'string')")  # fmt: skip
ENDS = ("", "order by c0 limit 2", "offset 1", "output last every 2 events", "output first every 5 milliseconds",
        "output snapshot every 6 milliseconds")  # fmt: skip


@st.composite
def queries(draw: st.DrawFn, source: str = "Trades", target: str = "Out") -> str:
    named = draw(st.booleans())
    columns = draw(st.lists(st.sampled_from(AGGREGATES + PLAIN), min_size=1, max_size=3))
    selected = ", ".join(f"{text} as c{number}" for number, text in enumerate(columns))
    group = draw(st.sampled_from(("", "group by symbol", "group by symbol, amount")))
    having = draw(st.sampled_from(("", "having count() > 1", "having price > 1.5", "having not (c0 is null)")))
    kind = draw(st.sampled_from(("", "", "", "all events", "expired events")))
    read = f"{source}{draw(st.sampled_from(FILTERS))}{draw(st.sampled_from(WINDOWS))}"
    end = draw(st.sampled_from(ENDS))
    name = f"@info(name = '{target.strip('#')}') " if named else ""
    return f"{name}from {read} select {selected} {group} {having} {end} insert {kind} into {target};\n"


CHAIN = "from Trades#window.length(2) select symbol, price, amount, size, fee, count() as n insert into {to};\n"
INTO = "from Trades#window.time(6) select symbol, count() as n group by symbol insert into {to};\n"
PATTERN = (
    "from {every}a = Trades{at_first} -> b = Trades[{back}price < 4.0] {third}{within}"
    "select a.price as first, b.price as second, count() as n group by a.symbol {having} insert into {to};\n"
)
AT_FIRST = (
    "[price > 2.0]",
    "[price > 2.0]",
    "[amount > 1 and price > 1.0]",
    "",
    "[not (UUID() is null)]",
    "[amount / 2 > 0]",
)
THIRD = ("", "", "-> c = Trades[price > 1.0] ", "-> every c = Calm[amount > 1] ")
WITHIN = ("within 12 milliseconds ", "within 12 milliseconds ", "within 3 milliseconds ", "")


@st.composite
def apps(draw: st.DrawFn) -> str:
    match draw(st.integers(0, 5)):
        case 0 | 1:
            body = draw(queries()) + draw(queries(target="Next"))
        case 2:
            inner = CHAIN.format(to="#Means") + draw(queries("#Means", "Next"))
            body = f"partition with (symbol of Trades) begin {draw(queries())} {inner} end;\n"
        case 3:
            having = draw(st.sampled_from(("", "having n > 1")))
            body = (
                PATTERN.format(
                    to="Out",
                    having=having,
                    back=draw(st.sampled_from(("", "", "symbol == a.symbol and "))),
                    every=draw(st.sampled_from(("every ", "every ", ""))),
                    at_first=draw(st.sampled_from(AT_FIRST)),
                    third=draw(st.sampled_from(THIRD)),
                    within=draw(st.sampled_from(WITHIN)),
                )
                + "from Out select first, count() as n insert into Next;\n"
            )
        case 4:
            body = CHAIN.format(to="Calmer") + draw(queries("Calmer", "Next"))
        case _:
            body = INTO.format(to="Kept") + INTO.format(to="Last")
            body += "from Trades[Last.symbol == symbol in Last] select symbol, UUID() as id insert into Out;\n"
    return DEFINITIONS + body


PRICES = st.none() | st.sampled_from((0.1, 1.5, 2.5, 3.0, 4.75, 1e17))
ROWS = st.tuples(
    st.sampled_from(("A", "B", "C", None)),
    PRICES,
    st.none() | st.integers(0, 3) | st.just(2**63 - 1),
    PRICES,
    st.none() | st.decimals(0, 9, places=2),
)


@st.composite
def events(draw: st.DrawFn) -> list[Event]:
    """Draw events; times go on, stand still, and sometimes go back."""
    at, out = 5, list[Event]()
    streams = st.sampled_from(("Trades", "Trades", "Trades", "Calm"))
    for stream, row, step in draw(st.lists(st.tuples(streams, ROWS, st.integers(-2, 6)), min_size=1, max_size=30)):
        at = max(0, at + step)
        out.append((at, stream, row))
    return out


def _watched(app: str, reported: Reported, *, is_fused: bool) -> StreamEngine:
    engine = StreamEngine(parse_app(app), is_fused=is_fused)

    def of_stream(stream: str) -> Callable[[int, Values], None]:
        return lambda at, row: reported.append((stream, at, row))

    def of_query(name: str) -> Callable[[Chunk], None]:
        return lambda chunk: reported.extend((name, at, (int(kind), row)) for kind, at, row in chunk)

    for stream in STREAMS:
        if f"into {stream};" in app:
            engine.listen(stream, of_stream(stream))
            engine.listen_to_query(stream, of_query(stream))
    return engine


def _rows(app: str, log: list[Event], cuts: dict[int, bool], *, is_fused: bool) -> Reported:
    """`cuts`: before which rows the app goes on from its state, and whether fused from there on."""
    reported: Reported = []
    engine = _watched(app, reported, is_fused=is_fused)
    for number, (at, stream, row) in enumerate(log):
        if number in cuts:
            state = engine.state.saved()
            engine = _watched(app, reported, is_fused=cuts[number])
            engine.state.restore(state)
        engine.send(stream, at, row)
    return reported


@given(apps(), events(), st.dictionaries(st.integers(0, 30), st.booleans(), max_size=4))
def test_a_query_gives_the_same_rows_either_way_and_cut_anywhere(
    app: str, log: list[Event], cuts: dict[int, bool]
) -> None:
    by_parts = _rows(app, log, {}, is_fused=False)
    # as text, since equal numbers may differ: 2 and 2.0, and their zeros
    assert repr(_rows(app, log, {}, is_fused=True)) == repr(by_parts)
    assert repr(_rows(app, log, cuts, is_fused=True)) == repr(by_parts)


def _source(query: str) -> str | None:
    """Return the Python of the shorter way."""
    engine = StreamEngine(parse_app(f"define stream T (a string, b double, c long); {query}"))
    return next((source for _, source in generated_python(engine.plan)), None)


def test_what_a_row_does_in_a_query_can_be_read() -> None:
    query = "from T[b > 1.0]#window.length(9) select a, sum(b) as s group by a having s > 2.0 insert into Out;"
    assert (_source(query) or "").splitlines() == [
        "def bind(clock, window, selector, query_listeners, outlet):",
        "    kept = window.kept",
        "    enter, leave = kept.append, kept.popleft",
        "    groups, new_group = selector.by_group, selector.new_group",
        "    def take(at, row):",
        "        c1 = row[1]",
        "        if not (not c1 is None and c1 > 1.0): return",
        "        enter(row)",
        "        if len(kept) > 9:",
        "            old = leave()",
        "            key = old[0]",
        "            try: b0, = groups[key]",
        "            except KeyError: b0, = new_group(key)",
        "            y0 = old[1]",
        "            if y0 is not None: b0.count -= 1; b0.total -= y0",
        "        key = row[0]",
        "        try: a0, = groups[key]",
        "        except KeyError: a0, = new_group(key)",
        "        x0 = c1",
        "        if x0 is None: n0, t0 = a0.count, a0.total",
        "        else: a0.count = n0 = a0.count + 1; a0.total = t0 = a0.total + x0",
        "        aggregated0 = (t0 if n0 else None)",
        "        out = (key, aggregated0, )",
        "        if not (not (v1 := out[1]) is None and v1 > 2.0): return",
        "        outlet[0](at, out)",
        "    return take",
    ]


@pytest.mark.parametrize(
    "query",
    [
        "from T#window.length(2) select a insert all events into Out;",
        "from T#window.length(2) select a insert expired events into Out;",
        "from T#window.length(0) select a insert into Out;",
        "from T#window.lengthBatch(2) select a insert into Out;",
        "from T#window.length(2)[b > 1.0] select a insert into Out;",
        "from T#window.time(5) select sum(eventTimestamp()) as s insert into Out;",
        "from T select a order by a limit 1 insert into Out;",
        "from T select a output snapshot every 5 milliseconds insert into Out;",
        "from T#window.length(1) as x join T#window.length(1) as y select x.a insert into Out;",
    ],
)
def test_where_more_than_one_row_may_come_the_parts_do_it(query: str) -> None:
    assert _source(query) is None


def test_a_time_window_without_further_rows_is_empty_after_twice_its_length() -> None:
    engine = StreamEngine(
        parse_app(
            "define stream T (a string, b double); partition with (a of T) begin "
            "from T#window.time(10) select a, sum(b) as s insert into Out; end;"
        )
    )
    for at, key in enumerate("ABAB"):
        engine.send("T", at, (key, 1.0))
    assert "1.0" in str(engine.state.saved())
    engine.advance(25)
    assert "1.0" not in str(engine.state.saved())
    assert engine.due() is None


def test_a_window_of_no_time_ends_where_a_row_is_ahead_of_the_clock() -> None:
    app = """define stream Trades (ts long, b double);
        from Trades#window.externalTime(ts, 5 milliseconds) select ts, b insert expired events into Ahead;
        from Ahead#window.time(0) select b, count() as n insert into Out;"""
    log: list[Event] = [(at, "Trades", (ts, 1.0)) for at, ts in ((1, 1000), (2, 2000), (3, 3000), (4, 3001))]
    by_parts = _rows(app, log, {}, is_fused=False)
    assert len(by_parts) == 2
    assert _rows(app, log, {}, is_fused=True) == by_parts


def test_a_row_that_moves_no_partial_match_is_seen_by_one_function() -> None:
    query = "from every a = T[b > 1.0] -> c = T[b < 0.5] within 1 sec select a.b as x insert into Out;"
    engine = StreamEngine(parse_app(f"define stream T (a string, b double, c long); {query}"))
    (plan,) = (one.input for one in engine.plan.elements if isinstance(one, QueryPlan))
    assert isinstance(plan, PatternPlan)
    assert list(plan.watches) == ["T"]


@pytest.mark.parametrize(
    "query",
    [
        "from every a = T[b > 1.0], c = T[b < 0.5] select a.b as x insert into Out;",
        "from every a = T[b > 1.0] -> c = T[b < a.b] select a.b as x insert into Out;",
        "from every (a = T[b > 1.0] -> c = T[b < 0.5]) within 1 sec select a.b as x insert into Out;",
        "from every a = T[b > 1.0]<2:3> -> c = T[b < 0.5] select c.b as x insert into Out;",
        "from every a = T[b > 1.0] -> not T[b < 0.5] for 1 sec select a.b as x insert into Out;",
        "from every a = T[b > 1.0] and c = T[b < 0.5] select a.b as x insert into Out;",
        "from every a = T[UUID() != a] -> c = T[b < 0.5] select a.b as x insert into Out;",
    ],
)
def test_where_a_row_may_matter_otherwise_the_stages_have_it(query: str) -> None:
    engine = StreamEngine(parse_app(f"define stream T (a string, b double, c long); {query}"))
    (plan,) = (one.input for one in engine.plan.elements if isinstance(one, QueryPlan))
    assert isinstance(plan, PatternPlan)
    assert not plan.watches


def test_a_row_takes_the_place_of_the_oldest_in_one_step() -> None:
    lines = (_source("from T#window.length(9) select avg(b) as m insert into Out;") or "").splitlines()
    assert lines[8:22] == [
        "        x0 = row[1]",
        "        enter(row)",
        "        if len(kept) > 9:",
        "            old = leave()",
        "            o0 = old[1]",
        "            if o0 is not None and x0 is not None: a0.total = t0 = a0.total - o0 + x0; n0 = a0.count",
        "            else:",
        "                if o0 is not None: a0.count -= 1; a0.total -= o0",
        "                if x0 is None: n0, t0 = a0.count, a0.total",
        "                else: a0.count = n0 = a0.count + 1; a0.total = t0 = a0.total + x0",
        "        else:",
        "            if x0 is None: n0, t0 = a0.count, a0.total",
        "            else: a0.count = n0 = a0.count + 1; a0.total = t0 = a0.total + x0",
        "        aggregated0 = (t0 / n0 if n0 else None)",
    ]


@pytest.mark.parametrize("first", ["from S[a > 1] select a insert into Out;", "from S select a insert into Out;"])
def test_a_row_comes_to_all_that_take_its_stream_whoever_comes_later(first: str) -> None:
    """The first query takes a row of the log together with the clock; the others get it too, and what it leaves out."""
    text = f"define stream S (a int); {first} from S#window.time(5) select count() as n insert into Next;"
    engine, got = StreamEngine(parse_app(text)), list[tuple[str, int, Values]]()

    def listening(stream: str) -> Callable[[int, Values], None]:
        return lambda at, row: got.append((stream, at, row))

    send = engine.sender("S")
    for stream in ("Out", "Next", "S"):
        engine.listen(stream, listening(stream))
    send(3, (1,))
    send(9, (2,))
    assert engine.now == 9
    passed = [] if "a > 1" in first else [("Out", 3, (1,))]
    of_first, of_second = [("Next", 3, (1,)), ("S", 3, (1,))], [("Out", 9, (2,)), ("Next", 9, (1,)), ("S", 9, (2,))]
    assert got == [*passed, *of_first, *of_second]
