from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from market.prices.candles import INTERVALS, QuoteCandle
from ui.candles.candle_files import DAY, END, HOUR, KEPT, CandleFiles, KeptInterval

PLACE = ("kraken", "BTC/USD:USD")
SECOND = INTERVALS["1s"]
NOW = 1_764_500_000 * SECOND


def candles(interval: KeptInterval, count: int, first: int = NOW) -> list[QuoteCandle]:
    """In a row, from the whole interval that `first` is in."""
    length = INTERVALS[interval]
    begin = first - first % length
    opened, high, low, close, bid, ask = map(Decimal, ("1.5", "2.25", "0.00000001", "2", "1", "3"))
    return [QuoteCandle(begin + number * length, opened, high, low, close, bid, ask, number) for number in range(count)]


@pytest.fixture
def files(tmp_path: Path) -> CandleFiles:
    return CandleFiles(tmp_path / "candles")


@pytest.mark.parametrize("interval", KEPT)
def test_what_was_written_is_read_to_the_last_digit(files: CandleFiles, interval: KeptInterval) -> None:
    # over the borders of hours, days and years
    made = candles(interval, 5_000)
    files.append(*PLACE, interval, made[:3_000])
    files.append(*PLACE, interval, made[3_000:])
    assert files.read(*PLACE, interval, 0, END) == made
    assert files.read(*PLACE, interval, made[10].start, made[4_000].start) == made[10:4_000]
    assert files.read(*PLACE, interval, 0, made[4_000].start, 7) == made[3_993:4_000]
    assert files.newest(*PLACE, interval) == made[-1]


def test_markets_and_intervals_are_apart(files: CandleFiles) -> None:
    files.append("kraken", "BTC/USD", "1s", candles("1s", 2))
    assert files.read("kraken", "BTC/EUR", "1s", 0, END) == []
    assert files.read("kraken", "BTC/USD", "1m", 0, END) == []
    assert files.newest("bitstamp", "BTC/USD", "1s") is None


def test_a_name_stays_below_the_folder(files: CandleFiles, tmp_path: Path) -> None:
    files.append("..", "../../etc", "1s", candles("1s", 1))
    assert [path.is_relative_to(tmp_path / "candles") for path in tmp_path.rglob("*.csv")] == [True]


def test_a_line_that_a_kill_cut_off_is_skipped_and_the_next_one_is_whole(files: CandleFiles, tmp_path: Path) -> None:
    made = candles("1s", 3)
    files.append(*PLACE, "1s", made[:2])
    (path,) = tmp_path.rglob("*.csv")
    path.write_bytes(path.read_bytes()[:-5])
    files.append(*PLACE, "1s", made[2:])
    assert files.read(*PLACE, "1s", 0, END) == [made[0], made[2]]
    # cut off within its first field, which is a small number then
    path.write_bytes(path.read_bytes() + b"17645\n")
    assert files.read(*PLACE, "1s", 1_000_000, END) == [made[0], made[2]]
    # cut off within the last one, which is a number still
    files.append(*PLACE, "1s", candles("1s", 124)[123:])
    path.write_bytes(path.read_bytes()[:-2])
    assert files.read(*PLACE, "1s", 0, END) == [made[0], made[2]]


@pytest.mark.parametrize("kept", [0, 1, 90, 150, 170, 1_000])
def test_a_write_that_a_full_disk_cut_off_anywhere_is_repeated_without_a_double(
    files: CandleFiles, tmp_path: Path, kept: int
) -> None:
    made = candles("1s", 20)
    files.append(*PLACE, "1s", made[:1])
    (path,) = tmp_path.rglob("*.csv")
    before = path.stat().st_size
    files.append(*PLACE, "1s", made[1:])
    path.write_bytes(path.read_bytes()[: before + kept])
    files.append(*PLACE, "1s", made[1:])
    assert files.read(*PLACE, "1s", 0, END) == made
    assert len(path.read_bytes().splitlines()) == len(made)


def test_a_batch_over_two_files_whose_second_cannot_be_written_is_repeated_without_a_double(
    files: CandleFiles, tmp_path: Path
) -> None:
    hour = NOW - NOW % HOUR
    made = candles("1s", 6, hour + HOUR - 3 * SECOND)
    files.append(*PLACE, "1s", candles("1s", 1, hour))
    (first,) = tmp_path.rglob("*.csv")
    second = first.with_name(datetime.fromtimestamp((hour + HOUR) // SECOND, UTC).strftime("%Y-%m-%dT%H.csv"))
    second.mkdir()
    for _ in range(3):
        with pytest.raises(IsADirectoryError):
            files.append(*PLACE, "1s", made)
    second.rmdir()
    files.append(*PLACE, "1s", made)
    assert files.read(*PLACE, "1s", 0, END) == [*candles("1s", 1, hour), *made]


def test_what_nobody_wrote_by_lines_stands_apart_from_the_next_line(files: CandleFiles, tmp_path: Path) -> None:
    made = candles("1s", 2)
    files.append(*PLACE, "1s", made[:1])
    (path,) = tmp_path.rglob("*.csv")
    path.write_bytes(path.read_bytes() + bytes(10_000))
    files.append(*PLACE, "1s", made[1:])
    assert files.read(*PLACE, "1s", 0, END) == made


@pytest.mark.parametrize("text", [b"", b"\n\n", b"a,b\n", b"1,2,3\n", b"1,x,2,3,4,5,6,7\n", b"\xff\xfe"])
def test_what_is_no_candle_is_read_over(files: CandleFiles, tmp_path: Path, text: bytes) -> None:
    made = candles("1s", 1)
    files.append(*PLACE, "1s", made)
    (path,) = tmp_path.rglob("*.csv")
    path.write_bytes(text + path.read_bytes() if text.endswith(b"\n") else path.read_bytes() + text)
    assert files.read(*PLACE, "1s", 0, END) == made
    files.append(*PLACE, "1s", made)
    assert files.read(*PLACE, "1s", 0, END) == made
    (path.parent / "notes.csv").write_text("not ours")
    assert files.read(*PLACE, "1s", 0, END) == made
    assert files.newest(*PLACE, "1s") == made[-1]


@pytest.mark.parametrize(
    ("interval", "age", "is_kept"),
    [
        ("1s", 11 * HOUR, True),
        ("1s", 14 * HOUR, False),
        ("1m", 29 * DAY, True),
        ("1m", 32 * DAY, False),
        ("1h", 4_000 * DAY, True),
    ],
)
def test_seconds_are_kept_for_hours_minutes_for_a_month_and_hours_for_ever(
    files: CandleFiles, interval: KeptInterval, age: int, is_kept: bool
) -> None:
    files.append(*PLACE, interval, candles(interval, 1, NOW - age))
    files.remove_old(NOW)
    assert (files.newest(*PLACE, interval) is not None) == is_kept
