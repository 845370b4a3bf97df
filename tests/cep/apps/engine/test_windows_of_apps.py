"""Windows by session, expression, frequency and the events' own time; snapshots, triggers, errors, aggregations."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.errors import AppTextError
from cep.apps.parts.calendar import CronTimes, bucket_start, time_range
from tests.cep.apps.engine.test_stream_engine import TRADES, Log, out_of, trades

HOUR = 3_600_000


def at(*gaps: int) -> Log:
    """Trades with these gaps of time before each; the amount counts them."""
    time, log = 0, Log()
    for number, gap in enumerate(gaps):
        time += gap
        log.append(("Trades", time, ("AB"[number % 2], float(number), number)))
    return log


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        # two sessions; what leaves has its own time
        ("from Trades#window.session(100) select amount insert expired events into Out;",
         [(0, 0), (50, 1), (400, 2)]),
        ("from Trades#window.session(100, symbol) select amount insert expired events into Out;",
         [(0, 0), (50, 1), (400, 2)]),
        ("from Trades#window.session(100, symbol, 40) select count() as n insert into Out;",
         [(0, 1), (50, 2), (400, 1)]),
        ("from Trades#window.expression('count() <= 2') select amount insert expired events into Out;", [(400, 0)]),
        ("from Trades#window.expression('last.amount == first.amount') select amount insert expired events into Out;",
         [(50, 0), (400, 1)]),
        ("from Trades#window.expression('eventTimestamp(last) - eventTimestamp(first) < 60') "
         "select count() as n insert into Out;", [(0, 1), (50, 2), (400, 1)]),
        ("from Trades#window.expressionBatch('count() <= 1') select amount insert into Out;", [(50, 0), (400, 1)]),
        ("from Trades#window.expressionBatch('count() <= 1', true) select amount insert into Out;",
         [(50, 0), (50, 1), (400, 2)]),
        ("from Trades#window.frequent(1, symbol) select amount insert into Out;", [(0, 0), (50, 1), (400, 2)]),
        ("from Trades#window.batch(1) select count() as n insert into Out;", [(0, 1), (50, 1), (400, 1)]),
        ("from Trades#window.externalTimeBatch(amount, 2) select count() as n insert into Out;", [(50, 2)]),
    ],
)  # fmt: skip
def test_windows(query: str, expected: list[tuple[int, int]]) -> None:
    assert [(time, row[0]) for time, row in out_of(TRADES + query, at(0, 50, 350))] == expected


@given(st.lists(st.integers(1, 250), max_size=30), st.integers(10, 200))
def test_a_session_is_what_follows_within_the_gap(gaps: list[int], gap: int) -> None:
    log = at(*gaps)
    text = f"{TRADES}from Trades#window.session({gap}) select amount insert expired events into Out;"
    times = [time for _, time, _ in log]
    ends = [
        number for number in range(len(times)) if number + 1 == len(times) or times[number + 1] - times[number] >= gap
    ]
    # every session leaves whole, and all of them leave in their order
    assert [row[0] for _, row in out_of(text, log)] == list(range(len(log)))
    counted = f"{TRADES}from Trades#window.session({gap}) select count() as n insert into Out;"
    sizes = [end - before for before, end in zip([-1, *ends], ends, strict=False)]
    assert [row[0] for _, row in out_of(counted, log)] == [n for size in sizes for n in range(1, size + 1)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select amount", [(0, 0), (150, 1), (150, 1)]),
        ("select symbol, sum(amount) as s group by symbol", [(0, "A"), (0, "A"), (150, "B"), (0, "A"), (150, "B")]),
    ],
)
def test_a_snapshot_gives_the_last_row_or_that_of_each_group(query: str, expected: list[Any]) -> None:
    engine, rows = (
        StreamEngine(parse_app(f"{TRADES}from Trades {query} output snapshot every 100 milliseconds insert into Out;")),
        [],
    )
    engine.listen("Out", lambda at, row: rows.append((at, row[0])))
    engine.send("Trades", 0, ("A", 1.0, 0))
    engine.advance(100)
    engine.send("Trades", 150, ("B", 1.0, 1))
    engine.advance(399)
    assert rows == expected


def test_a_snapshot_of_a_window_gives_what_is_in_it() -> None:
    text = f"{TRADES}from Trades#window.length(2) select amount output snapshot every 1000 sec insert into Out;"
    rows = out_of(text, trades(1, 2, 3))
    assert rows[:2] == [(100, (1,)), (200, (2,))]
    assert len(rows) == 20


@pytest.mark.parametrize(
    ("trigger", "expected"),
    [
        ("at every 4000 sec", [4_000_000, 8_000_000]),
        ("at 'start'", [0]),
        ("at '0 0 * * * ?'", [HOUR, 2 * HOUR]),
    ],
)
def test_a_trigger_comes_by_the_apps_clock(trigger: str, expected: list[int]) -> None:
    text = f"define trigger T {trigger}; from T select triggered_time as t insert into Out;"
    assert out_of(text, []) == [(time, (time,)) for time in expected]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("define trigger T at 'now and then';", "is no cron expression"),
        ("define trigger T at '0 0 25 * * ?';", "is no cron expression"),
        (TRADES + "from Trades#window.session(5, price) select price insert into Out;", "must be a string"),
        (TRADES + "from Trades#window.session(5, symbol, 9) select price insert into Out;", "longer than its gap"),
        (TRADES + "from Trades#window.expression('count( <') select price insert into Out;", "in this text, line 1"),
        (TRADES + "from Trades#window.expression('price') select price insert into Out;", "a condition is expected"),
        (TRADES + "from Trades#window.lossyFrequent(2) select price insert into Out;", "between 0 and 1"),
        (TRADES + "from Trades#window.externalTimeBatch(price, 5) select price insert into Out;", "must be a long"),
        (TRADES + "from !Trades select price insert into Out;", "it takes @OnError"),
        ("CREATE STREAM Other WITH (size='1') (a int);", "has no property 'size': there is OnError.action"),
        (TRADES + "@purge(interval = '1 sec') partition with (symbol of Trades) begin "
         "from Trades select price insert into Out; end;", "idle.period"),
        (TRADES + "define aggregation A from Trades select sum(price) as s aggregate by price every sec;", "a long"),
        (TRADES + "define table T (a int); from Trades join T within 1, 2 per 'sec' select price insert into Out;",
         "neither side is one"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence_with_their_place(text: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        StreamEngine(parse_app(text))


def test_what_cannot_be_computed_enters_the_stream_of_errors() -> None:
    text = """@OnError(action = 'stream') define stream Given (text string);
    from Given select cast(text, 'int') + 1 as n insert into Out;
    from !Given select text, _error as why insert into Lost;"""
    log: Log = [("Given", 1, ("one",)), ("Given", 2, (None,)), ("Given", 3, ("three",))]
    assert out_of(text, log) == [(2, (None,))]
    lost = out_of(text, log, "Lost")
    assert [(time, row[0]) for time, row in lost] == [(1, "one"), (3, "three")]
    assert all("int" in row[1] or "str" in row[1] for _, row in lost)


def test_with_the_action_log_the_row_is_left_out() -> None:
    text = """@OnError(action = 'log') define stream Given (text string);
    from Given select cast(text, 'int') + 1 as n insert into Out;"""
    assert out_of(text, [("Given", 1, ("one",)), ("Given", 2, (None,))]) == [(2, (None,))]


def test_a_key_without_rows_is_forgotten() -> None:
    text = f"""{TRADES}@purge(enable = 'true', interval = '1 sec', idle.period = '2 sec')
    partition with (symbol of Trades) begin
        from Trades select symbol, count() as n insert into Out;
        from Trades#window.time(60 sec) as a join Trades#window.length(1) as b select a.price insert into Joined;
    end;"""
    log: Log = [
        ("Trades", time, (symbol, 1.0, 1)) for time, symbol in ((0, "A"), (1_500, "B"), (2_600, "A"), (2_900, "B"))
    ]
    assert [row for _, row in out_of(text, log)] == [("A", 1), ("B", 1), ("A", 1), ("B", 2)]


PURGE = "@purge(enable = 'true', interval = '3 sec', idle.period = '20 sec')"
WAITING = {
    "absence": "from every a=E -> not E for 5 sec select a.id as id, a.n as n insert into Out;",
    "absence or a row": "from every a=E -> not E for 5 sec or b=E[n > 5] select a.id as id, a.n as n insert into Out;",
    "delay": "from E#window.delay(4 sec) select id, n insert into Out;",
    "time": "from E#window.time(4 sec) select id, n insert expired events into Out;",
    "session": "from E#window.session(3 sec) select id, n insert expired events into Out;",
    "batch": "from E#window.timeBatch(7 sec) select id, sum(n) as n insert into Out;",
    "rate": "from E select id, n output last every 4 sec insert into Out;",
}
"""What a key without rows waits for, all of it over before such a key is forgotten."""


@pytest.mark.parametrize("waiting", WAITING)
@given(
    log=st.lists(st.tuples(st.sampled_from([0, 1, 400, 4_000, 21_000, 40_000]), st.sampled_from("abc")), max_size=12)
)
def test_a_leap_of_the_clock_past_a_purge_loses_nothing(waiting: str, log: list[tuple[int, str]]) -> None:
    """The rows are those of a clock in small steps, in which what is due is done long before the key is forgotten."""
    text = f"define stream E (id string, n int); {PURGE} partition with (id of E) begin {WAITING[waiting]} end;"
    assert _rows_by_key(text, log, step=60_000) == _rows_by_key(text, log, step=1_000)


def _rows_by_key(text: str, log: list[tuple[int, str]], *, step: int) -> dict[str, list[Any]]:
    """Without their times, which for what leaves a window are those of the clock. Which key comes first is not
    promised."""
    engine, rows = StreamEngine(parse_app(text)), dict[str, list[Any]]()
    engine.listen("Out", lambda _, row: rows.setdefault(row[0], []).append(row[1]))
    now = 0
    for number, (gap, key) in enumerate([*log, (60_000, "end")]):
        for at in range(now + step, now + gap, step):
            engine.advance(at)
        now += gap
        engine.send("E", now, (key, number))
    return rows


class _CountedTime(int):
    """Counts how often such times are compared, which is what keeping them in order costs."""

    compared = 0

    def __add__(self, more: int) -> "_CountedTime":
        return _CountedTime(int(self) + more)

    __radd__ = __add__

    def __eq__(self, other: object) -> bool:
        _CountedTime.compared += 1
        return int.__eq__(self, other)

    def __lt__(self, other: int) -> bool:
        _CountedTime.compared += 1
        return int.__lt__(self, other)

    __hash__ = int.__hash__


def test_a_leap_past_a_purge_takes_work_in_proportion_to_the_keys() -> None:
    keys = 10_000
    text = f"""define stream E (id string); {PURGE} partition with (id of E) begin
    from E#window.time(10 min) select id, count() as n insert into Out; end;"""
    engine, counts = StreamEngine(parse_app(text)), list[int]()
    engine.listen("Out", lambda _, row: counts.append(row[1]))
    for key in range(keys):
        engine.send("E", _CountedTime(key), (str(key),))
    before = _CountedTime.compared
    engine.advance(_CountedTime(120_000))
    assert _CountedTime.compared - before < 100 * keys
    for key in range(keys):
        engine.send("E", 120_000, (str(key),))
    assert counts == [1] * 2 * keys


