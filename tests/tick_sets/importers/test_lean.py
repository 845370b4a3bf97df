import zipfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from market.instruments.markets import Market
from market.prices.quotes import Quote
from tests.pricefeeds.samples import FX_MARKET, MARKET, level
from tests.tick_sets.importers.read_files import of_version_99
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.lean import quote_bars
from tick_sets.rows.quote_rows import Rejections

BAR = "0,7424.9,7430,7420,7425.1,1.88483821,7424.91,7431,7421,7425.11,33.35399601000002"
MIDNIGHT = int(datetime(2018, 4, 4, tzinfo=UTC).timestamp()) * 1_000_000
MINUTE = 60_000_000


def written(folder: Path, *lines: str, name: str = "20180404_quote.zip", member: str = "quote.csv") -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, "".join(f"{line}\n" for line in lines))
    return path


def read(path: Path, market: Market = MARKET, utc_offset_hours: int = 0) -> tuple[list[Quote], Rejections]:
    rejections: Rejections = Counter()
    return list(quote_bars(path, market, utc_offset_hours, rejections)), rejections


def test_the_close_is_known_at_the_end_of_its_minute(tmp_path: Path) -> None:
    quotes, rejections = read(written(tmp_path, BAR, BAR.replace("0,", "120000,", 1)))
    first, second = quotes
    assert (first.received_time, second.received_time) == (MIDNIGHT + MINUTE, MIDNIGHT + 3 * MINUTE)
    assert first.bids == (level("7425.1", "1.88483821"),)
    assert first.asks == (level("7425.11", "33.35399601000002"),)
    assert (first.exchange_time, first.sequence, rejections) == (None, 0, {})


def test_fx_times_are_five_hours_behind_and_amounts_untold(tmp_path: Path) -> None:
    path = written(tmp_path, "0,1.2277,1.2277,1.2276,1.22762,0,1.22793,1.22794,1.22784,1.22786,0")
    quotes, rejections = read(path, FX_MARKET, utc_offset_hours=-5)
    assert quotes[0].received_time == MIDNIGHT + 5 * 60 * MINUTE + MINUTE
    assert (quotes[0].kind, quotes[0].bids, rejections) == ("fx", (level("1.22762", "0"),), {})


def test_a_zip_of_a_later_version_is_rejected_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match="is a zip file that cannot be unpacked"):
        read(of_version_99(written(tmp_path, BAR)))


BAD_ROWS: dict[str, tuple[str, dict[str, int]]] = {
    "one side lacking": ("0,,,,,,7424.91,7431,7421,7425.11,33", {"unreadable": 1}),
    "time of no day": (BAR.replace("0,", "86400000,", 1), {"unreadable": 1}),
    "negative time": (BAR.replace("0,", "-1,", 1), {"unreadable": 1}),
    "header": ("time,o,h,l,c,size,o,h,l,c,size", {"unreadable": 1}),
    "crossed": (BAR.replace("7425.11", "7425.1"), {"crossed": 1}),
    "no amount": (BAR.replace("1.88483821", "0"), {"out_of_bounds": 1}),
}


@pytest.mark.parametrize(("line", "counted"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_counted_by_reason(tmp_path: Path, line: str, counted: dict[str, int]) -> None:
    quotes, rejections = read(written(tmp_path, line, BAR.replace("0,", "60000,", 1)))
    assert (len(quotes), rejections) == (1, counted)


def test_rows_that_go_back_in_time_are_counted(tmp_path: Path) -> None:
    quotes, rejections = read(written(tmp_path, BAR.replace("0,", "60000,", 1), BAR))
    assert (len(quotes), rejections) == (1, {"backwards": 1})


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([BAR, "1,2,3"], "line 2: has 3 columns, not 11"),
        ([BAR + ",9"], "line 1: has 12 columns, not 11"),
        ([BAR, ""], "line 2: has 0 columns, not 11"),
        ([BAR, "é" * 5], "is not plain CSV text"),
        ([], "contains no rows"),
    ],
)
def test_a_corrupt_file_is_rejected_in_one_sentence(tmp_path: Path, lines: list[str], sentence: str) -> None:
    path = written(tmp_path, *lines)
    with pytest.raises(ImportRejectedError) as rejected:
        read(path)
    assert str(rejected.value).startswith(str(path))
    assert sentence in str(rejected.value)


def test_the_name_must_begin_with_the_day(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match=r"its name does not begin with its day \(YYYYMMDD\)"):
        read(written(tmp_path, BAR, name="btcusd_quote.zip"))


def test_a_zip_of_something_else_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match=r"must hold one CSV file, not readme.txt"):
        read(written(tmp_path, BAR, member="readme.txt"))


def test_what_is_no_zip_or_is_truncated_is_rejected(tmp_path: Path) -> None:
    path = written(tmp_path, BAR)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ImportRejectedError, match=r"20180404_quote.zip: is not a valid zip file"):
        read(path)


def test_a_damaged_row_fails_the_checksum(tmp_path: Path) -> None:
    path = written(tmp_path, BAR)
    path.write_bytes(path.read_bytes().replace(b"7424.9,", b"7424.8,", 1))
    with pytest.raises(ImportRejectedError, match="is not a valid zip file"):
        read(path)


def test_an_absent_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ImportRejectedError, match=r"20180404_quote.zip: cannot be read \(No such file or directory\)"):
        read(tmp_path / "20180404_quote.zip")
