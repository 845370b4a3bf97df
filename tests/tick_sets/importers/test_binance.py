import hashlib
from decimal import Decimal
from pathlib import Path

import pytest

from tests.tick_sets.importers.read_files import ReadFile, cut, read_as, rejection, zipped
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions

TIME = 1_672_531_200_000
SPOT = FileOptions("binance", None, Decimal(10))
USD_M = FileOptions("binanceusdm", None, Decimal(10))
COIN_M = FileOptions("binancecoinm", None, Decimal(10))


def packed(folder: Path, name: str, *lines: str) -> Path:
    return zipped(folder / f"{name}.zip", f"{name}.csv", "".join(f"{line}\n" for line in lines))


def tops(found: ReadFile) -> list[tuple[str, int, str, str, str]]:
    return [
        (one["symbol"], one["received_time"] - TIME * 1_000, one["bid"], one["ask"], one["ask_amount"])
        for one in found.usable
    ]


def test_trades_of_spot(tmp_path: Path) -> None:
    lines = f"5,100.00000000,0.5,50,{TIME},True,True", f"6,200,1,200,{TIME + 1},False,True"
    found = read_as("binance-trades", packed(tmp_path, "BTCUSDT-trades-2023-01", *lines), SPOT)
    assert tops(found) == [("BTC/USDT", 0, "99.9", "100.1", "0.5"), ("BTC/USDT", 1_000, "199.8", "200.2", "1")]
    assert [one["sequence"] for one in found.usable] == [5, 6]


def test_microseconds_are_recognised_by_their_size(tmp_path: Path) -> None:
    line = f"5,100,0.5,50,{TIME * 1_000 + 7},True,True"
    found = read_as("binance-trades", packed(tmp_path, "BTCUSDT-trades-2025-01", line), SPOT)
    assert tops(found) == [("BTC/USDT", 7, "99.9", "100.1", "0.5")]


@pytest.mark.parametrize(("first", "second"), [(TIME, TIME * 1_000), (TIME * 1_000, TIME)])
def test_mixed_epochs_are_rejected(tmp_path: Path, first: int, second: int) -> None:
    lines = f"5,100,1,50,{first},True,True", f"6,100,1,50,{second},True,True"
    sentence = rejection("binance-trades", packed(tmp_path, "BTCUSDT-trades-2024-12", *lines), SPOT)
    assert "line 2: its time" in sentence
    assert "cut the file there" in sentence


def test_an_epoch_in_seconds_is_rejected(tmp_path: Path) -> None:
    path = packed(tmp_path, "BTCUSDT-trades-2024-12", f"5,100,1,50,{TIME // 1000},True,True")
    assert "neither in milliseconds nor in microseconds" in rejection("binance-trades", path, SPOT)


def test_trades_of_futures_have_a_header_and_one_column_less(tmp_path: Path) -> None:
    lines = "id,price,qty,quote_qty,time,is_buyer_maker", f"5,100,0.5,50,{TIME},true"
    found = read_as("binance-trades", packed(tmp_path, "BTCUSDT-trades-2023-01", *lines), USD_M)
    assert tops(found) == [("BTC/USDT:USDT", 0, "99.9", "100.1", "0.5")]
    found = read_as("binance-trades", packed(tmp_path, "BTCUSDT-trades-2020-01", lines[1]), USD_M)
    assert tops(found) == [("BTC/USDT:USDT", 0, "99.9", "100.1", "0.5")]


def test_contracts_become_base_amounts(tmp_path: Path) -> None:
    btc = packed(tmp_path, "BTCUSD_PERP-trades-2023-01", f"5,50000,35,0.07,{TIME},true")
    assert tops(read_as("binance-trades", btc, COIN_M)) == [("BTC/USD:BTC", 0, "49950", "50050", "0.06993006")]
    eth = packed(tmp_path, "ETHUSD_PERP-trades-2023-01", f"5,3000,1,0.0033,{TIME},true")
    assert tops(read_as("binance-trades", eth, COIN_M)) == [("ETH/USD:ETH", 0, "2997", "3003", "0.00333")]


def test_aggregated_trades(tmp_path: Path) -> None:
    spot = packed(tmp_path, "BTCUSDT-aggTrades-2023-01", f"9,100,0.5,20,22,{TIME},True,True")
    found = read_as("binance-aggtrades", spot, SPOT)
    assert tops(found) == [("BTC/USDT", 0, "99.9", "100.1", "0.5")]
    assert found.usable[0]["sequence"] == 9
    header = "agg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,is_buyer_maker"
    futures = packed(tmp_path, "BTCUSDT-aggTrades-2024-01", header, f"9,100,0.5,20,22,{TIME},true")
    assert tops(read_as("binance-aggtrades", futures, USD_M)) == [("BTC/USDT:USDT", 0, "99.9", "100.1", "0.5")]


