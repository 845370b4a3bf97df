from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from tests.tick_sets.importers.read_files import cut, gzipped, read_as, rejection
from tick_sets.rows.import_format import FileOptions

OPTIONS = FileOptions("kraken", "BTC/USD", Decimal(5))
TRADES = "1672531436,90.540000,1.10448420\n1672531436.5,90.6,0.5\n1672531500,91,2\n"
BARS = "1672531200,90,92,89,90.5,12.5,7\n1672531260,90.5,91,90,90,3.25,2\n1672531380,90,90,90,90.25,1,1\n"


def written(folder: Path, text: str, name: str = "XBTUSD.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_print_becomes_a_quote_around_its_price(tmp_path: Path) -> None:
    found = read_as("kraken-trades", written(tmp_path, TRADES), OPTIONS)
    assert found.rejected == {}
    assert found.rows[0] == {
        "line": 1,
        "exchange": "kraken",
        "symbol": "BTC/USD",
        "received_time": 1_672_531_436_000_000,
        "exchange_time": 1_672_531_436_000_000,
        "sequence": None,
        # 5 bps below and above 90.54, to the last digit
        "bid": "90.49473",
        "bid_amount": "1.10448420",
        "ask": "90.58527",
        "ask_amount": "1.10448420",
        "bids": None,
        "asks": None,
        "fault": None,
    }
    assert [row["received_time"] for row in found.usable] == [
        1_672_531_436_000_000,
        1_672_531_436_500_000,
        1_672_531_500_000_000,
    ]
    assert (found.usable[2]["bid_price"], found.usable[2]["ask_price"]) == (float("90.9545"), float("91.0455"))


def test_gzip_reads_alike(tmp_path: Path) -> None:
    plain = read_as("kraken-trades", written(tmp_path, TRADES), OPTIONS)
    assert read_as("kraken-trades", gzipped(tmp_path / "XBTUSD.csv.gz", TRADES), OPTIONS) == plain


def test_a_bar_is_known_at_its_end(tmp_path: Path) -> None:
    by_name = read_as("kraken-ohlcvt", written(tmp_path, BARS, "XBTUSD_1.csv"), OPTIONS)
    by_steps = read_as("kraken-ohlcvt", written(tmp_path, BARS, "bars.csv"), OPTIONS)
    assert [row["received_time"] // 1_000_000 for row in by_name.usable] == [
        1_672_531_260,
        1_672_531_320,
        1_672_531_440,
    ]
    assert by_steps == by_name
    assert (by_name.rows[0]["bid"], by_name.rows[0]["ask"]) == ("90.45475", "90.54525")
    assert by_name.rows[1]["bid_amount"] == "3.25"


BAD_ROWS: dict[str, tuple[str, dict[str, int]]] = {
    "two columns": ("1672531437,90\n", {"unreadable": 1}),
    "no price": ("1672531437,,1\n", {"empty": 1}),
    "a word for a price": ("1672531437,none,1\n", {"empty": 1}),
    "a word for a time": ("noon,90,1\n", {"unreadable": 1}),
    "a word for an amount": ("1672531437,90,much\n", {"unreadable": 1}),
    "no amount": ("1672531437,90,0\n", {"out_of_bounds": 1}),
    "a negative price": ("1672531437,-90,1\n", {"out_of_bounds": 1}),
    "backwards": ("1672531400,90,1\n", {"backwards": 1}),
    "two of them": ("1672531437,90\n1672531437,90,0\n", {"unreadable": 1, "out_of_bounds": 1}),
}


@pytest.mark.parametrize(("lines", "counted"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_counted_by_reason(tmp_path: Path, lines: str, counted: dict[str, int]) -> None:
    first, rest = TRADES.split("\n", 1)
    found = read_as("kraken-trades", written(tmp_path, f"{first}\n{lines}{rest}"), OPTIONS)
    assert (len(found.usable), found.rejected) == (3, counted)


REJECTED: dict[str, tuple[str, str, FileOptions, str]] = {
    "bars as trades": ("kraken-trades", BARS, OPTIONS, "has no line of 3 columns (unixtime,price,volume)"),
    "trades as bars": ("kraken-ohlcvt", TRADES, OPTIONS, "has no line of 7 columns"),
    "milliseconds": ("kraken-trades", "1672531436000,90,1\n", OPTIONS, "line 1: its time 1672531436000 is not in sec"),
    "mixed epochs": ("kraken-trades", f"{TRADES}1672531501000,9,1\n", OPTIONS, "line 4: its time 1672531501000 is not"),
    "empty": ("kraken-trades", "", OPTIONS, "is empty"),
    "no half-spread": ("kraken-trades", TRADES, replace(OPTIONS, half_spread_bps=None), "--half-spread-bps 2"),
    "a half-spread of 0": ("kraken-trades", TRADES, replace(OPTIONS, half_spread_bps=Decimal(0)), "is outside 0 to"),
    "no symbol": ("kraken-trades", TRADES, replace(OPTIONS, symbol=None), "--symbol BTC/USD"),
    "no exchange": ("kraken-ohlcvt", BARS, replace(OPTIONS, exchange=None), "--exchange kraken"),
    "one bar": ("kraken-ohlcvt", BARS.split("\n", maxsplit=1)[0], OPTIONS, "has too few bars to derive their length"),
}


@pytest.mark.parametrize(("name", "text", "options", "why"), REJECTED.values(), ids=REJECTED.keys())
def test_what_cannot_be_read_is_rejected(tmp_path: Path, name: str, text: str, options: FileOptions, why: str) -> None:
    assert why in rejection(name, written(tmp_path, text), options)


def test_bars_closer_than_they_are_long_are_rejected(tmp_path: Path) -> None:
    why = rejection("kraken-ohlcvt", written(tmp_path, BARS, "XBTUSD_5.csv"), OPTIONS)
    assert "has bars 60 s apart, while they are 300 s long" in why


def test_a_truncated_gzip_is_rejected(tmp_path: Path) -> None:
    lines = "".join(f"{1_672_531_436 + number},{number * 7919 % 997 + 1},1\n" for number in range(500))
    why = rejection("kraken-trades", cut(gzipped(tmp_path / "XBTUSD.csv.gz", lines)), OPTIONS)
    assert "is not a valid gzip file; it is damaged or was cut off" in why


@pytest.mark.parametrize("name", ["LUNAUSD.csv", "LUNAUSD_1.csv"])
def test_a_file_of_another_coin_than_the_named_one_is_refused(tmp_path: Path, name: str) -> None:
    luna = replace(OPTIONS, symbol="LUNA/USD")
    for of, text in (("kraken-trades", TRADES), ("kraken-ohlcvt", BARS)):
        why = rejection(of, written(tmp_path, text, name), luna)
        assert "is named LUNAUSD, and LUNA on kraken is LUNC; say --symbol LUNC/USD, or rename it" in why
        assert read_as(of, written(tmp_path, text, name), replace(OPTIONS, symbol="LUNC/USD")).usable
        assert read_as(of, written(tmp_path, text, name.replace("LUNA", "LUNA2")), luna).usable
