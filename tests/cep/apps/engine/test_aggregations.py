"""Aggregations: how long buckets are kept, in which zone they are, and questions that cannot be answered."""

from typing import Any

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app, parse_on_demand
from cep.apps.language.errors import AppTextError, AppUnsupportedError

STREAM = "define stream S (key string, n int, o object); define stream Ask (step string, since string);\n"
HOUR, DAY = 3_600_000, 86_400_000


def aggregation(options: str = "", every: str = "sec ... year", selected: str = "sum(n) as total") -> str:
    return f"{STREAM}{options}define aggregation G from S select {selected} group by key aggregate every {every};\n"


def asked(engine: StreamEngine, per: str, within: str = "0L, 9000000000000L") -> list[tuple[Any, ...]]:
    query = f"from G within {within} per '{per}' select AGG_TIMESTAMP as at, total;"
    return engine.data.ask(parse_on_demand(query)).rows


def run(text: str, *times: int) -> StreamEngine:
    engine = StreamEngine(parse_app(text))
    for at in times:
        engine.send("S", at, ("a", 1, None))
    return engine


def test_each_duration_is_kept_as_long_as_the_text_says() -> None:
    options = (
        "@purge(enable = 'true', interval = '10 sec', "
        "@retentionPeriod(sec = '120 sec', min = '1 hour', hours = '2 days', days = 'all'))\n"
    )
    engine = run(aggregation(options), 0, 500)
    engine.advance(130_000)
    assert asked(engine, "seconds") == []
    assert asked(engine, "minutes") == [(0, 2)]
    engine.advance(HOUR + 20_000)
    assert asked(engine, "minutes") == []
    engine.advance(3 * DAY)
    assert asked(engine, "hours") == []
    engine.advance(900 * DAY)
    assert [asked(engine, per) for per in ("days", "months", "years")] == [[(0, 2)]] * 3


def test_without_purge_all_are_kept() -> None:
    engine = run(aggregation("@purge(enable = 'false')\n"), 0)
    engine.advance(400 * DAY)
    assert asked(engine, "seconds") == [(0, 1)]
    assert engine.due() is None


def test_by_default_they_are_kept_as_in_siddhi() -> None:
    engine = run(aggregation(), 0)
    engine.advance(20 * 60_000)
    assert (asked(engine, "seconds"), asked(engine, "minutes")) == ([], [(0, 1)])
    engine.advance(DAY + 20 * 60_000)
    assert (asked(engine, "minutes"), asked(engine, "hours")) == ([], [(0, 1)])