def test_keys_are_put_away_and_taken_again_by_work_in_proportion_to_them() -> None:
    """Each had looked at everything that any key waits for."""
    keys = 2_000
    text = """define stream E (id string); partition with (id of E) begin
    from E#window.time(10 min) select id, count() as n insert into Out; end;"""
    engine = StreamEngine(parse_app(text))
    for key in range(keys):
        engine.send("E", _CountedTime(key), (str(key),))
    before = _CountedTime.compared
    kept = {key: state for _, key, state in engine.state.by_key()}
    assert _CountedTime.compared - before < 100 * keys
    again, counts = StreamEngine(parse_app(text)), list[int]()
    again.state.keep_keys(lambda _, key: kept.get(key))
    again.listen("Out", lambda _, row: counts.append(row[1]))
    before = _CountedTime.compared
    for key in range(keys):
        again.send("E", _CountedTime(keys + key), (str(key),))
    assert _CountedTime.compared - before < 100 * keys
    assert counts == [2] * keys
    # ten minutes after the first row of each, and no earlier
    again.advance(600_000 + keys - 1)
    counts.clear()
    for key in range(keys):
        again.send("E", 600_000 + keys - 1, (str(key),))
    assert counts == [2] * keys


BARS = f"""{TRADES}define stream Ask (since long, until long, step string);
define aggregation Bars from Trades select symbol, sum(price) as total, price as last, count() as n group by symbol
aggregate every sec ... year;
from Ask as a join Bars as b on b.symbol == 'A' within a.since, a.until per a.step
select AGG_TIMESTAMP as start, b.total as total, b.last as last, b.n as n insert into Out;
"""


