from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from tests.backtest.recorded import LEAN_FILES, recordings_or_skip
from tests.pricefeeds.samples import FX_MARKET, MARKET
from tests.tick_sets.importers.read_files import cut, of_version_99, read_as, rejection, zipped
from tick_sets.importers.import_formats import FORMATS
from tick_sets.importers.lean import quote_bars
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import FileOptions

OPTIONS = FileOptions("coinbase", "BTC/USD", Decimal(2))
FX = FileOptions("fxcm", "EUR/USD")
QUOTE = "0,7424.9,7430,7420,7425.1,1.88483821,7424.91,7431,7421,7425.11,33.35399601000002"
TRADE = "60000,7420,7422,7405,7405,13.35069752"
RATE = "0,1.2277,1.2277,1.2276,1.22762,0,1.22793,1.22794,1.22784,1.22786,0"
MIDNIGHT = int(datetime(2018, 4, 4, tzinfo=UTC).timestamp()) * 1_000_000
MINUTE = 60_000_000


def written(folder: Path, *lines: str, name: str = "20180404_quote.zip", member: str = "quote.csv") -> Path:
    return zipped(folder / name, member, "".join(f"{line}\n" for line in lines))


def test_a_quote_bar_is_its_close_at_its_end(tmp_path: Path) -> None:
    found = read_as("lean-quotes", written(tmp_path, QUOTE, QUOTE.replace("0,", "120000,", 1)), OPTIONS)
    assert [row["received_time"] for row in found.usable] == [MIDNIGHT + MINUTE, MIDNIGHT + 3 * MINUTE]
    row = found.usable[0]
    assert (row["bid"], row["bid_amount"], row["ask"], row["ask_amount"]) == (
        *("7425.1", "1.88483821"),
        *("7425.11", "33.35399601000002"),
    )
    assert (row["exchange_time"], row["sequence"], found.rejected) == (None, None, {})


def test_a_trade_bar_is_a_price_at_its_end(tmp_path: Path) -> None:
    found = read_as("lean-trades", written(tmp_path, TRADE, name="20180404_trade.zip"), OPTIONS)
    row = found.usable[0]
    assert (row["received_time"], row["bid"], row["ask"]) == (MIDNIGHT + 2 * MINUTE, "7403.519", "7406.481")
    assert (row["bid_amount"], row["ask_amount"]) == ("13.35069752", "13.35069752")


def test_currencies_are_five_hours_behind_and_have_no_amounts(tmp_path: Path) -> None:
    found = read_as("lean-quotes", written(tmp_path, RATE), FX, fx=("EUR/USD",))
    assert found.usable[0]["received_time"] == MIDNIGHT + 5 * 60 * MINUTE + MINUTE
    assert found.rejected == {}


def test_a_zip_of_a_later_version_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    newer = of_version_99(written(tmp_path, QUOTE))
    assert "is a zip file that cannot be unpacked" in rejection("lean-quotes", newer, OPTIONS)


BAD_ROWS: dict[str, tuple[str, dict[str, int]]] = {
    "one side lacking": ("0,,,,,,7424.91,7431,7421,7425.11,33", {"empty": 1}),
    "time of no day": (QUOTE.replace("0,", "86400000,", 1), {"unreadable": 1}),
    "negative time": (QUOTE.replace("0,", "-1,", 1), {"unreadable": 1}),
    "header": ("time,o,h,l,c,size,o,h,l,c,size", {"unreadable": 1}),
    "columns lacking": ("0,1,2", {"unreadable": 1}),
    "crossed": (QUOTE.replace("7425.11", "7425.1"), {"crossed": 1}),
    "no amount": (QUOTE.replace("1.88483821", "0"), {"out_of_bounds": 1}),
    "backwards": (f"{QUOTE.replace('0,', '60000,', 1)}\n{QUOTE}", {"backwards": 1}),
}


