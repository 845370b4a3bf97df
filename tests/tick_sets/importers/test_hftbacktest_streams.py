import gzip
import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.backtest.recorded import BINANCE_FILES, TICKS, recordings_or_skip
from tests.tick_sets.importers.read_files import cut, gzipped, read_as, rejection
from tick_sets.importers.hftbacktest_depth import DepthBook
from tick_sets.rows.import_format import FileOptions

SPOT = FileOptions("binance", "BTC/USDT", Decimal(1))
USD_M = replace(SPOT, exchange="binanceusdm", symbol="BTC/USDT:USDT")
COIN_M = replace(SPOT, exchange="binancecoinm", symbol="BTC/USD:BTC")
HYPERLIQUID = FileOptions("hyperliquid", "BTC/USDC:USDC")
START = 1_723_161_254_087_891_268


def line(number: int, stream: str, **data: Any) -> str:
    message = {"stream": f"btcusdt@{stream}", "data": {"s": "BTCUSDT"} | data}
    return f"{START + number * 1_000} {json.dumps(message)}\n"


def ticker(number: int, **changes: Any) -> str:
    reported: dict[str, Any] = {"u": number, "b": "61837.63000000", "B": "3.7", "a": "61837.64", "A": "1.5"}
    return line(number, "bookTicker", **(reported | changes))


def difference(number: int, first: int, last: int, **changes: Any) -> str:
    reported: dict[str, Any] = {"e": "depthUpdate", "E": 1_723_161_255_208, "U": first, "u": last, "b": [], "a": []}
    return line(number, "depth@100ms", **(reported | changes))


def snapshot(number: int, last: int) -> str:
    book = {"lastUpdateId": last, "bids": [["100.10", "1"], ["100", "2"]], "asks": [["100.2", "3"]]}
    return f"{START + number * 1_000} {json.dumps(book)}\n"


def hyperliquid(number: int) -> str:
    levels = [[{"px": "100", "sz": "2", "n": 1}], [{"px": "101", "sz": "0.5", "n": 3}]]
    data = {"coin": "BTC", "time": 1_723_161_254_087 + number, "levels": levels}
    return f"{START + number * 1_000} {json.dumps({'channel': 'l2Book', 'data': data})}\n"


def written(folder: Path, *lines: str) -> Path:
    return gzipped(folder / "btcusdt.gz", "".join(lines))


def test_the_best_bid_and_ask_keep_their_text(tmp_path: Path) -> None:
    path = written(tmp_path, snapshot(0, 1), ticker(2, E=1_723_161_255_358), line(3, "trade", p="1"), ticker(4))
    found = read_as("hftbacktest", path, SPOT)
    row = found.rows[0]
    assert (row["bid"], row["bid_amount"], row["ask"], row["ask_amount"]) == (
        "61837.63000000",
        "3.7",
        "61837.64",
        "1.5",
    )
    assert (row["received_time"], row["exchange_time"]) == (1_723_161_254_087_893, 1_723_161_255_358_000)
    assert [(row["line"], row["sequence"]) for row in found.usable] == [(2, 2), (4, 4)]
    assert (found.rows[1]["exchange_time"], found.rejected) == (None, {})


def test_contracts_become_base_amounts(tmp_path: Path) -> None:
    found = read_as("hftbacktest", written(tmp_path, ticker(1, s="BTCUSD_PERP", b="50000", B="35", a="50001")), COIN_M)
    assert (found.usable[0]["bid_amount"], found.usable[0]["ask_amount"]) == ("0.07", "0.00299994")
    other = replace(COIN_M, symbol="ETH/USD:ETH")
    found = read_as("hftbacktest", written(tmp_path, ticker(1, s="ETHUSD_PERP", b="2000", B="35", a="2001")), other)
    assert found.usable[0]["bid_amount"] == "0.175"


def test_a_trade_is_a_print(tmp_path: Path) -> None:
    path = written(tmp_path, line(1, "trade", t=9, p="100.00", q="0.5", T=1_723_161_255_342, m=True), ticker(2))
    found = read_as("hftbacktest-trades", path, SPOT)
    assert [(row["bid"], row["ask"], row["bid_amount"], row["sequence"]) for row in found.usable] == [
        ("99.99", "100.01", "0.5", 9)
    ]
    assert found.rows[0]["exchange_time"] == 1_723_161_255_342_000


def test_a_book_is_known_from_its_snapshot_on(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        difference(1, 1, 5),
        # older than the snapshot for the most part, and received before it
        difference(2, 6, 9, b=[["100.15", "4"]]),
        snapshot(3, 8),
        difference(4, 10, 12, a=[["100.2", "0"], ["100.3", "5"]]),
    )
    found = read_as("hftbacktest-depth", path, SPOT)
    assert found.rejected == {"before_snapshot": 2}
    assert [(row["bids"], row["asks"], row["sequence"]) for row in found.usable] == [
        ('[["100.15","4"],["100.1","1"],["100","2"]]', '[["100.2","3"]]', 9),
        ('[["100.15","4"],["100.1","1"],["100","2"]]', '[["100.3","5"]]', 12),
    ]
    assert [row["exchange_time"] for row in found.usable] == [None, 1_723_161_255_208_000]


