import json
from pathlib import Path
from typing import Any

import pytest

from tests.tick_sets.importers.read_files import cut, read_as, rejection, zipped
from tick_sets.rows.import_format import FileOptions

OPTIONS = FileOptions("bybit", "BTC/USDT:USDT")
START = 1_672_531_200_000
DEFAULT_BIDS = [["100.50", "1.0"], ["100.4", "2"]]
DEFAULT_ASKS = [["100.6", "3"], ["100.7", "0.0000001"]]


def message(
    kind: str, number: int, bids: list[list[str]] | None = None, asks: list[list[str]] | None = None, **changes: Any
) -> str:
    data: dict[str, Any] = {"s": "BTCUSDT", "b": bids or [], "a": asks or [], "u": number, "seq": number * 10}
    whole = {"topic": "orderbook.500.BTCUSDT", "type": kind, "ts": START + number, "data": data}
    return json.dumps(whole | changes)


SNAPSHOT = message("snapshot", 5, DEFAULT_BIDS, DEFAULT_ASKS)


def written(folder: Path, *lines: str) -> Path:
    return zipped(folder / "BTCUSDT_ob500.data.zip", "BTCUSDT_ob500.data", "".join(f"{line}\n" for line in lines))


def test_the_book_after_each_message_is_a_row(tmp_path: Path) -> None:
    path = written(tmp_path, SNAPSHOT, message("delta", 6, [["100.50", "0"]], [["100.55", "4"]]))
    found = read_as("bybit-books", path, OPTIONS)
    assert found.rejected == {}
    first, second = found.usable
    assert first["bids"] == '[["100.5","1"],["100.4","2"]]'
    assert first["asks"] == '[["100.6","3"],["100.7","0.0000001"]]'
    assert (first["received_time"], first["exchange_time"]) == ((START + 5) * 1_000, (START + 5) * 1_000)
    assert (second["bid"], second["bid_amount"], second["ask"], second["ask_amount"]) == ("100.4", "2", "100.55", "4")
    assert second["asks"] == '[["100.55","4"],["100.6","3"],["100.7","0.0000001"]]'


def test_no_more_than_ten_levels_are_kept(tmp_path: Path) -> None:
    bids = [[str(100 - number), "1"] for number in range(50)]
    found = read_as("bybit-books", written(tmp_path, message("snapshot", 1, bids, DEFAULT_ASKS)), OPTIONS)
    assert json.loads(found.usable[0]["bids"]) == bids[:10]


LATER_SNAPSHOT = SNAPSHOT.replace(str(START + 5), str(START + 9))
DELTA = message("delta", 6, [["100.45", "1"]])
FAULTS: dict[str, tuple[list[str], int, dict[str, int]]] = {
    "before a snapshot": ([DELTA, SNAPSHOT], 1, {"before_snapshot": 1}),
    "repeated": ([SNAPSHOT, DELTA, DELTA], 2, {"repeated": 1}),
    "a hole": ([SNAPSHOT, message("delta", 7), message("delta", 8)], 1, {"sequence_gap": 1, "before_snapshot": 1}),
    "a snapshot begins anew": ([SNAPSHOT, message("delta", 7), message("snapshot", 1, DEFAULT_BIDS, DEFAULT_ASKS)], 1,
                               {"sequence_gap": 1, "backwards": 1}),
    "crossed": ([SNAPSHOT, message("delta", 6, [["101", "1"]])], 1, {"crossed": 1}),
    "a side that is gone": ([SNAPSHOT, message("delta", 6, [["100.50", "0"], ["100.4", "0"]])], 1, {"empty": 1}),
    "unreadable, and the next": (
        [SNAPSHOT, message("delta", 6, [["?", "1"]]), message("delta", 7), LATER_SNAPSHOT],
        2,
        {"unreadable": 1, "before_snapshot": 1},
    ),
    "not JSON, and the next": ([SNAPSHOT, "{", DELTA, LATER_SNAPSHOT], 2, {"unreadable": 1, "before_snapshot": 1}),
    "another message": ([SNAPSHOT, '{"success": true}', LATER_SNAPSHOT], 2, {"unreadable": 1}),
    "no number": ([SNAPSHOT, message("delta", 6, [["?", "1"]])], 1, {"unreadable": 1}),
    "one of a pair": ([SNAPSHOT, message("delta", 6, [["1"]])], 1, {"unreadable": 1}),
    "no time": ([SNAPSHOT, message("delta", 6, ts="noon")], 1, {"unreadable": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "usable", "rejected"), FAULTS.values(), ids=FAULTS.keys())
def test_messages_that_give_no_book_are_counted(
    tmp_path: Path, lines: list[str], usable: int, rejected: dict[str, int]
) -> None:
    found = read_as("bybit-books", written(tmp_path, *lines), OPTIONS)
    assert (len(found.usable), found.rejected) == (usable, rejected)


REJECTED: dict[str, tuple[list[str], str]] = {
    "not JSON": ([SNAPSHOT, "{"], "line 2: is not JSON"),
    "another message": (['{"topic":"publicTrade.BTCUSDT"}'], "line 1: is no message of Bybit's order book"),
    "a list": (["[1]"], "line 1: is no message of Bybit's order book"),
    "two tickers": (
        [SNAPSHOT, SNAPSHOT.replace('"s": "BTCUSDT"', '"s": "ETHUSDT"')],
        "line 2: is about ETHUSDT, while the rows before it are about BTCUSDT",
    ),
    "another ticker": ([SNAPSHOT.replace("BTC", "ETH")], "line 1: is about ETHUSDT, while BTC/USDT:USDT is named"),
    "mixed epochs": ([SNAPSHOT, message("delta", 6, ts=START * 1_000)], "line 2: its ts 1672531200000000 is not in"),
    "empty": ([], "is empty"),
}


@pytest.mark.parametrize(("lines", "why"), REJECTED.values(), ids=REJECTED.keys())
def test_what_cannot_be_read_is_rejected(tmp_path: Path, lines: list[str], why: str) -> None:
    assert why in rejection("bybit-books", written(tmp_path, *lines), OPTIONS)


def test_a_truncated_zip_is_rejected(tmp_path: Path) -> None:
    assert "is not a valid zip file" in rejection("bybit-books", cut(written(tmp_path, SNAPSHOT)), OPTIONS)
