"""An app that is cut anywhere and goes on from its snapshot gives the same rows."""

import hashlib
import pickle
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from cep.apps.engine.snapshots import FORMAT, Snapshot, SnapshotError, app_digest, read, written
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppUnsupportedError
from tests.cep.apps.engine.conformance import Case, outputs_of
from tests.cep.apps.language.trees import conformance_cases, conformance_folder

Rows = list[tuple[str, int, tuple[Any, ...]]]

TRADES = "define stream Trades (symbol string, price double, amount long);\n"
APPS = {
    "windows": """
        from Trades#window.length(3) select symbol, sum(price) as total group by symbol insert all events into Out;
        from Trades#window.time(20) select count() as n, max(price) as top insert into Out2;
        from Trades#window.timeBatch(15) select symbol, min(price) as least insert into Out3;
        from Trades#window.lengthBatch(4) select stdDev(price) as d, distinctCount(symbol) as s insert into Out4;
    """,
    "batches in joins": """
        from Trades#window.expressionBatch('count() <= 2') as a join Trades#window.length(2) as b
        on a.symbol == b.symbol
        select a.price as price, b.amount as amount insert into Out;
        from Trades#window.lengthBatch(3) select symbol, price group by symbol insert into Out2;
    """,
    "purge": """
        @purge(enable = 'true', interval = '5 millisec', idle.period = '20 millisec')
        partition with (symbol of Trades) begin
            from every a = Trades -> not Trades for 7 millisec select a.symbol as symbol, a.price as p insert into Out;
        end;
    """,
    "own rows": """
        from every a = Trades, b = Trades[b[last].price is null or price > b[last].price]+,
            c = Trades[price < b[last].price]
        select a.price as first, b.price as prices, c.price as last insert into Out;
    """,
    "partition": """
        partition with (symbol of Trades) begin
            from Trades#window.length(2) select symbol, avg(price) as mean insert into #Means;
            from #Means[mean > 2.0] select symbol, mean, count() as n insert into Out;
        end;
    """,
    "pattern": """
        from every a = Trades[price > 3.0] -> b = Trades[symbol == a.symbol]<2:3> -> c = Trades[price < 2.0]
        select a.price as first, b[0].price as second, c.price as third insert into Out;
        from every not Trades[symbol == 'A'] for 12 milliseconds select 'quiet' as what insert into Out2;
    """,
    "table": """
        @PrimaryKey('symbol') define table Last (symbol string, price double);
        from Trades select symbol, price update or insert into Last set Last.price = price on Last.symbol == symbol;
        from Trades[Last.symbol == symbol in Last] select symbol, UUID() as id insert into Out;
        from Trades join Last on Trades.symbol == Last.symbol select Last.price as p insert into Out2;
    """,
    "hops": """
        from Trades#window.hopping(40 millisec, 15 millisec) select symbol, sum(price) as total, count() as n
        group by symbol insert all events into Out;
        from Trades#window.hopping(10 millisec, 30 millisec) select symbol, price insert into Out2;
    """,
    "collected": """
        from Trades#window.length(3) select list:collect(symbol, true) as symbols, math:percentile(price, 75) as p,
            str:groupConcat(symbol, '-', false, 'desc') as text insert into Out;
        from Trades select symbol, list:collect(price) as prices group by symbol insert into Out2;
    """,
    "held back": """
        from Trades#unique:deduplicate(symbol, 20 millisec) select symbol, count() as n insert into Out;
        from Trades select symbol, price, (amount * 7) % 11 as at insert into Mixed;
        from Mixed#reorder:kslack(at, 15 millisec, 6L) select symbol, at, count() as n insert into Out2;
        from Mixed#reorder:kslack(at, -1, 3L, true) select symbol, at insert into Out3;
    """,
    "limits in parentheses": """
        from every a = Trades[symbol == 'A']
            -> (b = Trades[price > 1.0]<1:2> -> c = Trades[symbol == 'C'] within 21 millisec)
        select a.price as first, b[last].price as second, c.price as third insert into Out;
        from every (a = Trades[symbol == 'B'] -> b = Trades[price < 2.0] within 10 millisec)
            -> (c = Trades within 7 millisec)
        select a.amount as first, c.amount as last insert into Out2;
    """,
    "calendar": """
        @aggTimeZone('Asia/Kolkata') @purge(interval = '30 millisec', @retentionPeriod(sec = '60 millisec'))
        define aggregation Bars from Trades select symbol, sum(price) as total, max(amount) as most, stdDev(price) as d
        group by symbol aggregate every sec, day;
        from Trades as t join Bars as b on b.symbol == t.symbol within 0L, 9000L per 'seconds'
        select b.total as total, b.most as most, b.d as d insert into Out;
        from Trades as t join Bars as b within '1970-**-** **:**:**' per 'days'
        select AGG_TIMESTAMP as start, b.symbol as symbol, b.total as total insert into Out2;
    """,
    "rates": """
        from Trades select symbol, price output last every 3 events insert into Out;
        from Trades select symbol, price group by symbol output first every 25 milliseconds insert into Out2;
        from Trades select symbol output all every 20 milliseconds insert into Out3;
    """,
}
EVENTS = [(7 * n, "Trades", ("ABCA"[n % 4], float((n * 5) % 7) / 1.5, n)) for n in range(40)]
STREAMS = ("Out", "Out2", "Out3", "Out4")