FAULTS: dict[str, tuple[list[str], int, dict[str, int]]] = {
    "outdated": ([snapshot(1, 8), difference(2, 6, 8)], 1, {"outdated": 1}),
    "a hole": (
        [snapshot(1, 8), difference(2, 10, 11), difference(3, 12, 12)], 1, {"sequence_gap": 1, "before_snapshot": 1}
    ),
    "a hole later on": ([snapshot(1, 8), difference(2, 9, 9), difference(3, 11, 11)], 2, {"sequence_gap": 1}),
    "overlapping later on": ([snapshot(1, 8), difference(2, 9, 10), difference(3, 10, 11)], 2, {"sequence_gap": 1}),
    "known anew": (
        [snapshot(1, 8), difference(2, 10, 11), difference(3, 12, 12), snapshot(4, 11)],
        2,
        {"sequence_gap": 1, "before_snapshot": 1},
    ),
    "still a hole": ([snapshot(1, 8), difference(2, 20, 21), snapshot(3, 9)], 1, {"sequence_gap": 2}),
    "crossed": ([snapshot(1, 8), difference(2, 9, 9, b=[["100.2", "1"]])], 1, {"crossed": 1}),
    "unreadable": ([snapshot(1, 8), difference(2, 9, 9, b=[["?", "1"]])], 1, {"unreadable": 1}),
    "unreadable, and the next": (
        [snapshot(1, 8), difference(2, 9, 9, b=[["?", "1"]]), difference(3, 10, 10)],
        1,
        {"unreadable": 1, "sequence_gap": 1},
    ),
    "a field lacking": ([snapshot(1, 8), line(2, "depth", U=9, u=9, b=[])], 1, {"unreadable": 1}),
    "futures that follow": (
        [snapshot(1, 8), difference(2, 5, 8, pu=4), difference(3, 11, 12, pu=8)], 2, {"repeated": 1}
    ),
    "futures with a hole": (
        [snapshot(1, 8), difference(2, 7, 9, pu=4), difference(3, 12, 13, pu=10)], 2, {"sequence_gap": 1}
    ),
    "futures older": ([snapshot(1, 8), difference(2, 5, 7, pu=4)], 1, {"outdated": 1}),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "usable", "rejected"), FAULTS.values(), ids=FAULTS.keys())
def test_messages_that_give_no_book_are_counted(
    tmp_path: Path, lines: list[str], usable: int, rejected: dict[str, int]
) -> None:
    found = read_as("hftbacktest-depth", written(tmp_path, *lines), SPOT)
    assert (len(found.usable), found.rejected) == (usable, rejected)


REJECTED: dict[str, tuple[str, list[str], FileOptions, str]] = {
    "no time": ("hftbacktest", [ticker(1), '{"stream":"x"}\n'], SPOT, "line 2: does not begin with the time in nano"),
    "microseconds": (
        "hftbacktest",
        ["1723161254087891 {}\n"],
        SPOT,
        "line 1: its time 1723161254087891 is not in nano",
    ),
    "not JSON": ("hftbacktest", [ticker(1), f"{START} {{broken\n"], SPOT, "line 2: is not JSON behind the time"),
    "a list": ("hftbacktest", [f"{START} [1]\n"], SPOT, "line 1: is not a JSON object behind the time"),
    "two tickers": (
        "hftbacktest",
        [ticker(1), ticker(2, s="ETHUSDT")],
        SPOT,
        "line 2: is about ETHUSDT, while the rows",
    ),
    "another ticker": (
        "hftbacktest",
        [ticker(1)],
        replace(SPOT, symbol="ETH/USDT"),
        "about BTCUSDT, while ETH/USDT is",
    ),
    "no tickers": ("hftbacktest", [snapshot(1, 1)], SPOT, "contains no bookTicker message"),
    "no trades": ("hftbacktest-trades", [ticker(1)], SPOT, "contains no trade message"),
    "no snapshot": ("hftbacktest-depth", [difference(1, 1, 2)], SPOT, "contains no REST snapshot of the book"),
    "no books": ("hftbacktest-hyperliquid", [ticker(1)], SPOT, "contains no l2Book message"),
    "no half-spread": ("hftbacktest-trades", [ticker(1)], replace(SPOT, half_spread_bps=None), "--half-spread-bps"),
    "no symbol": ("hftbacktest", [ticker(1)], replace(SPOT, symbol=None), "--symbol BTC/USD"),
    "empty": ("hftbacktest", [], SPOT, "is empty"),
}


@pytest.mark.parametrize(("name", "lines", "options", "why"), REJECTED.values(), ids=REJECTED.keys())
def test_what_cannot_be_read_is_rejected(
    tmp_path: Path, name: str, lines: list[str], options: FileOptions, why: str
) -> None:
    assert why in rejection(name, written(tmp_path, *lines), options)


