"""`hopping(size, hop)`: at each end the rows of the last `size`, against a plain recomputation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from tests.cep.apps.engine.small_apps import Event, Rows, check, rows_of

STREAM = "define stream S (n int, key string);\n"


@pytest.mark.parametrize(
    ("window", "events", "expected"),
    [
        # rows     1   2     4
        # size 30 [......)[......) …, a hop of 10
        ("hopping(30, 10)", [(1, "S", (1, "a")), (9, "S", (2, "a")), (15, "S", (4, "a")), (60,)],
         [(10, 3), (20, 7), (30, 7), (40, 4)]),
        # a row at an end belongs to the next window
        ("hopping(20, 10)", [(10, "S", (1, "a")), (20, "S", (2, "a")), (50,)], [(20, 1), (30, 3), (40, 2)]),
        # a hop as long as the window: batches one after another
        ("hopping(10, 10)", [(3, "S", (1, "a")), (12, "S", (2, "a")), (30,)], [(10, 1), (20, 2)]),
        # a longer hop leaves out what lies between
        ("hopping(10, 30)", [(5, "S", (1, "a")), (25, "S", (2, "a")), (55, "S", (4, "a")), (90,)], [(30, 2), (60, 4)]),
        # where hops begin
        ("hopping(10, 10, 3)", [(2, "S", (1, "a")), (5, "S", (2, "a")), (30,)], [(3, 1), (13, 2)]),
        # a clock that leaps gives each end that it passes, at its time
        ("hopping(20, 10)", [(1, "S", (1, "a")), (1_000_000, "S", (2, "a")), (1_000_030,)],
         [(10, 1), (20, 1), (1_000_010, 2), (1_000_020, 2)]),
    ],
)  # fmt: skip
def test_each_end_has_the_rows_of_its_window(window: str, events: list[Event], expected: Rows) -> None:
    check(f"{STREAM}from S#window.{window} select sum(n) as s insert into O;", events, expected)


def test_groups_expired_rows_and_joins() -> None:
    log: list[Event] = [(1, "S", (1, "a")), (2, "S", (2, "b")), (15, "S", (4, "a")), (40,)]
    of_groups = "from S#window.hopping(20, 10) select key, sum(n) as s group by key insert into O;"
    check(STREAM + of_groups, log, [(10, "a", 1), (10, "b", 2), (20, "a", 5), (20, "b", 2), (30, "a", 4)])
    expired = "from S#window.hopping(20, 10) select n insert expired events into O;"
    assert [row[1] for row in rows_of(STREAM + expired, log)] == [1, 2, 1, 2, 4, 4]
    joined = (
        "define stream Ask (key string); from Ask as q join S#window.hopping(20, 10) as s on q.key == s.key "
        "select s.n as n insert into O;"
    )
    asked: list[Event] = [(1, "S", (1, "a")), (5, "Ask", ("a",)), (12, "Ask", ("a",)), (45, "Ask", ("a",))]
    assert rows_of(STREAM + joined, asked) == [(12, 1)]


ROWS = st.lists(st.tuples(st.integers(0, 35), st.integers(1, 9)), max_size=20)


@given(rows=ROWS, size=st.integers(1, 50), hop=st.integers(1, 50), start=st.integers(0, 60), leap=st.integers(0, 200))
def test_it_is_what_a_plain_recomputation_finds(
    rows: list[tuple[int, int]], size: int, hop: int, start: int, leap: int
) -> None:
    time, came, log = 0, list[tuple[int, int]](), list[Event]()
    for gap, n in rows:
        time += gap
        came.append((time, n))
        log.append((time, "S", (n, "a")))
    end = time + leap
    text = f"{STREAM}from S#window.hopping({size}, {hop}, {start}) select sum(n) as s insert into O;"
    naive = []
    for close in (at for at in range(1, end + 1) if (at - start) % hop == 0):
        inside = [n for at, n in came if close - size <= at < close]
        naive += [(close, sum(inside))] if inside else []
    assert rows_of(text, [*log, (end,)]) == naive


@pytest.mark.parametrize(
    ("window", "problem"),
    [
        ("hopping(0, 10)", "a hopping window and its hop last longer than 0"),
        ("hopping(10, 0)", "a hopping window and its hop last longer than 0"),
        ("hopping(10)", "takes 2 to 3 arguments, and has 1"),
        ("hopping(n, 10)", "must be a constant|cannot be"),
        ("hop(10, 10)", "there is no window 'hop': write HOPPING"),
    ],
)
def test_mistakes_are_found_before_anything_runs(window: str, problem: str) -> None:
    with pytest.raises(AppTextError, match=problem):
        StreamEngine(parse_app(f"{STREAM}from S#window.{window} select n insert into O;"))


def test_nothing_is_kept_once_it_is_over() -> None:
    engine = StreamEngine(parse_app(f"{STREAM}from S#window.hopping(20, 10) select n insert into O;"))
    engine.send("S", 1, (1, "a"))
    assert engine.due() == 10
    engine.advance(40)
    assert engine.due() is None
    assert not any(engine.amounts.counts().values())
