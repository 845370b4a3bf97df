import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather

from tests.tick_sets.importers.read_files import cut, gzipped, read_as, rejection
from tick_sets.rows.import_format import FileOptions

OPTIONS = FileOptions("binance", "BTC/USDT", Decimal(10))
START = 1_672_531_200_000
BARS = [[START, 1.0, 2.0, 0.5, 1.5, 10.25], [START + 300_000, 1.5, 1.6, 1e-7, 1.1e-7, 3.0]]
TRADES = [[START, "7", None, "buy", 16_500.1, 0.25, 4_125.025], [START + 3, "8", None, "sell", 16_500, 1, 16_500]]
BAR_COLUMNS = ("open", "high", "low", "close", "volume")
TRADE_COLUMNS = ("timestamp", "id", "type", "side", "price", "amount", "cost")


def json_file(folder: Path, rows: object, name: str = "BTC_USDT-5m.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(rows))
    return path


def feather_bars(folder: Path, rows: list[list[Any]], name: str = "BTC_USDT-5m.feather") -> Path:
    path = folder / name
    columns: dict[str, Any] = {
        "date": pa.array([row[0] * 1_000_000 for row in rows], pa.timestamp("ns", tz="UTC")),
    }
    for number, column in enumerate(BAR_COLUMNS, start=1):
        columns[column] = pa.array([row[number] for row in rows], pa.float64())
    feather.write_feather(pa.table(columns), str(path))
    return path


@pytest.mark.parametrize("name", ["freqtrade-ohlcv", "ccxt-ohlcv"])
def test_bars_are_known_at_their_end(tmp_path: Path, name: str) -> None:
    found = read_as(name, json_file(tmp_path, BARS), OPTIONS)
    assert [row["received_time"] for row in found.usable] == [(START + 300_000) * 1_000, (START + 600_000) * 1_000]
    assert [(row["bid"], row["ask"], row["bid_amount"]) for row in found.usable] == [
        ("1.4985", "1.5015", "10.25"),
        ("0.00000010989", "0.00000011011", "3.0"),
    ]
    assert (found.rejected, found.rows[1]["line"], found.rows[1]["exchange_time"]) == ({}, 2, None)


def test_feather_json_and_gzip_hold_the_same_bars(tmp_path: Path) -> None:
    by_json = read_as("freqtrade-ohlcv", json_file(tmp_path, BARS), OPTIONS)
    by_gzip = read_as("freqtrade-ohlcv", gzipped(tmp_path / "BTC_USDT-5m.json.gz", json.dumps(BARS)), OPTIONS)
    by_feather = read_as("freqtrade-ohlcv", feather_bars(tmp_path, BARS), OPTIONS)
    assert by_gzip == by_json
    for one, other in zip(by_json.usable, by_feather.usable, strict=True):
        assert {**one, "bid_amount": 0, "ask_amount": 0} == {**other, "bid_amount": 0, "ask_amount": 0}
        # "10.0" and "10" are one double
        assert float(one["bid_amount"]) == float(other["bid_amount"])


def test_a_json_number_stays_the_text_that_it_is(tmp_path: Path) -> None:
    path = tmp_path / "trades.json"
    path.write_text(f'[[{START}, "1", null, "buy", 0.30000000000000004, 1.10, 2]]')
    found = read_as("freqtrade-trades", path, replace(OPTIONS, half_spread_bps=Decimal(5_000)))
    assert found.rows[0]["bid_amount"] == "1.10"
    assert found.rows[0]["bid"] == "0.15000000000000002"


def test_trades_are_prints(tmp_path: Path) -> None:
    by_json = read_as("freqtrade-trades", json_file(tmp_path, TRADES, "BTC_USDT-trades.json"), OPTIONS)
    rows: list[dict[str, Any]] = [dict(zip(TRADE_COLUMNS, row, strict=True)) for row in TRADES]
    for row in rows:
        row |= {name: float(row[name]) for name in ("price", "amount", "cost")}
    path = tmp_path / "BTC_USDT-trades.feather"
    feather.write_feather(pa.Table.from_pylist(rows), str(path))
    by_feather = read_as("freqtrade-trades", path, OPTIONS)
    assert [(row["received_time"], row["bid"], row["ask"]) for row in by_json.usable] == [
        (START * 1_000, "16483.5999", "16516.6001"),
        ((START + 3) * 1_000, "16483.5", "16516.5"),
    ]
    assert [(row["received_time"], row["bid"], row["ask"]) for row in by_feather.usable] == [
        (row["received_time"], row["bid"], row["ask"]) for row in by_json.usable
    ]


def test_bad_rows_are_counted(tmp_path: Path) -> None:
    rows: list[Any] = [*BARS, [START + 600_000, 1, 2], "row", [START + 600_000, 1, 1, 1, None, 1]]
    rows += [[START + 600_000, 1, 1, 1, 1, 0], [START, 1, 1, 1, 1, 1]]
    found = read_as("freqtrade-ohlcv", json_file(tmp_path, rows), OPTIONS)
    assert len(found.usable) == 2
    assert found.rejected == {"unreadable": 2, "empty": 1, "out_of_bounds": 1, "backwards": 1}


REJECTED: dict[str, tuple[str, object, str]] = {
    "trades as bars": ("freqtrade-ohlcv", TRADES, "has no row [timestamp, open, high, low, close, volume]"),
    "bars as trades": ("freqtrade-trades", BARS, "has no row [timestamp, id, type, side, price, amount, cost]"),
    "an object": ("ccxt-ohlcv", {"a": 1}, "is not a list of rows"),
    "an empty list": ("ccxt-ohlcv", [], "is not a list of rows"),
    "seconds": ("ccxt-ohlcv", [[START // 1_000, 1, 1, 1, 1, 1]], "is not in milliseconds since 1970"),
    "mixed epochs": ("freqtrade-ohlcv", [*BARS, [START * 1_000, 1, 1, 1, 1, 1]], "line 3: its time 1672531200000000"),
}


@pytest.mark.parametrize(("name", "rows", "why"), REJECTED.values(), ids=REJECTED.keys())
def test_what_cannot_be_read_is_rejected(tmp_path: Path, name: str, rows: object, why: str) -> None:
    assert why in rejection(name, json_file(tmp_path, rows), OPTIONS)


def test_a_truncated_file_is_rejected(tmp_path: Path) -> None:
    assert "is not whole JSON" in rejection("freqtrade-ohlcv", cut(json_file(tmp_path, BARS)), OPTIONS)
    assert "is not a valid feather file" in rejection("freqtrade-ohlcv", cut(feather_bars(tmp_path, BARS)), OPTIONS)
    packed = cut(gzipped(tmp_path / "BTC_USDT-5m.json.gz", json.dumps(BARS)))
    assert "is not a valid gzip file" in rejection("freqtrade-ohlcv", packed, OPTIONS)


def test_an_empty_file_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "BTC_USDT-5m.json"
    path.touch()
    assert "is empty" in rejection("freqtrade-ohlcv", path, OPTIONS)
    assert "contains no rows" in rejection("freqtrade-ohlcv", feather_bars(tmp_path, []), OPTIONS)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "BTC_USDT-5m.feather"
    feather.write_feather(pa.table({"date": [1], "open": [1.0]}), str(path))
    assert "lacks the column high; it has date, open" in rejection("freqtrade-ohlcv", path, OPTIONS)


def test_bars_of_another_length_than_the_name_says_are_rejected(tmp_path: Path) -> None:
    why = rejection("ccxt-ohlcv", json_file(tmp_path, BARS, "BTC_USDT-1h.json"), OPTIONS)
    assert "has bars 300 s apart, while they are 3600 s long" in why
