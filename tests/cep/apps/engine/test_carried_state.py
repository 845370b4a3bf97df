"""What another text of an app goes on with: the rows afterwards are those of the text before, for every part that both
say alike."""

import pytest

from cep.apps.engine.carried_state import carried_parts, carry
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.app_messages import AppRow
from cep.apps.hosts.hosted_app import AppSource, HostedApp
from tests.cep.apps.hosts.quote_app import QUOTE_APP, rows_of, source
from tests.cep.logs import LogMaker

TABLE = "define table T (a int); "
COUNTS = "from quotes#window.length(3) select count() as n insert into N;"
KEPT = "define window W (a int) length(2); "
"""A named window."""
SUMS = "from W select sum(a) as t insert into O;"
ROWS = 900


def parts(before: str, after: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    sources = AppSource("a", before), AppSource("a", after)
    found = carried_parts(StreamEngine(sources[0].app), sources[0].app, StreamEngine(sources[1].app), sources[1].app)
    return found.fit, found.empty, found.dropped


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (COUNTS, "-- why\n" + COUNTS, (("the query at line 2",), (), ())),
        (COUNTS, COUNTS.replace("3", "4"), ((), ("the query at line 1",), ("the query at line 1",))),
        (TABLE + COUNTS, COUNTS, ((), ("the query at line 1",), ("the table 'T'", "the query at line 1"))),
        (TABLE, TABLE.replace("int", "long"), ((), ("the table 'T'",), ("the table 'T'",))),
        (
            KEPT + SUMS,
            KEPT.replace("2", "3") + SUMS,
            ((), ("the window 'W'", "the query at line 1"), ("the window 'W'", "the query at line 1")),
        ),
        (
            KEPT + "partition with (a of W) begin from W select sum(a) as t insert into O; end;",
            KEPT.replace(";", " output expired events;")
            + "partition with (a of W) begin from W select sum(a) as t insert into O; end;",
            ((), ("the window 'W'", "the partition at line 1"), ("the window 'W'", "the partition at line 1")),
        ),
        (
            "define stream S (a int); " + KEPT + "from S#window.length(5) select a insert into W;",
            "define stream S (a int); " + KEPT.replace("2", "3") + "from S#window.length(5) select a insert into W;",
            (("the query at line 1",), ("the window 'W'",), ("the window 'W'",)),
        ),
        (
            "define stream S (a int); from S select sum(a) as t insert into O;",
            "define stream S (a long); from S select sum(a) as t insert into O;",
            ((), ("the query at line 1",), ("the query at line 1",)),
        ),
    ],
)
def test_parts_fit_if_both_texts_and_their_columns_say_the_same(
    before: str, after: str, expected: tuple[tuple[str, ...], ...]
) -> None:
    assert parts(before, after) == expected


@pytest.mark.parametrize("cut", [1, 250, 600])
def test_windows_patterns_rates_and_keys_go_on_as_if_the_text_had_not_changed(cut: int) -> None:
    log = LogMaker(5).write(ROWS)
    after = AppSource("quote app", f"-- more\n{QUOTE_APP}\n{COUNTS}")
    former = HostedApp(source(), 0)
    rows = rows_of(log[:cut], former)
    resumed, new, last = HostedApp(source(), 0), HostedApp(after, 0), HostedApp(after, 0)
    resumed.restore(former.snapshot())
    assert new.take_over(resumed, cut).dropped == ()
    last.restore(new.snapshot())
    rows += [row for row in rows_of(log[cut:], last, cut) if row.stream != "N"]
    assert [seen(row) for row in rows] == [seen(row) for row in rows_of(log, HostedApp(source(), 0))]
    assert len(rows) > 20


def test_a_sum_of_a_named_window_begins_again_with_a_window_of_another_length() -> None:
    texts = [f"define stream S (a int); {KEPT.replace('2', most)} from S insert into W; {SUMS}" for most in "23"]
    sources = [AppSource("a", text) for text in texts]
    before, after = (StreamEngine(one.app) for one in sources)
    for at, value in enumerate((1, 2, 3)):
        before.send("S", at, (value,))
    carry(before, sources[0].app, after, sources[1].app)
    sums = list[object]()
    after.listen("O", lambda _, row: sums.extend(row))
    for at, value in enumerate((10, 20, 30, 40), 3):
        after.send("S", at, (value,))
    assert sums == [10, 30, 60, 90]


def seen(row: AppRow) -> tuple[str, int, tuple[object, ...]]:
    return row.stream, row.time, tuple(row.values.values())
