"""What patterns do at their end."""

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from tests.cep.apps.engine.test_stream_engine import Log, out_of

AB = "define stream A (n int); define stream B (n int); "


def log(*rows: tuple[str, int, int]) -> Log:
    return [(stream, at, (n,)) for stream, at, n in rows]


def test_a_last_step_that_needs_no_row_is_complete_at_once() -> None:
    rows = log(("A", 0, 1), ("B", 10, 2), ("B", 20, 3), ("A", 30, 4))
    for text in ("every a=A -> b=B<:2>", "every (a=A -> b=B<0:>)", "every a=A, b=B*", "every a=A, b=B?"):
        found = out_of(f"{AB}from {text} select a.n as n, b[0].n as m insert into Out;", rows)
        assert found == [(0, (1, None)), (30, (4, None))], text


def test_an_absence_that_ends_too_late_is_no_match() -> None:
    rows = log(("A", 0, 1), ("B", 2500, 2), ("A", 3000, 3), ("B", 9000, 4))
    text = "from every a=A -> not B for 1 sec within {} select a.n as n insert into Out;"
    assert out_of(AB + text.format("500 milliseconds"), rows) == []
    assert out_of(AB + text.format("1 sec"), rows) == [(1000, (1,)), (4000, (3,))]


def test_an_absence_begins_with_the_last_row_of_the_counted_step_before_it() -> None:
    text = f"{AB}from every a=A<1:2> -> not B for 1 sec select a[0].n as n, a[1].n as m insert into Out;"
    found = out_of(text, log(("A", 0, 1), ("A", 600, 2), ("B", 3000, 3)))
    assert sorted(found, key=repr) == [(1600, (1, 2)), (1600, (2, None))]
    assert out_of(text, log(("A", 0, 1), ("A", 600, 2), ("B", 1300, 3))) == []


@pytest.mark.parametrize(
    ("pattern", "rows", "expected"),
    [
        # a step with a count alone
        ("every a=A<2>", [("A", 0, 1), ("A", 10, 2), ("A", 20, 3), ("A", 30, 4)], [10, 30]),
        ("a=A<2:3>", [("A", 0, 1), ("A", 10, 2), ("A", 20, 3), ("A", 30, 4)], [10]),
        # `within` counts from the match's first row, also if `every` began again
        ("every (a=A -> b=B) within 1 sec", [("A", 0, 1), ("A", 1500, 2), ("B", 2000, 3), ("B", 2100, 4)], [2000]),
        ("every (a=A -> b=B) within 1 sec", [("A", 0, 1), ("B", 1500, 2), ("A", 1600, 3), ("B", 1700, 4)], [1700]),
        # what came ends the attempt, and the next row of the other part only begins the next one
        ("every not A and b=B", [("A", 0, 1), ("B", 10, 2), ("B", 20, 3), ("A", 30, 4), ("B", 40, 5)], [20]),
        ("not A and b=B", [("B", 10, 2), ("B", 20, 3)], [10]),
        # a part that is there waits for the other, whichever comes first
        ("every a=A and b=B", [("A", 0, 1), ("A", 10, 2), ("B", 20, 3), ("B", 30, 4), ("A", 40, 5)], [20, 40]),
        # an absence at the start hears rows while nothing waits
        ("not A for 1 sec -> b=B", [("A", 100, 1), ("A", 700, 2), ("B", 1600, 3), ("B", 1800, 4)], [1800]),
        ("not A for 1 sec", [("A", 100 * place, 1) for place in range(30)], [3900]),
        # rows of the last step do not break an absence in a sequence under `every`
        ("every a=A, not B for 1 sec, c=C", [("A", 0, 1), ("C", 300, 2), ("C", 400, 3), ("C", 1100, 4)], [1100]),
        ("a=A, not B for 1 sec, c=C", [("A", 0, 1), ("C", 300, 2), ("C", 400, 3), ("C", 1100, 4)], []),
        ("every a=A, not B for 1 sec, c=C", [("A", 0, 1), ("B", 300, 2), ("C", 1100, 4)], []),
    ],
)
def test_matches_are_moved_as_siddhi_moves_them(
    pattern: str, rows: list[tuple[str, int, int]], expected: list[int]
) -> None:
    streams = "define stream A (n int); define stream B (n int); define stream C (n int); "
    found = out_of(f"{streams}from {pattern} select 'found' as what insert into Out;", log(*rows))
    assert [at for at, _ in found] == expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("every not A and b=B", "every a=A or b=B", "every not A for 1 sec or b=C", "every a=A and b=B"),
        *("every b=B<1:2>", "every b=B, not A and c=B", "every (a=A or b=B) within 2 sec"),
    ],
)
def test_what_was_found_is_not_kept(pattern: str) -> None:
    streams = "define stream A (n int); define stream B (n int); define stream C (n int); "
    limits = "@App:limits(partial.matches = '20') "
    engine = StreamEngine(parse_app(f"{limits}{streams}from {pattern} select 'found' as what insert into Out;"))
    for place in range(100):
        engine.send("B", 1000 * place, (place,))
        engine.amounts.check()


def test_what_cannot_be_found_any_more_is_not_kept() -> None:
    limits = "@App:limits(partial.matches = '20') "
    engine = StreamEngine(parse_app(f"{limits}{AB}from every not A and b=B select b.n as n insert into Out;"))
    for place in range(0, 200, 2):
        engine.send("A", 1000 * place, (place,))
        engine.send("B", 1000 * place + 1, (place,))
        engine.amounts.check()


@pytest.mark.parametrize("pattern", ["every (a=A or b=B)", "every (not A and b=B)"])
def test_what_one_part_completed_is_found_once_though_within_is_over(pattern: str) -> None:
    rows = log(*(("B", 1000 * place, place) for place in range(30)))
    found = out_of(f"{AB}from {pattern} within 1 sec select b.n as n insert into Out;", rows)
    assert [row for _, row in found] == [(place,) for place in range(30)]


def test_an_app_that_goes_on_drops_what_it_would_have_dropped() -> None:
    app = parse_app(f"{AB}from every a=A -> b=B within 1 sec select a.n as n insert into Out;")
    whole, first, resumed, found = StreamEngine(app), StreamEngine(app), StreamEngine(app), dict[str, list[int]]()
    for name, engine in (("whole", whole), ("resumed", resumed)):
        engine.listen("Out", lambda _, row, name=name: found.setdefault(name, []).append(row[0]))  # type: ignore[misc]
    for engine in (whole, first):
        engine.send("A", 4200, (1,))
        engine.send("A", 5100, (2,))
    resumed.state.restore(first.state.saved())
    for engine in (whole, resumed):
        # a row whose time goes back
        engine.send("A", 4000, (3,))
        engine.send("B", 5150, (4,))
    assert found == {"whole": [1, 2], "resumed": [1, 2]}


def test_all_of_a_pattern_is_what_its_steps_have() -> None:
    streams = "define stream A (n int, s string); define stream B (m int); "
    rows: Log = [("A", 0, (1, "x")), ("B", 10, (2,)), ("A", 20, (3, "y"))]
    assert out_of(f"{streams}from every a=A -> b=B select * insert into Out;", rows) == [(10, (1, "x", 2))]
    # of two parts the second comes first, as in Siddhi
    assert out_of(f"{streams}from every a=A or b=B insert into Out;", rows)[1] == (10, (2, None, None))


def test_what_siddhi_refuses_of_patterns_is_refused() -> None:
    with pytest.raises(AppTextError, match="several steps have an attribute 'n'"):
        StreamEngine(parse_app(f"{AB}from every a=A -> b=A select * insert into Out;"))
