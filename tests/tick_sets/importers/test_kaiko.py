from decimal import Decimal
from pathlib import Path

from tests.tick_sets.importers.read_files import ReadFile, cut, gzipped, read_as, rejection
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions

TIME = 1_672_531_200_000
TOPS = "ts_exchange,ts_collection,exchange,class,symbol,type,price,size\n"
BOOKS = "timestamp;type;asks;bids\n"
SNAPSHOTS = "date,type,price,amount\n"
BARS = "timestamp,open,high,low,close,volume\n"
TOLD = FileOptions("kraken", "BTC/USD", Decimal(10))


def written(folder: Path, text: str) -> Path:
    return gzipped(folder / "kaiko.csv.gz", text)


def top(number: int, cells: str, market: str = "krkn,spot,btc-usd") -> str:
    """Return a row collected 5 ms after it happened, both in nanoseconds."""
    return f"{(TIME + number) * 1_000_000},{(TIME + number + 5) * 1_000_000},{market},{cells}\n"


def tops(found: ReadFile) -> list[tuple[int, str, str]]:
    return [(one["received_time"] // 1_000 - TIME, one["bid"], one["ask"]) for one in found.usable]


def test_a_quote_is_known_once_both_sides_are(tmp_path: Path) -> None:
    text = TOPS + top(0, "b,100,1") + top(1, "a,101,2") + top(2, "b,100.5,3")
    found = read_as("kaiko-tob", written(tmp_path, text), FileOptions())
    assert tops(found) == [(6, "100", "101"), (7, "100.5", "101")]
    assert found.rejected == {"empty": 1}
    first = found.usable[0]
    assert (first["exchange"], first["symbol"], first["exchange_time"]) == ("kraken", "BTC/USD", (TIME + 1) * 1_000)


def test_both_sides_of_one_moment_are_one_message(tmp_path: Path) -> None:
    """Otherwise the new bid would cross the old ask."""
    text = TOPS + top(0, "b,100,1") + top(0, "a,101,2") + top(1, "b,102,3") + top(1, "a,103,3")
    found = read_as("kaiko-tob", written(tmp_path, text), FileOptions())
    assert tops(found) == [(5, "100", "101"), (6, "102", "103")]
    assert found.rejected == {}


def test_several_symbols_stand_in_one_file(tmp_path: Path) -> None:
    both = top(0, "b,100,1") + top(0, "a,101,2")
    text = TOPS + both + both.replace("btc-usd", "eth-usd")
    found = read_as("kaiko-tob", written(tmp_path, text), FileOptions())
    assert [one["symbol"] for one in found.usable] == ["BTC/USD", "ETH/USD"]
    assert "holds several symbols" in rejection("kaiko-tob", written(tmp_path, text), FileOptions(symbol="BTC/USD"))


def test_a_book_waits_for_its_first_snapshot(tmp_path: Path) -> None:
    text = BOOKS + (
        f"{TIME};u;[[101,1]];[]\n"
        f"{TIME + 1};s;[[101.10,1],[102,1]];[[100,2],[99,1e1]]\n"
        f"{TIME + 2};u;[[101.10,0]];[[100.50,7]]\n"
    )
    found = read_as("kaiko-l2", written(tmp_path, text), TOLD)
    assert found.rejected == {"before_snapshot": 1}
    assert tops(found) == [(1, "100", "101.1"), (2, "100.5", "102")]
    assert found.usable[1]["bids"] == '[["100.5","7"],["100","2"],["99","10"]]'


def test_behind_a_row_that_cannot_be_read_the_book_waits_again(tmp_path: Path) -> None:
    snapshot = "s;[[101,1]];[[100,2]]\n"
    text = BOOKS + f"{TIME};{snapshot}{TIME + 1};u;[[101;[]\n{TIME + 2};u;[];[[99,1]]\n{TIME + 3};x;[];[]\n"
    found = read_as("kaiko-l2", written(tmp_path, f"{text}{TIME + 4};{snapshot}"), TOLD)
    assert found.rejected == {"unreadable": 2, "before_snapshot": 1}
    assert tops(found) == [(0, "100", "101"), (4, "100", "101")]


def test_rows_of_one_date_are_one_book(tmp_path: Path) -> None:
    text = SNAPSHOTS + (
        f"{TIME},b,99,1\n{TIME},b,100,2\n{TIME},a,101,1\n{TIME + 9},b,100,2\n{TIME + 9},a,101,?\n{TIME + 20},b,1,2\n"
    )
    found = read_as("kaiko-snapshots", written(tmp_path, text), TOLD)
    assert tops(found) == [(0, "100", "101")]
    assert found.usable[0]["bids"] == '[["100","2"],["99","1"]]'
    assert found.rejected == {"unreadable": 1, "empty": 1}


def test_a_bars_close_is_known_at_its_end(tmp_path: Path) -> None:
    bars = f"{TIME},1,2,1,100,5\n{TIME + 60_000},1,2,1,200,5\n"
    for text in (bars, BARS + bars):
        found = read_as("kaiko-ohlcv", written(tmp_path, text), TOLD)
        assert tops(found) == [(60_000, "99.9", "100.1"), (120_000, "199.8", "200.2")]


def test_mixed_epochs_are_rejected(tmp_path: Path) -> None:
    text = TOPS + top(0, "b,100,1") + top(1, "a,101,2").replace(f"{TIME + 6}000000", f"{TIME + 6}")
    assert "is in another unit than those before it" in rejection("kaiko-tob", written(tmp_path, text), FileOptions())
    text = BOOKS + f"{TIME // 1_000};s;[];[]\n"
    assert "is in no unit since 1970 that is known" in rejection("kaiko-l2", written(tmp_path, text), TOLD)


def test_bad_files_get_one_sentence(tmp_path: Path) -> None:
    path = written(tmp_path, TOPS.replace("price", "prize") + top(0, "b,100,1"))
    assert "lacks the column price" in rejection("kaiko-tob", path, FileOptions())
    path = cut(written(tmp_path, TOPS + "".join(top(number, f"b,{number},1") for number in range(3_000))))
    assert "is not a valid gzip file" in rejection("kaiko-tob", path, FileOptions())
    assert "--exchange" in rejection("kaiko-l2", written(tmp_path, BOOKS), FileOptions())


def test_each_kind_is_recognised_by_its_header(tmp_path: Path) -> None:
    bar = f"{TIME},1,2,1,100,5\n"
    for name, head in {
        "kaiko-tob": TOPS,
        "kaiko-l2": BOOKS,
        "kaiko-snapshots": SNAPSHOTS,
        "kaiko-ohlcv": BARS,
    }.items():
        assert [one.name for one in FORMATS.values() if one.fits(tmp_path / "a.csv", head.encode())] == [name]
    assert FORMATS["kaiko-ohlcv"].fits(tmp_path / "a.csv", bar.encode())


def test_a_contract_is_not_read_as_its_coin(tmp_path: Path) -> None:
    text = (
        TOPS + top(0, "b,100,1", "okex,perpetual-future,btc-usdt") + top(0, "a,101,2", "okex,perpetual-future,btc-usdt")
    )
    why = rejection("kaiko-tob", written(tmp_path, text), FileOptions())
    assert "btc-usdt of okex is a perpetual-future; say which, as in --symbol BTC/USDT:USDT" in why
    named = FileOptions(symbol="BTC/USDT:USDT")
    found = read_as("kaiko-tob", written(tmp_path, text), named)
    assert [(one["exchange"], one["symbol"]) for one in found.usable] == [("okx", "BTC/USDT:USDT")]