@pytest.mark.parametrize(("lines", "counted"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_counted_by_reason(tmp_path: Path, lines: str, counted: dict[str, int]) -> None:
    found = read_as("lean-quotes", written(tmp_path, lines, QUOTE.replace("0,", "180000,", 1)), OPTIONS)
    assert found.rejected == counted
    assert found.usable[-1]["received_time"] == MIDNIGHT + 4 * MINUTE


def test_what_cannot_be_read_is_rejected(tmp_path: Path) -> None:
    assert "has no line of 11 columns" in rejection("lean-quotes", written(tmp_path, TRADE), OPTIONS)
    assert "has no line of 6 columns" in rejection("lean-trades", written(tmp_path, QUOTE), OPTIONS)
    assert "is empty" in rejection("lean-quotes", written(tmp_path), OPTIONS)
    named = written(tmp_path, QUOTE, name="btcusd_quote.zip")
    assert "its name does not begin with its day (YYYYMMDD)" in rejection("lean-quotes", named, OPTIONS)
    without = replace(OPTIONS, half_spread_bps=None)
    assert "--half-spread-bps" in rejection("lean-trades", written(tmp_path, TRADE), without)
    assert "is not a valid zip file" in rejection("lean-quotes", cut(written(tmp_path, QUOTE)), OPTIONS)


def test_the_member_names_the_ticker_and_the_resolution(tmp_path: Path) -> None:
    other = written(tmp_path, QUOTE, member="20180404_ethusd_minute_quote.csv")
    assert "is about ethusd, while BTC/USD is named" in rejection("lean-quotes", other, OPTIONS)
    seconds = written(tmp_path, QUOTE, member="20180404_btcusd_second_quote.csv")
    assert "is of resolution second; bars of a minute, an hour or a day are read" in rejection(
        "lean-quotes", seconds, OPTIONS
    )
    assert read_as("lean-quotes", written(tmp_path, QUOTE, member="20180404_btcusd_minute_quote.csv"), OPTIONS).usable


HOURS = ("20180404 00:00,1,9,1,100,5", "20180404 01:00,1,9,1,101,6", "20180404 04:00,1,9,1,102,7")


@pytest.mark.parametrize(
    ("folder", "rows", "ends"),
    [
        ("hour", HOURS, [1, 2, 5]),
        ("hour", HOURS[:1], [1]),
        ("anywhere", HOURS, [1, 2, 5]),
        ("daily", ("20180404 00:00,1,9,1,100,5", "20180406 00:00,1,9,1,101,6"), [24, 72]),
    ],
)
def test_hours_and_days_stand_in_one_file(tmp_path: Path, folder: str, rows: tuple[str, ...], ends: list[int]) -> None:
    """The folder says how long a bar is, or else the smallest step."""
    (tmp_path / folder).mkdir()
    path = written(tmp_path / folder, *rows, name="btcusd_trade.zip", member="btcusd.csv")
    found = read_as("lean-trades", path, OPTIONS)
    assert [row["received_time"] - MIDNIGHT for row in found.usable] == [60 * MINUTE * end for end in ends]
    assert found.usable[0]["bid"] == "99.98"
    assert FORMATS["lean-trades"].fits(path, head_of(path))


def test_an_hour_of_currencies_is_five_hours_behind(tmp_path: Path) -> None:
    (tmp_path / "hour").mkdir()
    row = "20180404 00:00,1.2277,1.2277,1.2276,1.22762,0,1.22793,1.22794,1.22784,1.22786,0"
    path = written(tmp_path / "hour", row, name="eurusd_quote.zip", member="eurusd.csv")
    assert read_as("lean-quotes", path, FX, fx=("EUR/USD",)).usable[0]["received_time"] == MIDNIGHT + 6 * 60 * MINUTE


def test_what_is_wrong_with_hours_is_said(tmp_path: Path) -> None:
    other = written(tmp_path, *HOURS, name="ethusd_trade.zip", member="ethusd.csv")
    assert "is about ethusd, while BTC/USD is named" in rejection("lean-trades", other, OPTIONS)
    alone = written(tmp_path, HOURS[0], name="btcusd_trade.zip", member="btcusd.csv")
    assert "has too few bars to derive their length" in rejection("lean-trades", alone, OPTIONS)
    bad = written(tmp_path, *HOURS[:2], "2018-04-05 00:00,1,9,1,1,1", name="btcusd_trade.zip", member="btcusd.csv")
    assert read_as("lean-trades", bad, OPTIONS).rejected == {"unreadable": 1}


def test_whole_columns_and_single_rows_give_the_same_quotes() -> None:
    usd, _, _, rate = recordings_or_skip(LEAN_FILES)
    for path, options, market, hours in ((usd, OPTIONS, MARKET, 0), (rate, FX, FX_MARKET, -5)):
        rejections: Counter[str] = Counter()
        quotes = list(quote_bars(path, market, hours, rejections))
        found = read_as("lean-quotes", path, options, fx=("EUR/USD",))
        assert (len(found.usable), found.rejected) == (len(quotes), rejections)
        for row, quote in zip(found.usable, quotes, strict=True):
            assert row["received_time"] == quote.received_time
            assert (Decimal(row["bid"]), Decimal(row["bid_amount"])) == quote.bids[0]
            assert (Decimal(row["ask"]), Decimal(row["ask_amount"])) == quote.asks[0]
            assert (row["bid_price"], row["ask_price"]) == (float(quote.bid), float(quote.ask))