def test_the_stream_worker_spelling_says_the_same() -> None:
    text = (
        STREAM + "CREATE AGGREGATION G WITH (purge.enable = 'true', purge.interval = 10 sec, "
        "purge.retentionPeriod.sec = 30 sec, aggTimeZone = 'Asia/Kolkata') "
        "SELECT sum(n) AS total FROM S GROUP BY key AGGREGATE EVERY sec, day;"
    )
    engine = run(text, 20 * HOUR)
    assert asked(engine, "days") == [(18 * HOUR + HOUR // 2, 1)]
    engine.advance(20 * HOUR + 41_000)
    assert asked(engine, "seconds") == []


@pytest.mark.parametrize(
    ("zone", "starts"),
    [
        ("UTC", [(0, 2)]),
        ("Asia/Kolkata", [(-HOUR * 11 // 2, 1), (DAY - HOUR * 11 // 2, 1)]),
        ("America/New_York", [(-19 * HOUR, 1), (5 * HOUR, 1)]),
    ],
)
def test_buckets_are_those_of_their_zone(zone: str, starts: list[tuple[int, int]]) -> None:
    engine = run(aggregation(f"@aggTimeZone('{zone}')\n", "hour ... year"), HOUR, 20 * HOUR)
    assert asked(engine, "days", "'1969-12-01 00:00:00', '1970-02-01 00:00:00'") == starts


def test_a_time_without_a_zone_is_in_the_aggregations() -> None:
    engine = run(aggregation("@aggTimeZone('Europe/Berlin')\n", "day, month"), 30 * DAY + 23 * HOUR + 1)
    # by Berlin's calendar it is the first of February
    assert asked(engine, "months", "'1970-02-** **:**:**'") == [(31 * DAY - HOUR, 1)]
    assert asked(engine, "months", "'1970-01-** **:**:**'") == []


@pytest.mark.parametrize(
    ("options", "every", "problem"),
    [
        ("@purge(enable = 'maybe')", "sec, hour", "@purge takes enable = 'true' or 'false', not 'maybe'"),
        ("@purge(interval = '0 sec')", "sec", "@purge takes interval = '10 sec', or another time above 0"),
        ("@purge(@retentionPeriod(sec = 'long'))", "sec", "@purge takes sec = '10 sec', or another time above 0"),
        ("@purge(@retentionPeriod(days = '1 year'))", "sec", "@retentionPeriod(days = …): the aggregation has sec"),
        ("@aggTimeZone('Berlin')", "sec", "there is no time zone 'Berlin'"),
        ("@aggTimeZone('Europe/Berln')", "sec", "did you mean 'Europe/Berlin'?"),
        ("@keep(for = 'ever')", "sec", "an aggregation has no 'keep.for': there are store.type"),
    ],
)  # fmt: skip
def test_what_is_said_of_the_calendar_is_checked(options: str, every: str, problem: str) -> None:
    with pytest.raises(AppTextError) as error:
        StreamEngine(parse_app(aggregation(options, every)))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    "selected", ["distinctCount(n) as total", "list:collect(n) as total", "json:group(n) as total"]
)
def test_a_stored_one_keeps_no_more_than_its_buckets(selected: str) -> None:
    with pytest.raises(AppUnsupportedError, match=r"a stored aggregation has no .*, which keeps all values: there are"):
        StreamEngine(parse_app(aggregation("@store(type = 'c8db')", selected=selected).replace(", o object", "")))
    # one that is not stored may
    run(aggregation(selected=selected), 1)


def test_a_stored_one_has_no_rows_of_objects() -> None:
    with pytest.raises(AppUnsupportedError, match="'o' of its stream is an object, which no document keeps"):
        StreamEngine(parse_app(aggregation("@store(type = 'c8db')")))


JOIN = "from Ask as a join G within a.since per a.step select a.step as step, AGG_TIMESTAMP as at, total insert into O;"
BAD = [
    ("weeks", "1970-**-** **:**:**"),
    ("moons", "1970-**-** **:**:**"),
    ("days", "yesterday"),
    ("days", "1970-13-** **:**:**"),
]


@pytest.mark.parametrize(("step", "since"), BAD)
def test_a_row_that_cannot_be_answered_finds_nothing_and_the_app_goes_on(step: str, since: str) -> None:
    engine, rows = StreamEngine(parse_app(aggregation(every="sec, day") + JOIN)), []
    engine.listen("O", lambda _, row: rows.append(row))
    engine.send("S", 1, ("a", 1, None))
    for given in ((step, since), ("days", "1970-**-** **:**:**")):
        engine.send("Ask", 2, given)
    assert rows == [("days", 0, 1)]


@pytest.mark.parametrize(("step", "since"), BAD)
def test_it_goes_to_the_streams_errors_if_there_are(step: str, since: str) -> None:
    text = aggregation(every="sec, day").replace("define stream Ask", "@OnError(action = 'stream') define stream Ask")
    engine, errors = StreamEngine(parse_app(text + JOIN + "from !Ask select step, _error as why insert into E;")), []
    engine.listen("E", lambda _, row: errors.append(row))
    engine.send("Ask", 1, (step, since))
    assert [row[0] for row in errors] == [step]
    assert "the aggregation has sec, day" in errors[0][1] or "is no time" in errors[0][1]


@pytest.mark.parametrize(
    ("asked_for", "problem"),
    [
        ("within '1970-**-** **:**:**' per 'weeks'", "per 'weeks': the aggregation has sec, day"),
        ("within '1970-13-** **:**:**' per 'days'", "is no time: month must be in 1..12"),
        ("within 'today' per 'days'", "'today' is no time; write"),
    ],
)
def test_what_no_row_could_ask_is_a_mistake(asked_for: str, problem: str) -> None:
    text = f"{aggregation(every='sec, day')}from Ask join G {asked_for} select total insert into O;"
    with pytest.raises(AppTextError) as error:
        StreamEngine(parse_app(text))
    assert problem in str(error.value)


def test_the_least_and_the_largest_keep_one_value() -> None:
    engine = run(aggregation(selected="max(n) as total, min(n) as least"))
    for n in range(200):
        engine.send("S", n, ("a", n, None))
    assert len(repr(engine.state.saved())) < 2_000
    assert asked(engine, "years") == [(0, 199)]
