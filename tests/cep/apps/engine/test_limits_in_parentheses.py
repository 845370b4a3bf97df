"""`within` in a pattern's parentheses: of several rows from the first of them, of one row from the row before it."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from tests.cep.apps.engine.small_apps import Event, Rows, rows_of

STREAMS = "define stream A (n int); define stream B (n int); define stream C (n int);\n"


def found(pattern: str, selected: str, *rows: tuple[int, str]) -> Rows:
    """Return what the pattern finds of rows by their time and stream, each numbered."""
    events: list[Event] = [(at, stream, (number,)) if stream else (at,) for number, (at, stream) in enumerate(rows)]
    return rows_of(f"{STREAMS}from {pattern} select {selected} insert into O;", events)


@pytest.mark.parametrize(
    ("pattern", "selected", "rows", "expected"),
    [
        # of one row: from the row before it, that time included
        ("every a=A -> (b=B within 10 millisec)", "a.n as a, b.n as b",
         [(0, "A"), (5, "A"), (11, "B"), (20, "A"), (30, "B"), (40, "A"), (51, "B")], [(11, 1, 2), (30, 3, 4)]),
        # between the second step and the third alone
        ("every a=A -> b=B -> (c=C within 10 millisec)", "a.n as a, c.n as c",
         [(0, "A"), (500, "B"), (510, "C"), (600, "A"), (700, "B"), (711, "C"), (712, "C")], [(510, 0, 2)]),
        # of several rows: from the first of them
        ("every a=A -> (b=B -> c=C within 10 millisec)", "a.n as a, b.n as b, c.n as c",
         [(0, "A"), (500, "B"), (510, "C"), (600, "A"), (700, "B"), (711, "C")], [(510, 0, 1, 2)]),
        # what is too late in `every (…)` makes room for the next
        ("every (a=A -> b=B within 10 millisec) -> c=C", "a.n as a, b.n as b, c.n as c",
         [(0, "A"), (20, "B"), (21, "A"), (25, "B"), (900, "C")], [(900, 2, 3, 4)]),
        ("a=A -> every (b=B -> c=C within 10 millisec)", "b.n as b, c.n as c",
         [(0, "A"), (1, "B"), (20, "C"), (21, "B"), (22, "C"), (30, "B"), (31, "C")], [(22, 3, 4), (31, 5, 6)]),
        # once it has left its parentheses a match may wait
        ("every a=A -> (b=B<2:3> within 10 millisec) -> c=C", "b[0].n as x, b[1].n as y, b[2].n as z, c.n as c",
         [(0, "A"), (1, "B"), (11, "B"), (13, "B"), (500, "C")], [(500, 1, 2, None, 4)]),
        ("every a=A -> (b=B<2:3> within 10 millisec) -> c=C", "b[0].n as x, c.n as c",
         [(0, "A"), (1, "B"), (12, "B"), (13, "C")], []),
        # rows of `and`, in any order
        ("every a=A -> (b=B and c=C within 10 millisec)", "b.n as b, c.n as c",
         [(0, "A"), (500, "C"), (510, "B"), (600, "A"), (700, "B"), (711, "C")], [(510, 2, 1)]),
        ("every a=A -> (b=B or c=C within 10 millisec)", "a.n as a, b.n as b, c.n as c",
         [(0, "A"), (10, "C"), (20, "A"), (31, "B")], [(10, 0, None, 1)]),
        # inside of each other
        ("every ((a=A -> b=B within 10 millisec) -> c=C within 30 millisec)", "a.n as a, b.n as b, c.n as c",
         [(0, "A"), (10, "B"), (30, "C"), (40, "A"), (50, "B"), (71, "C"), (72, "A"), (83, "B"), (84, "C")],
         [(30, 0, 1, 2)]),
        # beside the limit of the whole
        ("every a=A -> (b=B within 10 millisec) -> c=C within 20 millisec", "a.n as a, c.n as c",
         [(0, "A"), (10, "B"), (20, "C"), (30, "A"), (40, "B"), (51, "C")], [(20, 0, 2)]),
        # an absence in them ends when its time is over
        ("every (a=A -> not B for 10 millisec within 20 millisec) -> c=C", "a.n as a, c.n as c",
         [(0, "A"), (10, ""), (500, "C")], [(500, 0, 2)]),
        # sequences
        ("every a=A, (b=B within 10 millisec)", "a.n as a, b.n as b",
         [(0, "A"), (10, "B"), (20, "A"), (31, "B")], [(10, 0, 1)]),
    ],
)  # fmt: skip
def test_what_is_found(pattern: str, selected: str, rows: list[tuple[int, str]], expected: Rows) -> None:
    assert found(pattern, selected, *rows) == expected


Timed = list[tuple[int, str]]


def each_step(rows: Timed) -> set[tuple[int, int, int]]:
    """Each A waits for the next B, and then for the next C, as long as 15 behind the row before."""
    out = set()
    for a, (at, stream) in enumerate(rows):
        b = next((n for n in range(a + 1, len(rows)) if rows[n][1] == "B"), None) if stream == "A" else None
        c = None if b is None else next((n for n in range(b + 1, len(rows)) if rows[n][1] == "C"), None)
        if b is not None and c is not None and rows[b][0] - at <= 15 and rows[c][0] - rows[b][0] <= 15:
            out.add((a, b, c))
    return out


def last_two(rows: Timed) -> set[tuple[int, int, int]]:
    """Each A waits for the next B however long; from there on C comes within 15."""
    out = set()
    for a, (_, stream) in enumerate(rows):
        b = next((n for n in range(a + 1, len(rows)) if rows[n][1] == "B"), None) if stream == "A" else None
        c = None if b is None else next((n for n in range(b + 1, len(rows)) if rows[n][1] == "C"), None)
        if b is not None and c is not None and rows[c][0] - rows[b][0] <= 15:
            out.add((a, b, c))
    return out


def first_two(rows: Timed) -> set[tuple[int, int, int]]:
    """Each A waits for the next B within 15, and then for C however long."""
    out = set()
    for a, (at, stream) in enumerate(rows):
        b = next((n for n in range(a + 1, len(rows)) if rows[n][1] == "B"), None) if stream == "A" else None
        c = None if b is None else next((n for n in range(b + 1, len(rows)) if rows[n][1] == "C"), None)
        if b is not None and c is not None and rows[b][0] - at <= 15:
            out.add((a, b, c))
    return out


@pytest.mark.parametrize(
    ("pattern", "naive"),
    [
        ("every a=A -> (b=B within 15 millisec) -> (c=C within 15 millisec)", each_step),
        ("every a=A -> (b=B -> c=C within 15 millisec)", last_two),
        ("every a=A -> b=B -> (c=C within 15 millisec)", last_two),
        ("every a=A -> (b=B within 15 millisec) -> c=C", first_two),
    ],
)
@given(gaps=st.lists(st.tuples(st.integers(0, 12), st.sampled_from("ABC")), max_size=25))
def test_it_is_what_a_plain_definition_finds(
    pattern: str, naive: Callable[[Timed], set[tuple[int, int, int]]], gaps: Timed
) -> None:
    time, rows = 0, Timed()
    for gap, stream in gaps:
        time += gap
        rows.append((time, stream))
    out = found(pattern, "a.n as a, b.n as b, c.n as c", *rows)
    assert sorted(row[1:] for row in out) == sorted(naive(rows))
    assert all(at == rows[last][0] for at, _, _, last in out)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("every (a=A within 10 millisec) -> b=B", "`within` of one row counts from the row before it, and this is the"),
        (
            "every a=A -> (not B for 10 millisec within 5 millisec)",
            "these parentheses begin with `not`: put that before",
        ),
    ],
)
def test_a_limit_with_nothing_to_count_is_a_mistake(pattern: str, problem: str) -> None:
    with pytest.raises(AppTextError) as error:
        StreamEngine(parse_app(f"{STREAMS}from {pattern} select 1 as one insert into O;"))
    assert problem in str(error.value)


def test_what_is_too_late_is_kept_no_longer() -> None:
    text = f"{STREAMS}from every a=A -> (b=B within 10 millisec) select a.n as a insert into O;"
    engine = StreamEngine(parse_app(text))
    for at in range(0, 1_000, 5):
        engine.send("A", at, (at,))
    assert sum(engine.amounts.counts().values()) <= 5
