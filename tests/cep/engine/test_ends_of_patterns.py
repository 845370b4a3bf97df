"""What patterns do at their end."""

from tests.cep.engine.test_stream_engine import Log, out_of

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