def test_a_bars_close_is_known_at_its_end(tmp_path: Path) -> None:
    bars = f"{TIME},90,110,80,100,7,{TIME + 59_999},700,12,3,300,0", f"{TIME}000,9,9,9,200,1,{TIME}000,1,1,1,1,0"
    found = read_as("binance-klines", packed(tmp_path, "BTCUSDT-1m-2023-01", bars[0]), SPOT)
    assert tops(found) == [("BTC/USDT", 60_000_000, "99.9", "100.1", "7")]
    fine = bars[0].replace(str(TIME + 59_999), str((TIME + 60_000) * 1_000 - 1)).replace(f"{TIME},", f"{TIME}000,")
    found = read_as("binance-klines", packed(tmp_path, "BTCUSDT-1m-2025-01", fine), SPOT)
    assert tops(found) == [("BTC/USDT", 60_000_000, "99.9", "100.1", "7")]
    assert FORMATS["binance-klines"].is_of_bars


def test_a_bar_without_trades_is_no_quote(tmp_path: Path) -> None:
    bars = (
        f"{TIME},100,100,100,100,0,{TIME + 59_999},0,0,0,0,0",
        f"{TIME + 60_000},100,100,100,100,1,{TIME + 119_999},1,1,1,1,0",
    )
    found = read_as("binance-klines", packed(tmp_path, "BTCUSDT-1m-2023-01", *bars), SPOT)
    assert found.rejected == {"out_of_bounds": 1}
    assert len(found.usable) == 1


def test_book_tickers(tmp_path: Path) -> None:
    header = "update_id,best_bid_price,best_bid_qty,best_ask_price,best_ask_qty,transaction_time,event_time"
    lines = f"70,100,1,101,2,{TIME},{TIME + 4}", f"70,100,1,101,3,{TIME + 1},{TIME + 5}", f"71,9,1,8,2,{TIME},{TIME}"
    path = packed(tmp_path, "BTCUSDT-bookTicker-2023-06-01", header, *lines)
    found = read_as("binance-bookticker", path, FileOptions("binanceusdm"))
    assert tops(found) == [("BTC/USDT:USDT", 0, "100", "101", "2")]
    assert found.rejected == {"repeated": 1, "crossed": 1}


def test_a_checksum_beside_is_looked_at(tmp_path: Path) -> None:
    path = packed(tmp_path, "BTCUSDT-trades-2023-01", f"5,100,0.5,50,{TIME},True,True")
    beside = path.with_name(path.name + ".CHECKSUM")
    beside.write_text(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n")
    assert len(read_as("binance-trades", path, SPOT).usable) == 1
    beside.write_text(f"{'0' * 64}  {path.name}\n")
    assert "does not match BTCUSDT-trades-2023-01.zip.CHECKSUM" in rejection("binance-trades", path, SPOT)


def test_a_truncated_zip_is_rejected(tmp_path: Path) -> None:
    lines = [f"{number},100,0.5,{number * 7},{TIME},True,True" for number in range(2_000)]
    assert "is not a valid zip file" in rejection("binance-trades", cut(packed(tmp_path, "BTCUSDT-t", *lines)), SPOT)


def test_what_only_the_user_can_know_is_asked_for(tmp_path: Path) -> None:
    line = f"5,100,0.5,50,{TIME},True,True"
    unnamed = packed(tmp_path, "trades", line)
    assert "--symbol" in rejection("binance-trades", unnamed, SPOT)
    reported = FileOptions("binance", "BTC/USDT", Decimal(10))
    assert read_as("binance-trades", unnamed, reported).usable[0]["symbol"] == "BTC/USDT"
    named = packed(tmp_path, "BTCUSDT-trades-2023-01", line)
    assert "--exchange" in rejection("binance-trades", named, FileOptions(half_spread_bps=Decimal(1)))
    assert "--half-spread-bps" in rejection("binance-trades", named, FileOptions("binance"))


def test_other_columns_are_rejected(tmp_path: Path) -> None:
    path = packed(tmp_path, "BTCUSDT-trades-2023-01", f"5,100,{TIME}")
    assert "has 3 columns, not those of id,price,qty" in rejection("binance-trades", path, SPOT)
    path = packed(tmp_path, "BTCUSDT-trades-2023-01", "id,price,qty,quote_qty,moment,is_buyer_maker", "1,1,1,1,1,true")
    assert "lacks the column time" in rejection("binance-trades", path, SPOT)


def test_each_kind_is_recognised_by_its_first_line(tmp_path: Path) -> None:
    for name, line in {
        "binance-trades": f"5,100.0,0.5,50,{TIME},True,True",
        "binance-aggtrades": f"9,100,0.5,20,22,{TIME},True,True",
        "binance-klines": f"{TIME},90,110,80,100,7,{TIME + 59_999},700,12,3,300,0",
        "binance-bookticker": f"70,100,1,101,2,{TIME},{TIME + 4}",
    }.items():
        head = f"{line}\n".encode()
        assert [one.name for one in FORMATS.values() if one.fits(tmp_path / "a.csv", head)] == [name]
