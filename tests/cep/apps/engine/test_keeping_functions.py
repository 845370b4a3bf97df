"""`#unique:deduplicate` and `#reorder:kslack`: rows held back, rows that wait, late rows, mistakes, limits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.functions.operator_terms import OperatorTerms
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from cep.apps.parts.app_limits import AppLimitError, AppLimits
from tests.cep.apps.engine.small_apps import Event, Rows, rows_of

STREAM = "define stream S (key string, at long, o object);\n"


def sent(*rows: tuple[int, str | None, int | None]) -> list[Event]:
    """Return rows by their time, key and the time in their column."""
    return [(time, "S", (key, at, None)) for time, key, at in rows]


def of(function: str, events: list[Event]) -> Rows:
    return rows_of(f"{STREAM}from S#{function} select key, at insert into O;", events)


def test_one_row_of_each_key_passes_in_so_long() -> None:
    events = sent((0, "a", 1), (5, "a", 2), (6, "b", 3), (10, "a", 4), (11, "a", 5), (12, None, 6), (13, None, 7))
    # the one at 10 is exactly the time later; what was held back extends nothing
    assert of("unique:deduplicate(key, 10)", events) == [(0, "a", 1), (6, "b", 3), (11, "a", 5), (12, None, 6)]


@given(rows=st.lists(st.tuples(st.integers(0, 8), st.sampled_from("abc")), max_size=30), gap=st.integers(1, 20))
def test_deduplication_is_what_a_plain_recomputation_finds(rows: list[tuple[int, str]], gap: int) -> None:
    time, last, events, naive = 0, dict[str, int](), list[Event](), Rows()
    for step, key in rows:
        time += step
        events += sent((time, key, time))
        if key not in last or time - last[key] > gap:
            last[key] = time
            naive.append((time, key, time))
    assert of(f"unique:deduplicate(key, {gap})", events) == naive


def test_keys_are_forgotten_though_no_row_comes() -> None:
    engine = StreamEngine(parse_app(f"{STREAM}from S#unique:deduplicate(key, 10) select key insert into O;"))
    for at in range(5):
        engine.send("S", at, (f"k{at}", at, None))
    assert sum(engine.amounts.counts().values()) == 5
    engine.advance(14)
    # at 14 the last one is exactly the time old
    assert sum(engine.amounts.counts().values()) == 1
    engine.advance(100)
    assert not any(engine.amounts.counts().values())
    assert engine.due() is None


@pytest.mark.parametrize(
    ("function", "events", "expected"),
    [
        # in order: none waits
        ("reorder:kslack(at)", sent((1, "a", 10), (2, "b", 20)), ["a", "b"]),
        # `b` is late, so the slack is 2 from then on, and `c` waits for `e`
        ("reorder:kslack(at)", sent((1, "a", 10), (2, "b", 8), (3, "c", 20), (4, "d", 19), (5, "e", 22)),
         ["a", "b", "d", "c"]),
        # what comes behind a later one that went on is left out, if the text says so
        ("reorder:kslack(at, 1 sec, 1 sec, true)",
         sent((1, "a", 10), (2, "b", 8), (3, "c", 20), (4, "d", 19), (5, "e", 22)), ["a", "d", "c"]),
        # a bound of the slack
        ("reorder:kslack(at, -1L, 1L)", sent((1, "a", 10), (2, "b", 2), (3, "c", 20), (4, "d", 21)), ["a", "b", "c"]),
        # nobody waits longer than that, and goes after those before it
        ("reorder:kslack(at, 50)", [*sent((1, "a", 10), (2, "b", 5), (3, "d", 21), (4, "c", 20)), (53,)],
         ["a", "b", "c", "d"]),
        # a row without a time goes nowhere
        ("reorder:kslack(at)", sent((1, "a", None), (2, "b", 20)), ["b"]),
    ],
)  # fmt: skip
def test_late_rows_are_put_in_order(function: str, events: list[Event], expected: list[str]) -> None:
    assert [row[1] for row in of(function, events)] == expected


TIMES = st.lists(st.integers(0, 60), min_size=1, max_size=30)


@given(times=TIMES, longest=st.integers(1, 30))
def test_with_enough_slack_rows_come_in_their_order_and_none_is_lost(times: list[int], longest: int) -> None:
    # the first row shows all the slack there is
    rows = sent((0, "first", 1_000), (1, "late", 0), *((2 + n, str(n), 1_000 + at) for n, at in enumerate(times)))
    found = of(f"reorder:kslack(at, {longest + len(times)})", [*rows, (10_000,)])[2:]
    assert sorted(row[1:] for row in found) == sorted((str(n), 1_000 + at) for n, at in enumerate(times))
    assert [at for _, _, at in found] == sorted(at for _, _, at in found)


@given(times=TIMES, most=st.integers(0, 20), longest=st.integers(1, 10))
def test_whatever_its_bounds_no_row_is_lost_or_comes_twice(times: list[int], most: int, longest: int) -> None:
    events = [*sent(*((n, str(n), at) for n, at in enumerate(times))), (1_000,)]
    kept = of(f"reorder:kslack(at, {longest}, {most + 1})", events)
    assert sorted(row[1] for row in kept) == sorted(str(n) for n in range(len(times)))
    in_order = of(f"reorder:kslack(at, {longest}, {most + 1}, true)", events)
    assert [at for _, _, at in in_order] == sorted(at for _, _, at in in_order)


def test_rows_that_go_on_together_are_counted_one_by_one() -> None:
    text = f"{STREAM}from S#reorder:kslack(at) select key, count() as n insert into O;"
    events = sent((1, "a", 10), (2, "b", 2), (3, "c", 11), (4, "d", 12), (5, "e", 40))
    assert [row[1:] for row in rows_of(text, events)] == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("unique:deduplicate(key)", "takes a key, which is no object, and for how long"),
        ("unique:deduplicate(o, 10)", "takes a key, which is no object, and for how long"),
        ("unique:deduplicate(key, 0)", "a time above 0 is expected here"),
        ("unique:deduplicate(key, at)", "a time above 0 is expected here"),
        ("reorder:kslack(key)", "takes a long with the row's time"),
        ("reorder:kslack(at, 'x')", "a time above 0 is expected here"),
        ("reorder:kslack(at, 1 sec, 1 sec, 'x')", "true or false is expected here"),
    ],
)
def test_mistakes_are_found_before_anything_runs(function: str, problem: str) -> None:
    with pytest.raises(AppTextError) as error:
        StreamEngine(parse_app(f"{STREAM}from S#{function} select key insert into O;"))
    assert problem in str(error.value)


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        ("unique:deduplicate(key, 1 year)", "the query at line 2 keeps 51 keys, and 50 are allowed"),
        ("reorder:kslack(at)", "the query at line 2 keeps 51 rows, and 50 are allowed"),
    ],
)
def test_what_they_keep_is_counted(function: str, sentence: str) -> None:
    terms = OperatorTerms(limits=AppLimits(window_rows=50, keys=50))
    engine = StreamEngine(parse_app(f"{STREAM}from S#{function} select key insert into O;"), terms=terms)
    engine.send("S", 0, ("first", 1_000, None))
    engine.send("S", 0, ("late", 0, None))
    for number in range(49 if "unique" in function else 51):
        engine.send("S", number, (f"k{number}", 1_000 + number, None))
    with pytest.raises(AppLimitError) as error:
        engine.amounts.check()
    assert sentence in str(error.value)
