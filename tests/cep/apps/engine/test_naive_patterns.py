"""Patterns and sequences against plain definitions of what they find."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cep.apps.engine.test_stream_engine import out_of

Rows = list[tuple[int, int]]
"""Time and value of each row."""
Found = list[tuple[int, int, int]]
"""For each match: when it was found, and the places of its first and its last row."""
WITHIN = 100


def rows_of(gaps: list[tuple[int, int]]) -> Rows:
    time, rows = 0, Rows()
    for gap, value in gaps:
        time += gap
        rows.append((time, value))
    return rows


def every_then(rows: Rows) -> Found:
    """Each rise waits for the next fall."""
    waiting, found = list[int](), Found()
    for place, (time, value) in enumerate(rows):
        if value < 0:
            found += [(time, first, place) for first in waiting if time - rows[first][0] <= WITHIN]
            waiting = []
        elif value > 0:
            waiting.append(place)
    return found


def once_then(rows: Rows) -> Found:
    """Return the first rise of all, if a fall follows it in time."""
    first = next((place for place, (_, value) in enumerate(rows) if value > 0), len(rows))
    falls = [place for place, (_, value) in enumerate(rows) if place > first and value < 0]
    return [(rows[falls[0]][0], first, falls[0])] if falls and rows[falls[0]][0] - rows[first][0] <= WITHIN else []


def one_after_another(rows: Rows) -> Found:
    """Return a rise and the next fall; then again. One that is too late makes room."""
    first, found = None, Found()
    for place, (time, value) in enumerate(rows):
        if first is not None and time - rows[first][0] > WITHIN:
            first = None
        if first is None:
            first = place if value > 0 else None
        elif value < 0:
            found.append((time, first, place))
            first = None
    return found


def next_to_each_other(rows: Rows) -> Found:
    pairs = [
        (first, first + 1)
        for first in range(len(rows) - 1)
        if rows[first][1] > 0 > rows[first + 1][1] and rows[first + 1][0] - rows[first][0] <= WITHIN
    ]
    return [(rows[last][0], first, last) for first, last in pairs]


STEPS: dict[str, tuple[str, Callable[[Rows], Found]]] = {
    "every a -> b": ("every a = S[v > 0] -> b = S[v < 0]", every_then),
    "a -> b": ("a = S[v > 0] -> b = S[v < 0]", once_then),
    "every (a -> b)": ("every (a = S[v > 0] -> b = S[v < 0])", one_after_another),
    "every a, b": ("every a = S[v > 0], b = S[v < 0]", next_to_each_other),
}
GAPS = st.lists(st.tuples(st.integers(0, 70), st.integers(-1, 1)), max_size=25)


@pytest.mark.parametrize("name", STEPS)
@given(gaps=GAPS)
def test_what_is_found_is_what_the_definition_finds(name: str, gaps: list[tuple[int, int]]) -> None:
    steps, naive = STEPS[name]
    rows = rows_of(gaps)
    text = f"""define stream S (n int, v int);
    from {steps} within {WITHIN} milliseconds select a.n as first, b.n as last insert into Out;"""
    log = [("S", time, (place, value)) for place, (time, value) in enumerate(rows)]
    assert [(time, *row) for time, row in out_of(text, log)] == naive(rows)


@given(gaps=GAPS)
def test_absence_is_found_where_no_row_came(gaps: list[tuple[int, int]]) -> None:
    rows = rows_of(gaps)
    text = f"""define stream S (n int, v int);
    from every a = S[v > 0] -> not S[v < 0] for {WITHIN} milliseconds select a.n as first insert into Out;"""
    log = [("S", time, (place, value)) for place, (time, value) in enumerate(rows)]
    naive = [
        (time + WITHIN, (place,))
        for place, (time, value) in enumerate(rows)
        if value > 0 and not any(other < 0 and at < time + WITHIN for at, other in rows[place + 1 :])
    ]
    assert sorted(out_of(text, log)) == sorted(naive)


@given(gaps=GAPS, length=st.integers(1, 4))
def test_a_batch_is_so_many_rows(gaps: list[tuple[int, int]], length: int) -> None:
    rows = rows_of(gaps)
    log = [("S", time, (place, value)) for place, (time, value) in enumerate(rows)]
    text = f"define stream S (n int, v int); from S#window.lengthBatch({length}) select sum(v) as s insert into Out;"
    whole = [rows[begin : begin + length] for begin in range(0, len(rows) - length + 1, length)]
    assert [row for _, row in out_of(text, log)] == [(sum(value for _, value in batch),) for batch in whole]