@pytest.mark.parametrize(
    ("since", "until", "step", "expected"),
    [
        (0, 2_000, "seconds", [(0, 0.0, 0.0, 1), (1_000, 6.0, 4.0, 2)]),
        (0, 1_000, "sec", [(0, 0.0, 0.0, 1)]),
        (0, 1, "days", [(0, 6.0, 4.0, 3)]),
        (0, 1, "year", [(0, 6.0, 4.0, 3)]),
        (1, 2, "year", []),
    ],
)
def test_an_aggregation_has_values_for_every_step_of_the_calendar(
    since: int, until: int, step: str, expected: list[Any]
) -> None:
    log = [*at(0, 600, 600, 600, 150), ("Ask", 2_500, (since, until, step))]
    assert [row for _, row in out_of(BARS, log)] == expected


def test_an_aggregation_is_asked_on_demand_by_a_time_as_people_write_it() -> None:
    engine = StreamEngine(parse_app(BARS))
    for stream, time, row in at(0, 600, 600):
        engine.send(stream, time, row)
    query = "from Bars within '1970-01-01 00:00:**' per 'seconds' select AGG_TIMESTAMP as t, symbol, total;"
    assert sorted(engine.data.ask(parse_on_demand(query)).rows) == [(0, "A", 0.0), (0, "B", 1.0), (1_000, "A", 2.0)]
    with pytest.raises(AppTextError, match="is no time"):
        engine.data.ask(parse_on_demand("from Bars within 'today' per 'seconds' select total;"))
    with pytest.raises(AppTextError, match="the aggregation has sec, min"):
        engine.data.ask(parse_on_demand("from Bars within 0L per 'eons' select total;"))


