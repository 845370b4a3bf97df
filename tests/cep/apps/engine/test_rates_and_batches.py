"""What an output rate and a batch give if several things come at once, as in Siddhi."""

from typing import Any

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from cep.apps.parts.chunks import RESET, Chunk
from tests.cep.apps.engine.test_stream_engine import TRADES, Log, out_of


def chunks_of(text: str, log: Log) -> list[list[Any]]:
    """Return what a listener to the query `q` is given at once."""
    engine = StreamEngine(parse_app(TRADES + text))
    chunks: list[list[Any]] = []

    def told(chunk: Chunk) -> None:
        chunks.append([row[0] for kind, _, row in chunk if kind is not RESET])

    engine.listen_to_query("q", told)
    for stream, at, row in log:
        engine.send(stream, at, row)
    return chunks


def trades(*amounts_at: tuple[int, int]) -> Log:
    return [("Trades", at, ("BTC", 1.0, amount)) for at, amount in amounts_at]


def test_the_rows_that_one_chunk_completes_go_on_together() -> None:
    text = """@info(name = 'q') from Trades#window.time(100) select amount output all every 2 events
    insert all events into Out;"""
    log = trades((0, 0), (10, 1), (20, 2), (30, 3), (40, 4), (500, 5))
    # at 500 five rows leave: with the one that waited they are six
    assert chunks_of(text, log) == [[0, 1], [2, 3], [4, 0, 1, 2, 3, 4]]


def test_rows_that_leave_bring_snapshots_about_that_are_due() -> None:
    text = """@info(name = 'q') from Trades#window.time(100) select amount output snapshot every 50 milliseconds
    insert into Out;"""
    log = trades((10, 0), (20, 1), (30, 2), (400, 3))
    # at 400 rows 0, 1 and 2 leave, each after the snapshot of 50, 100 and 150; then nothing is there
    assert chunks_of(text, log) == [[0, 1, 2, 1, 2, 2]]


def test_an_event_for_which_the_condition_is_false_from_the_start_leaves_and_comes_at_once() -> None:
    text = """@info(name = 'q') from Trades#window.expressionBatch('sum(amount) < 10') select amount
    insert all events into Out;"""
    # 50 counts until the next sum, so that 1 finds 51
    assert chunks_of(text, trades((0, 50), (10, 1), (20, 2), (30, 8))) == [[50, 50], [1, 1], [2]]


def test_the_event_that_ended_a_batch_counts_in_the_condition_of_the_next() -> None:
    text = "from Trades#window.expressionBatch('count() <= 2', true) select amount insert into Out;"
    log = trades((0, 0), (10, 1), (20, 2), (30, 3), (40, 4))
    assert [row[0] for _, row in out_of(TRADES + text, log)] == [0, 1, 2, 3, 4]
    assert [at for at, _ in out_of(TRADES + text, log)] == [20, 20, 20, 40, 40]


def test_the_last_rows_that_one_chunk_completes_go_on_together() -> None:
    text = """@info(name = 'q') from Trades#window.time(100) select amount output last every 2 events
    insert all events into Out;"""
    log = trades((0, 0), (10, 1), (20, 2), (30, 3), (40, 4), (500, 5))
    assert chunks_of(text, log) == [[1], [3], [0, 2, 4]]


def test_a_batch_of_no_events_passes_each_and_keeps_none() -> None:
    log = trades((0, 0), (10, 1))
    text = "@info(name = 'q') from Trades#window.lengthBatch(0) select amount insert all events into Out;"
    assert chunks_of(text, log) == [[0, 0], [1, 1]]
    rows = out_of(TRADES + "from Trades#window.lengthBatch(0) select count() as n insert all events into Out;", log)
    assert rows == [(0, (0,)), (10, (0,))]


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("length(0)", [(30, (None,))]),
        # each row is a batch of its own, as Siddhi has it
        ("lengthBatch(0)", [(30, (None,))] * 3),
    ],
)
def test_of_rows_given_at_once_a_batch_of_none_ends_with_each(
    window: str, expected: list[tuple[int, tuple[None]]]
) -> None:
    text = f"""from Trades select amount output every 3 events insert into Three;
    from Three#window.{window} select sum(amount) as total insert expired events into Out;"""
    assert out_of(TRADES + text, trades((10, 1), (20, 2), (30, 3))) == expected


