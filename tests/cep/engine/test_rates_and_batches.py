"""What an output rate and a batch give where several things come at once, as Siddhi does it."""

from typing import Any

from cep.engine.stream_engine import StreamEngine
from cep.language.app_parser import parse_app
from cep.parts.chunks import RESET, Chunk
from tests.cep.engine.test_stream_engine import TRADES, Log, out_of


def chunks_of(text: str, log: Log) -> list[list[Any]]:
    """What a listener to the query `q` is given at once."""
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


def test_a_number_past_the_range_of_its_type_is_the_end_of_that() -> None:
    text = """from Trades select convert(price * 1.0e10, 'int') as i, convert(price * -1.0e10, 'int') as j,
    convert(price * 1.0e20, 'long') as k, convert(price * -1.0e20, 'long') as l insert into Out;"""
    assert out_of(TRADES + text, trades((0, 0))) == [(0, (2**31 - 1, -(2**31), 2**63 - 1, -(2**63)))]
