"""Windows that keep one event of each key."""

import pickle

import pytest

from cep.apps.engine.stream_engine import StreamEngine
from cep.apps.language.app_parser import parse_app
from cep.apps.language.errors import AppTextError
from tests.cep.apps.engine.test_stream_engine import TRADES, Log, out_of

LOG: Log = [
    ("Trades", 0, ("A", 1.0, 0)),
    ("Trades", 10, ("B", 2.0, 1)),
    ("Trades", 20, ("A", 3.0, 2)),
    ("Trades", 30, ("C", 4.0, 3)),
    ("Trades", 150, ("B", 5.0, 4)),
    ("Trades", 160, ("C", 6.0, 5)),
    ("Trades", 300, ("D", 7.0, 6)),
]


@pytest.mark.parametrize(
    ("window", "kind", "expected"),
    [
        ("unique:ever(symbol)", "expired", [(20, 0), (150, 1), (160, 3)]),
        ("UNIQUE:EVER(symbol)", "expired", [(20, 0), (150, 1), (160, 3)]),
        ("unique:first(symbol)", "current", [(0, 0), (10, 1), (30, 3), (300, 6)]),
        ("unique:first(symbol)", "expired", []),
        # B is the oldest of A and B when C comes, as A came again
        ("unique:length(symbol, 2)", "expired", [(20, 0), (30, 1), (150, 2), (160, 3), (300, 4)]),
        ("unique:time(symbol, 100)", "expired", [(20, 0), (150, 1), (150, 2), (150, 3), (300, 4), (300, 5)]),
        ("unique:lengthBatch(symbol, 2)", "current", [(10, 0), (10, 1), (30, 2), (30, 3), (160, 4), (160, 5)]),
        ("unique:lengthBatch(symbol, 3)", "current", [(30, 1), (30, 2), (30, 3), (300, 4), (300, 5), (300, 6)]),
        ("unique:firstLengthBatch(symbol, 3)", "current", [(30, 0), (30, 1), (30, 3), (300, 4), (300, 5), (300, 6)]),
        ("unique:firstLengthBatch(symbol, 3)", "expired", [(300, 0), (300, 1), (300, 3)]),
        ("unique:timeBatch(symbol, 100)", "current", [(150, 1), (150, 2), (150, 3), (300, 4), (300, 5)]),
        ("unique:timeBatch(symbol, 100, 20)", "current", [(20, 0), (20, 1), (150, 2), (150, 3), (300, 4), (300, 5)]),
        ("unique:firstTimeBatch(symbol, 100)", "current", [(150, 0), (150, 1), (150, 3), (300, 4), (300, 5)]),
        ("unique:timeLengthBatch(symbol, 100, 2)", "current", [(10, 0), (10, 1), (30, 2), (30, 3), (160, 4), (160, 5)]),
        ("unique:timeLengthBatch(symbol, 100, 9)", "current", [(150, 1), (150, 2), (150, 3), (300, 4), (300, 5)]),
        ("unique:externalTimeBatch(symbol, amount, 3)", "current", [(30, 1), (30, 2), (300, 4), (300, 5)]),
    ],
)
def test_one_event_of_each_key(window: str, kind: str, expected: list[tuple[int, int]]) -> None:
    query = f"from Trades#window.{window} select amount insert {kind} events into Out;"
    # batches keep the times at which their events came; here the clock at which they came out is compared
    engine = StreamEngine(parse_app(TRADES + query))
    came: list[tuple[int, int]] = []
    engine.listen("Out", lambda _, row: came.append((engine.now, row[0])))
    for stream, at, row in LOG:
        engine.send(stream, at, row)
    assert sorted(came) == sorted(expected)


def test_a_batch_keeps_one_event_of_each_key_while_it_fills() -> None:
    """Its snapshot is no larger if a key's events are many."""
    text = TRADES + "from Trades#window.unique:externalTimeBatch(symbol, amount, 9) select amount insert into Out;"
    sizes = []
    for rows in (20, 200):
        engine = StreamEngine(parse_app(text))
        for number in range(rows):
            engine.send("Trades", 1_000, ("AB"[number % 2], 1.0, 1))
        sizes.append(len(pickle.dumps(engine.state.saved())))
    assert sizes[0] == sizes[1]


def test_an_average_over_the_last_of_each_key() -> None:
    rows = out_of(TRADES + "from Trades#window.unique:ever(symbol) select sum(price) as total insert into Out;", LOG)
    assert [row[0] for _, row in rows] == [1.0, 3.0, 5.0, 9.0, 12.0, 14.0, 21.0]


@pytest.mark.parametrize(
    ("window", "sentence"),
    [
        ("unique:length(symbol, 0)", "a number of keys is expected here, 1 or more"),
        ("unique:length(symbol)", "the window length takes 2 arguments, and has 1"),
        ("unique:timeBatch(symbol, 0)", "a time above 0 is expected here"),
        ("unique:lenght(symbol, 3)", "there is no window 'unique:lenght'; did you mean 'unique:length'?"),
    ],
)
def test_mistakes(window: str, sentence: str) -> None:
    with pytest.raises(AppTextError, match=sentence.replace("?", r"\?")):
        StreamEngine(parse_app(f"{TRADES}from Trades#window.{window} select amount insert into Out;"))