def _watched(app: str, streams: Iterable[str], rows: Rows) -> StreamEngine:
    engine = StreamEngine(parse_app(app))

    def listener(stream: str) -> Callable[[int, tuple[Any, ...]], None]:
        return lambda at, row: rows.append((stream, at, row))

    for stream in streams:
        engine.listen(stream, listener(stream))
    return engine


def _again(app: str, streams: Iterable[str], rows: Rows, engine: StreamEngine) -> StreamEngine:
    """Return a new engine with the state of the first, by way of bytes."""
    data = written(Snapshot(app_digest(app), {"log|0": 1}, engine.state.saved()))
    after = _watched(app, streams, rows)
    after.state.restore(read(data, app_digest(app)).state)
    return after


def _run(app: str, streams: tuple[str, ...], events: list[Any], cuts: Iterable[int] = ()) -> Rows:
    rows: Rows = []
    engine, cut_before = _watched(app, streams, rows), set(cuts)
    for number, (at, stream, row) in enumerate(events):
        if number in cut_before:
            engine = _again(app, streams, rows, engine)
        engine.send(stream, engine.now if at is None else at, tuple(row))
    return rows


def _outputs(text: str) -> tuple[str, ...]:
    return tuple(name for name in STREAMS if f"into {name};" in text)


@pytest.mark.parametrize("name", APPS)
def test_cut_before_every_row_it_gives_the_same_rows(name: str) -> None:
    app = TRADES + APPS[name]
    whole = _run(app, _outputs(app), EVENTS)
    assert len(whole) > 5
    assert _run(app, _outputs(app), EVENTS, range(len(EVENTS))) == whole


def _cut_in_thirds(case: Case) -> None:
    events = [event for event in case["events"] if event[1] is not None]
    cuts = (len(events) // 3, 2 * len(events) // 3)
    outputs = tuple(outputs_of(case))
    # ids that follow from the log, floats to the last bit
    assert repr(_run(case["app"], outputs, events, cuts)) == repr(_run(case["app"], outputs, events)), case["id"]


@pytest.mark.skipif(conformance_folder() is None, reason="the shared conformance cases are not here")
@pytest.mark.parametrize(("step", "least"), [(6, 150), pytest.param(1, 1_200, marks=pytest.mark.soak)])
def test_conformance_cases_that_are_cut_give_the_same_rows(step: int, least: int) -> None:
    ran = 0
    for case in list(conformance_cases())[::step]:
        if "expected" not in case or "error" in case["expected"] or "null" in str(case.get("on_demand", "")):
            continue
        try:
            StreamEngine(parse_app(case["app"]))
        except AppUnsupportedError:
            continue
        ran += 1
        _cut_in_thirds(case)
    assert ran > least


def _snapshot() -> bytes:
    engine = _watched(TRADES + APPS["windows"], (), [])
    engine.send("Trades", 5, ("A", 1.5, 1))
    return written(Snapshot(app_digest("app"), {"log|0": 17}, engine.state.saved()))


def test_a_snapshot_has_its_position() -> None:
    assert read(_snapshot(), app_digest("app")).position == {"log|0": 17}


@pytest.mark.parametrize(
    ("spoilt", "problem"),
    [
        (lambda data: data[:-1], "torn"),
        (lambda data: data[:40], "torn"),
        (lambda data: b"", "another version"),
        (lambda data: data.replace(b"snapshot 5", b"snapshot 4", 1), "another version"),
        (lambda data: data[:-9] + bytes([data[-9] ^ 1]) + data[-8:], "torn or was changed"),
    ],
)
def test_a_spoilt_snapshot_is_refused(spoilt: Callable[[bytes], bytes], problem: str) -> None:
    with pytest.raises(SnapshotError, match=problem):
        read(spoilt(_snapshot()), app_digest("app"))


def test_a_snapshot_of_another_text_is_refused() -> None:
    with pytest.raises(SnapshotError, match="another app"):
        read(_snapshot(), app_digest("another"))


class _Runs:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("it ran",)


def test_a_snapshot_runs_nothing_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    body = pickle.dumps(replace(read(_snapshot(), app_digest("app")), state=_Runs()))
    with pytest.raises(SnapshotError, match="does not belong"):
        read(FORMAT + hashlib.sha256(body).digest() + body, app_digest("app"))
    assert capsys.readouterr().out == ""
