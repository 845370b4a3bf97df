"""Bad apps are ended with one sentence that names the limit and what reached it."""

import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.errors import AppFailedError
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.hosts.event_watch import CaseWatch, EventWatch, bounded_memory, watched
from cep.apps.hosts.hosted_app import ROWS_BETWEEN_LOOKS, AppSource, HostedApp, app_source
from cep.apps.hosts.product_streams import parse_with_product_streams
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_limits import AppLimitError, AppLimits

SMALL = AppLimits(window_rows=50, partial_matches=50, keys=50, table_rows=50, event_seconds=0.5)
ROWS = 80
TABLE = "define table T (base string, rows long);"
LAST = "the app was ended at row 1000 of partition 3: "
HEALTH = "from health select query, batch"


def row(number: int) -> dict[str, Any]:
    return {"kind": "query", "query": f"q{number}", "is_active": True, "batch": number}


def run(text: str, limits: AppLimits = SMALL, rows: int = ROWS) -> HostedApp:
    """Rows up to the offset at which it is looked what the app keeps; a second between two."""
    app = HostedApp(AppSource("a", text, terms=OperatorTerms(limits=limits)), 3)
    for number in range(rows):
        app.take(ROWS_BETWEEN_LOOKS - rows + 1 + number, number * 1_000_000, row(number))
    return app


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f"@info(name = 'all') {HEALTH.replace('health', 'health#window.time(1 year)')} insert into O;",
         "the query 'all' keeps 80 rows, and 50 are allowed (window.rows)"),
        (f"{HEALTH.replace('health', 'health#window.timeBatch(1 year)')} insert into O;",
         "the query at line 1 keeps 80 rows, and 50 are allowed (window.rows)"),
        (f"{HEALTH.replace('health', 'health#window.session(1 hour)')} insert into O;",
         "the query at line 1 keeps 80 rows, and 50 are allowed (window.rows)"),
        (f"{HEALTH} output all every 1000 events insert into O;",
         "the query at line 1 keeps 80 rows, and 50 are allowed (window.rows)"),
        (f"define window W (query string, batch long) time(1 year); {HEALTH} insert into W;",
         "the window 'W' keeps 80 rows, and 50 are allowed (window.rows)"),
        ("from health select query, count() as n group by query insert into O;",
         "the query at line 1 keeps 80 keys, and 50 are allowed (keys)"),
        (f"partition with (query of health) begin {HEALTH} insert into O; end;",
         "the partition at line 1 keeps 80 keys, and 50 are allowed (keys)"),
        ("partition with (query of health) begin from health#window.length(5) select batch insert into O; end;",
         "the query at line 1 keeps 80 rows, and 50 are allowed (window.rows)"),
        ("define aggregation A from health select query, count() as n group by query aggregate every sec;"
         f"{HEALTH} insert into O;", "the aggregation 'A' keeps 80 keys, and 50 are allowed (keys)"),
        ("from every a=health -> b=health[query == 'x'] select a.query as q insert into O;",
         "the query at line 1 keeps 81 partial matches, and 50 are allowed (partial.matches)"),
        (f"define table T (query string, batch long); {HEALTH} insert into T;",
         "the table 'T' keeps 80 rows, and 50 are allowed (table.rows)"),
    ],
)  # fmt: skip
def test_what_grows_is_ended_by_its_limit(text: str, sentence: str) -> None:
    with pytest.raises(AppFailedError) as found:
        run(text)
    assert str(found.value) == LAST + sentence


@pytest.mark.parametrize("what", ["#window.time(1 min)", "#window.length(50)", "[batch > 1000]#window.time(1 year)"])
def test_what_stays_within_its_limits_goes_on(what: str) -> None:
    limits = AppLimits(window_rows=61, keys=1)
    assert run(f"from health{what} select batch insert into O;", limits).position == ROWS_BETWEEN_LOOKS + 1