@pytest.mark.parametrize(("window", "leave_at"), [("length(0)", [10, 20, 30]), ("lengthBatch(0)", [30, 30, 30])])
def test_when_a_row_leaves_a_window_that_keeps_none(window: str, leave_at: list[int]) -> None:
    text = f"""from Trades select amount output every 3 events insert into Three;
    from Three#window.{window} select amount insert expired events into Out;"""
    assert [at for at, _ in out_of(TRADES + text, trades((10, 1), (20, 2), (30, 3)))] == leave_at


def test_a_number_past_the_range_of_its_type_is_the_end_of_that() -> None:
    text = """from Trades select convert(price * 1.0e10, 'int') as i, convert(price * -1.0e10, 'int') as j,
    convert(price * 1.0e20, 'long') as k, convert(price * -1.0e20, 'long') as l insert into Out;"""
    assert out_of(TRADES + text, trades((0, 0))) == [(0, (2**31 - 1, -(2**31), 2**63 - 1, -(2**63)))]


JOINED = """define stream A (n int); define stream B (n int);
from A#window.lengthBatch(2) as a join B#window.length(2) as b select a.n as a, b.n as b insert expired events into Out;
"""


@pytest.mark.parametrize(("looks_at", "expected"), [([], [30, 30]), ([25], [10, 20])])
def test_what_a_join_has_looked_at_leaves_its_batch_with_its_own_time(looks_at: list[int], expected: list[int]) -> None:
    log: Log = [("B", 5, (9,)), ("A", 10, (1,)), ("A", 20, (2,)), *(("B", at, (8,)) for at in looks_at)]
    found = out_of(JOINED, [*log, ("A", 30, (3,)), ("A", 30, (4,))])
    of_last_looked = [at for at, row in found if row[1] == 9 and row[0] in (1, 2)]
    assert of_last_looked == expected


def test_a_join_with_a_stream_without_a_window_counts_each_of_its_rows_anew() -> None:
    text = """define stream A (n int); define stream B (n int);
    from A as a unidirectional join B#window.length(3) as b
    select count() as n, maxForever(b.n) as top insert into Out;"""
    log: Log = [
        ("B", 0, (7,)),
        ("B", 1, (5,)),
        ("A", 2, (1,)),
        ("B", 3, (1,)),
        ("B", 4, (2,)),
        ("B", 5, (3,)),
        ("A", 6, (1,)),
    ]
    assert [row for _, row in out_of(text, log)] == [(2, 7), (3, 3)]


def test_a_condition_may_come_with_each_row() -> None:
    text = """define stream Rows (n int, condition string);
    from Rows#window.expression(condition) select count() as n insert into Counts;
    from Rows#window.expressionBatch(condition) select sum(n) as total insert into Totals;"""
    three, two = "count() <= 3", "count() <= 2"
    log: Log = [("Rows", at, (at, three if at < 5 else two)) for at in range(1, 8)]
    assert [row[0] for _, row in out_of(text, log, "Counts")] == [1, 2, 3, 3, 2, 2, 2]
    assert [row[0] for _, row in out_of(text, log, "Totals")] == [6, 9]


@pytest.mark.parametrize("condition", ["count( <", "n", "m > 1", None, "n > 0" + " and n > 0" * 200])
def test_a_condition_that_is_none_cannot_be_computed(condition: str | None) -> None:
    text = """@OnError(action = 'stream') define stream Rows (n int, condition string);
    from Rows#window.expression(condition) select n insert into Out;
    from !Rows select n insert into Lost;"""
    assert out_of(text, [("Rows", 0, (1, condition))], "Lost") == [(0, (1,))]


@pytest.mark.parametrize(
    ("window", "sentence"),
    [("expression(n)", "the condition is a text"), ("expressionBatch(condition, true, true)", "one text in quotes")],
)
def test_a_condition_in_a_column_is_a_text_and_no_stream_of_rows(window: str, sentence: str) -> None:
    with pytest.raises(AppTextError, match=sentence):
        StreamEngine(
            parse_app(
                f"define stream Rows (n int, condition string); from Rows#window.{window} select n insert into Out;"
            )
        )
