from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tick_sets.importers.read_files import read_as
from tick_sets.errors import LONGEST_SENTENCE, ImportRejectedError
from tick_sets.rows.import_format import FileOptions, ReadRow, RejectedRow, chunks_with
from tick_sets.rows.quote_rows import whole_number

TIME = 1_723_161_254_087
TOLD = FileOptions("kraken", "BTC/USD")
UPDATES = "exchange,symbol,timestamp,local_timestamp,is_snapshot,side,price,amount\n"
STRANGE = {"superscript": "\u00b2" * 13, "endless": "9" * 5_000}


def row(number: int) -> ReadRow:
    return ReadRow(number, "kraken", "BTC/USD", TIME, "1", "1", "2", "1", "text")


@pytest.mark.parametrize("size", [1, 2, 3])
def test_rows_left_out_behind_the_last_one_are_kept_too(size: int) -> None:
    misfits: list[RejectedRow] = []

    def rows() -> Iterator[ReadRow]:
        yield from (row(1), row(2))
        misfits.append(RejectedRow(3, "unreadable", "x"))

    chunks = list(chunks_with(misfits, rows(), size))
    assert sum(len(chunk.rows) for chunk in chunks) == 2
    assert [one.line for chunk in chunks for one in chunk.rejected] == [3]


@pytest.mark.parametrize("time", STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_number_is_no_time(tmp_path: Path, time: str) -> None:
    path = tmp_path / "updates.csv"
    path.write_text(f"{UPDATES}kraken,BTC/USD,{time},{time},true,bid,100,1\n")
    assert read_as("tardis-l2", path, TOLD).rejected == {"unreadable": 1}
    path.write_text(f"ts_exchange,ts_collection,exchange,class,symbol,type,price,size\n{time[:13]},x,a,b,c-d,b,1,1\n")
    if not time.isascii():
        assert read_as("kaiko-tob", path, FileOptions()).rejected == {"unreadable": 1}


def test_a_number_that_no_column_holds_makes_its_row_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "raw"
    data = '{"s":"BTCUSD","u":%s,"b":"100","B":"1","a":"101","A":"1"}'
    lines = (f'{TIME}000000 {{"stream":"btcusd@bookTicker","data":{data % number}}}' for number in (1, "9" * 30))
    path.write_text("\n".join(lines))
    found = read_as("hftbacktest", path, TOLD)
    assert (len(found.usable), found.rejected) == (1, {"unreadable": 1})


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("12", 12),
        ("9" * 19, None),
        ("\u00b2", None),
        ("-1", None),
        ("", None),
        ("1.0", 1),
        ("1.5", None),
        ("1.725e12", 1_725_000_000_000),
        ("9" * 18, 10**18 - 1),
        ("1e300", None),
    ],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


def test_what_is_quoted_of_a_file_stays_on_one_line_and_steers_no_terminal() -> None:
    assert str(ImportRejectedError("a\nb \x1b[31m \u00e9")) == "a?b ?[31m \u00e9"
    assert len(str(ImportRejectedError("x" * 1_000_000))) == LONGEST_SENTENCE + 1