DAMAGED = {
    "not JSON": f"{START + 2_000} {{broken\n",
    "no object": f"{START + 2_000} [1]\n",
    "no time": "@@@@\n",
    "no number": "9" * 5_000 + " {}\n",
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED.keys())
@pytest.mark.parametrize(
    ("name", "lines", "options"),
    [
        ("hftbacktest", [ticker(1), ticker(4)], SPOT),
        ("hftbacktest-depth", [snapshot(1, 8), difference(4, 9, 10)], SPOT),
        ("hftbacktest-hyperliquid", [hyperliquid(1), hyperliquid(4)], HYPERLIQUID),
    ],
)
def test_a_damaged_line_is_counted_and_the_others_stay(
    tmp_path: Path, name: str, lines: list[str], options: FileOptions, line: str
) -> None:
    found = read_as(name, written(tmp_path, lines[0], line, lines[1]), options)
    assert (len(found.usable), found.rejected) == (2, {"unreadable": 1})


def test_a_large_file_of_another_form_is_not_read_to_its_end(tmp_path: Path) -> None:
    reported = rejection("hftbacktest", written(tmp_path, ticker(1), "x,y\n" * 5_000), SPOT)
    assert "line 2: does not begin with the time in nanoseconds; 1000 of 1001 lines cannot be read" in reported


def test_a_truncated_file_is_rejected(tmp_path: Path) -> None:
    path = cut(written(tmp_path, *(ticker(number, B=str(number * 7919 % 997 + 1)) for number in range(1, 400))))
    assert "is not a valid gzip file; it is damaged or was cut off" in rejection("hftbacktest", path, SPOT)


def test_hyperliquid_sends_whole_books(tmp_path: Path) -> None:
    levels = [[{"px": "100.0", "sz": "2", "n": 1}], [{"px": "101", "sz": "0.50", "n": 3}]]
    good = {"channel": "l2Book", "data": {"coin": "BTC", "time": 1_737_918_843_542, "levels": levels}}
    bad = {"channel": "l2Book", "data": {"coin": "BTC", "time": 1_737_918_843_542, "levels": [[{"px": "100"}], []]}}
    text = "".join(f"{START + number} {json.dumps(one)}\n" for number, one in enumerate((good, bad, {"channel": "x"})))
    options = FileOptions("hyperliquid", "BTC/USDC:USDC")
    found = read_as("hftbacktest-hyperliquid", gzipped(tmp_path / "btcusd.gz", text), options)
    assert (len(found.usable), found.rejected) == (1, {"unreadable": 1})
    assert (found.rows[0]["bids"], found.rows[0]["asks"]) == ('[["100","2"]]', '[["101","0.5"]]')
    assert found.rows[0]["exchange_time"] == 1_737_918_843_542_000


@pytest.mark.parametrize(("number", "compared"), [(0, 564), (1, 503), (2, 1_124)], ids=["spot", "USD-M", "COIN-M"])
def test_a_recorded_book_is_the_ticker_s_wherever_both_report_one_update(number: int, compared: int) -> None:
    """Binance sends the best bid and ask in a stream of its own: if ids are equal, the prices must be, too."""
    path = recordings_or_skip(BINANCE_FILES)[number]
    book, best = DepthBook(), dict[int, tuple[float, float]]()
    found = 0
    with gzip.open(path) as file:
        for text in file:
            message = orjson.loads(text.partition(b" ")[2])
            data = message.get("data", {})
            if message.get("stream", "").endswith("@bookTicker"):
                best[data["u"]] = float(data["b"]), float(data["a"])
            elif "lastUpdateId" in message:
                book.restart(message)
            elif "@depth" in message["stream"] and book.apply(data) is None and data["u"] in best:
                top = book.top()
                assert best[data["u"]] == (float(top.bids[0].price), float(top.asks[0].price))
                found += 1
    assert found == compared


@pytest.mark.slow
def test_the_recorded_files_are_read_whole() -> None:
    counts = [(28_040, 9_757, 3_449), (66_089, 21_313, 6_546), (19_136, 2_286, 26_823)]
    before = [3, 6, 25]
    for path, options, numbers, early in zip(
        recordings_or_skip(BINANCE_FILES), (SPOT, USD_M, COIN_M), counts, before, strict=True
    ):
        names = ("hftbacktest", "hftbacktest-trades", "hftbacktest-depth")
        found = [read_as(name, path, options) for name in names]
        assert tuple(len(one.usable) for one in found) == numbers
        assert [one.rejected for one in found] == [{}, {}, {"before_snapshot": early}]
    path = TICKS / "hyperliquid" / "btcusd_20250126.gz"
    recordings_or_skip([path])
    books = read_as("hftbacktest-hyperliquid", path, FileOptions("hyperliquid", "BTC/USDC:USDC"))
    assert (len(books.usable), books.rejected) == (46, {})