@pytest.mark.parametrize(
    ("order", "expected"), [("AGG_TIMESTAMP desc limit 1", [(2.0,)]), ("symbol desc limit 1", [(1.0,)])]
)
def test_an_answer_may_be_in_the_order_of_what_is_not_selected(order: str, expected: list[tuple[float]]) -> None:
    engine = StreamEngine(parse_app(BARS))
    for stream, time, row in at(0, 600, 600):
        engine.send(stream, time, row)
    query = f"from Bars within '1970-01-01 00:00:**' per 'seconds' select total order by {order};"
    assert engine.data.ask(parse_on_demand(query)).rows == expected


def test_rows_of_a_chunk_may_be_in_the_order_of_what_is_not_selected() -> None:
    text = f"{TRADES}from Trades#window.lengthBatch(3) select price order by amount desc limit 2 insert into Out;"
    log: Log = [("Trades", place, ("A", float(place), amount)) for place, amount in enumerate((2, 9, 5))]
    assert [row for _, row in out_of(text, log)] == [(1.0,), (2.0,)]


def test_a_duration_that_an_aggregation_does_not_keep_finds_nothing_or_is_refused() -> None:
    kept = BARS.replace("sec ... year", "sec, hour")
    log = [*at(0, 600, 600), ("Ask", 2_000, (0, 2_000, "minutes")), ("Ask", 2_001, (0, 2_000, "hours"))]
    assert [row[0] for _, row in out_of(kept, log)] == [0]
    with pytest.raises(AppTextError, match="per 'minutes': the aggregation has sec, hour"):
        StreamEngine(parse_app(kept.replace("per a.step", "per 'minutes'")))


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("2026-**-** **:**:**", "2026-01-01", "2027-01-01"),
        ("2026-12-** **:**:**", "2026-12-01", "2027-01-01"),
        ("2026-02-28 **:**:**", "2026-02-28", "2026-03-01"),
        ("2026-02-28 23:**:**", "2026-02-28 23:00", "2026-03-01"),
        ("2026-02-28 23:59:**", "2026-02-28 23:59", "2026-03-01"),
        ("2026-02-28 23:59:59", "2026-02-28 23:59:59", "2026-03-01"),
        ("2026-02-28 00:00:00 +05:30", "2026-02-27 18:30", "2026-02-27 18:30:01"),
    ],
)
def test_a_time_as_people_write_it_is_a_span(text: str, first: str, after: str) -> None:
    def milliseconds(iso: str) -> int:
        return int(datetime.fromisoformat(iso).replace(tzinfo=UTC).timestamp()) * 1_000

    assert time_range(text) == (milliseconds(first), milliseconds(after))


@pytest.mark.parametrize("text", ["", "2026", "2026-**-01 00:00:00", "2026-13-01 00:00:00"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        time_range(text)


@given(st.integers(0, 4_000_000_000_000))
def test_buckets_of_the_calendar_hold_what_is_in_them(time: int) -> None:
    starts = [bucket_start(name, time) for name in ("year", "month", "day", "hour", "min", "sec")]
    assert starts == sorted(starts)
    assert starts[-1] <= time < starts[-1] + 1_000
    assert time - 7 * 86_400_000 < bucket_start("week", time) <= time
    day = datetime.fromtimestamp(time / 1_000, UTC).strftime("%Y-%m-%d")
    assert time_range(f"{day} **:**:**")[0] == starts[2]
    assert time_range(f"{day[:7]}-** **:**:**")[0] == starts[1]


def test_cron_times_follow_each_other() -> None:
    times = CronTimes("*/2 * * * * ?")
    assert [times.after(0), times.after(1_999), times.after(2_000)] == [2_000, 2_000, 4_000]
    with pytest.raises(ValueError, match="6 fields"):
        CronTimes("* * * * *")