def test_a_query_counts_what_it_keeps_again_after_a_purge() -> None:
    purged = """@purge(enable = 'true', interval = '10 sec', idle.period = '10 sec')
    partition with (query of health) begin from health#window.length(5) select batch insert into O; end;"""
    assert run(purged).position == ROWS_BETWEEN_LOOKS + 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("from health#window.length(1000000000) select batch insert into O;",
         "line 1, column 27: a window of 1,000,000,000 rows is larger than the 50 that are allowed"),
        ("INSERT INTO O SELECT batch FROM health WINDOW SLIDING_TIME_LENGTH(1 sec, 51);", "a window of 51 rows"),
        ("define window W (batch long) lengthBatch(51); from health select batch insert into W;",
         "a window of 51 rows"),
        ("@App:limits(window.rows = '51') from health select batch insert into O;",
         "line 1, column 1: window.rows = '51': a number above 0 and up to 50 is expected, which the operator allows"),
        ("@App:limits(window.row = '5') from health select batch insert into O;",
         "there is no limit 'window.row'; did you mean 'window.rows'"),
        ("@App:limits(keys = 'many') from health select batch insert into O;", "keys = 'many': a number"),
        ("@App:limits(window.rows = '5') from health#window.length(6) select batch insert into O;",
         "a window of 6 rows"),
    ],
)  # fmt: skip
def test_what_could_never_be_within_a_limit_is_refused_before_it_runs(text: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        app_source(text, "a", terms=OperatorTerms(limits=SMALL))


def test_an_app_says_itself_how_little_it_takes() -> None:
    with pytest.raises(AppFailedError, match=r"keeps 80 rows, and 7 are allowed \(window.rows\)"):
        run("@App:limits(window.rows = '7', event.seconds = '0.5') "
            "from health#window.time(1 year) select batch insert into O;")  # fmt: skip


FLOOD = "define trigger T at every 1 millisecond; from T select triggered_time insert into O;"
DOUBLED = "from A#window.delay(1 millisecond) select query insert into A; "
GROWING = f"from health select query insert into A; {DOUBLED}{DOUBLED}"


@pytest.mark.parametrize(
    ("text", "limits", "sentence"),
    [
        (f"{HEALTH} insert into B; {FLOOD}", SMALL,
         "it took more than 0.5 s of CPU with all that comes of it (event.seconds)"),
        (f"{HEALTH} insert into B; {FLOOD} from O#window.time(99 years) select count() as n insert into C;",
         AppLimits(window_rows=1_000), "rows, and 1,000 are allowed (window.rows)"),
    ],
)  # fmt: skip
# the signal may come while Python runs a callback that cannot raise; the next one comes a quarter of a second later
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_one_row_that_takes_too_long_or_grows_without_end_is_ended(text: str, limits: AppLimits, sentence: str) -> None:
    app = HostedApp(AppSource("a", text, terms=OperatorTerms(limits=limits)), 0)
    app.take(1, 0, row(0))
    with watched(EventWatch(lambda: app)), pytest.raises(AppFailedError) as found:
        app.take(2, 10**15, row(1))
    assert str(found.value).startswith("the app was ended at row 2 of partition 0: ")
    assert str(found.value).endswith(sentence)
    # the watch is gone with its block, and a row that is done is none
    assert app.busy_with is None


def test_a_case_may_not_take_all_memory() -> None:
    with pytest.raises(AppLimitError, match=r"it took more than 1,000 bytes of memory \(worker_bytes\)"):
        CaseWatch(replace(SMALL, worker_bytes=1_000)).look()


def test_each_event_of_a_case_has_its_own_time() -> None:
    watch = CaseWatch(SMALL)
    for _ in range(10):
        watch.begin()
        watch.look()
    with pytest.raises(AppLimitError, match=r"0.5 s of CPU .*\(event.seconds\)$"):
        watch.look()


def test_one_step_cannot_take_all_memory_either() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    with bounded_memory(100_000_000), pytest.raises(MemoryError):
        bytearray(1_000_000_000)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_rows_that_multiply_are_ended() -> None:
    with pytest.raises(AppFailedError, match=r"keeps [0-9,]+ rows, and 50 are allowed \(window.rows\)"):
        run(GROWING, rows=9)


def test_a_function_that_never_returns_is_ended_with_its_place() -> None:
    text = "define function f[javascript] return int { for (;;) {} }; from health select f() as x insert into O;"
    with pytest.raises(AppFailedError) as found:
        run(text, AppLimits(script_seconds=0.05))
    assert str(found.value) == (
        "the app was ended at row 921 of partition 3: line 1, column 1: the function f() took more than "
        "0.05 s of CPU in one call: does it end?"
    )


def test_a_function_of_the_operator_that_never_returns_is_ended(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("def endless():\n    while True:\n        pass\n")
    text = "define function f[python] return int { slow.endless }; from health select f() as x insert into O;"
    source = app_source(text, "a", terms=OperatorTerms(functions=tmp_path, limits=SMALL))
    app = HostedApp(source, 0)
    with watched(EventWatch(lambda: app)), pytest.raises(AppFailedError, match=r"0.5 s of CPU .*\(event.seconds\)$"):
        app.take(5, 0, row(0))


def test_files_of_the_operator_belong_to_the_version(tmp_path: Path) -> None:
    file = tmp_path / "now.py"
    file.write_text("def one():\n    return 1\n")
    text = "define function f[python] return int { now.one }; from health select f() as x insert into O;"
    terms = OperatorTerms(functions=tmp_path)
    source = app_source(text, "a", terms=terms)
    assert [one.values for one in HostedApp(source, 0).take(0, 0, row(0))] == [{"x": 1}]
    file.write_text("def one():\n    return 2\n")
    assert app_source(text, "a", terms=terms).version != source.version
    with pytest.raises(AppFailedError, match=r"^now.py: changed since the app was started; start it again$"):
        HostedApp(source, 0).take(0, 0, row(0))


def test_a_window_is_counted_without_what_waits_to_leave_and_frequent_rows_once() -> None:
    by_time = """@App:limits(window.rows = '100') partition with (query of health) begin
        from health#window.time(10) select query, count() as n insert into O; end;"""
    engine = StreamEngine(parse_with_product_streams(by_time))
    columns = [column.name for column in engine.columns_of("health")]
    times = (
        [("A", number // 15) for number in range(60)] + [("C", 10)] + [("B", 15 + number // 60) for number in range(60)]
    )
    for name, at in times:
        engine.send("health", at, tuple(name if column == "query" else None for column in columns))
        engine.amounts.check()
    often = StreamEngine(
        parse_with_product_streams(
            "@App:limits(window.rows = '10') from health#window.frequent(8, query) select query insert into O;"
        )
    )
    for number in range(8):
        often.send("health", number, tuple(str(number) if column == "query" else None for column in columns))
        often.amounts.check()


def test_a_file_that_is_gone_when_a_task_begins_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("def a(x): return x\n")
    text = "define function f[python] return double {p.a}; from health select f(1.0) as y insert into O;"
    source = app_source(text, "a", terms=OperatorTerms(functions=tmp_path))
    (tmp_path / "p.py").unlink()
    with pytest.raises(AppFailedError, match=r"cannot be begun: .*p\.py"):
        HostedApp(source, 0).take(0, 0, row(0))
