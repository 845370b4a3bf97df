"""What another text of an app goes on with: the rows afterwards are those of the text before, for every part that both
say alike."""

import pytest

from cep.apps.engine.carried_state import carried_parts
from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.hosts.hosted_app import AppRow, AppSource, HostedApp
from tests.cep.apps.hosts.quote_app import QUOTE_APP, rows_of, source
from tests.cep.logs import LogMaker

TABLE = "define table T (a int); "
COUNTS = "from quotes#window.length(3) select count() as n insert into N;"
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


def seen(row: AppRow) -> tuple[str, int, tuple[object, ...]]:
    return row.stream, row.time, tuple(row.values.values())
