import subprocess
from decimal import Decimal
from pathlib import Path

import pytest

from tests.tick_sets.importers.read_files import ReadFile, cut, gzipped, read_as, rejection
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions

TIME = 1_723_161_254_087_891
COMMON = "exchange,symbol,timestamp,local_timestamp"
QUOTES = f"{COMMON},ask_amount,ask_price,bid_price,bid_amount\n"
TRADES = f"{COMMON},id,side,price,amount\n"
SNAPSHOTS = f"{COMMON},asks[0].price,asks[0].amount,bids[0].price,bids[0].amount,asks[1].price,asks[1].amount,"
SNAPSHOTS += "bids[1].price,bids[1].amount\n"
UPDATES = f"{COMMON},is_snapshot,side,price,amount\n"
TRADED = FileOptions(half_spread_bps=Decimal(10))


def written(folder: Path, text: str) -> Path:
    return gzipped(folder / "binance_quotes_2024-08-09_BTCUSDT.csv.gz", text)


def row(number: int, cells: str, market: str = "binance,BTCUSDT") -> str:
    return f"{market},{TIME + number},{TIME + number + 9},{cells}\n"


def tops(found: ReadFile) -> list[tuple[int, str, str]]:
    return [(one["received_time"] - TIME, one["bid"], one["ask"]) for one in found.usable]


def test_quotes_name_their_markets_and_put_the_ask_first(tmp_path: Path) -> None:
    text = QUOTES + row(0, "1.5,61837.64,61837.60,2") + row(1, "1e-7,100.5,100,3", "binance-futures,BTCUSDT")
    path = written(tmp_path, text + row(2, "1,1.2,1.1,1", "coinbase,ETH-USD") + row(3, "1,1.2,1.1,1", "kraken,XBT/EUR"))
    # a file with several exchanges tells no unlike rules for names
    assert "holds rows of binance, binanceusdm, coinbaseexchange" in rejection("tardis-quotes", path, FileOptions())
    path = written(tmp_path, QUOTES + row(0, "1.5,61837.64,61837.60,2"))
    found = read_as("tardis-quotes", path, FileOptions())
    assert found.usable == [
        {
            "line": 2,
            "exchange": "binance",
            "symbol": "BTC/USDT",
            "received_time": TIME + 9,
            "exchange_time": TIME,
            "sequence": None,
            "bid": "61837.60",
            "bid_amount": "2",
            "ask": "61837.64",
            "ask_amount": "1.5",
            "bids": None,
            "asks": None,
            "fault": None,
            "bid_price": 61837.6,
            "ask_price": 61837.64,
        }
    ]


@pytest.mark.parametrize("name", ["two of them.csv.gz", "two.csv"])
def test_the_line_that_cuts_a_file_by_exchange_works(tmp_path: Path, name: str) -> None:
    rows = [row(number, "1,1.2,1.1,1", market) for number, market in enumerate(("coinbase,ETH-USD", "kraken,XBT/EUR"))]
    path, text = tmp_path / name, QUOTES + "".join(rows)
    if path.suffix == ".gz":
        gzipped(path, text)
    else:
        path.write_text(text)
    line = rejection("tardis-quotes", path, FileOptions()).partition("each cut as here: ")[2]
    subprocess.run(line, shell=True, check=True)
    (whole,) = read_as("tardis-quotes", path.with_name(f"coinbase-{name}"), FileOptions()).usable
    assert (whole["exchange"], whole["symbol"]) == ("coinbaseexchange", "ETH/USD")


def test_the_list_of_formats_says_that_a_file_is_of_one_exchange() -> None:
    tardis = [one.description for name, one in FORMATS.items() if name.startswith("tardis-")]
    assert len(tardis) == 4
    assert all("one exchange a file" in description for description in tardis)


def test_names_are_those_used_here(tmp_path: Path) -> None:
    for market, ours in {
        "binance-futures,BTCUSDT": ("binanceusdm", "BTC/USDT:USDT"),
        "binance-delivery,BTCUSD_PERP": ("binancecoinm", "BTC/USD:BTC"),
        "coinbase,ETH-USD": ("coinbaseexchange", "ETH/USD"),
        "kraken,XBT/EUR": ("kraken", "BTC/EUR"),
        "bitflyer,BTC_JPY": ("bitflyer", "BTC/JPY"),
        "bitstamp,btcusd": ("bitstamp", "BTC/USD"),
    }.items():
        found = read_as("tardis-quotes", written(tmp_path, QUOTES + row(0, "1,2,1,1", market)), FileOptions())
        assert (found.usable[0]["exchange"], found.usable[0]["symbol"]) == ours
    reported = FileOptions(exchange="okx", symbol="BTC/USDT")
    found = read_as("tardis-quotes", written(tmp_path, QUOTES + row(0, "1,2,1,1", "okex,XYZ")), reported)
    assert (found.usable[0]["exchange"], found.usable[0]["symbol"]) == ("okx", "BTC/USDT")
    text = QUOTES + row(0, "1,2,1,1", "okex,XYZ")
    assert "XYZ of okx ends in no currency" in rejection("tardis-quotes", written(tmp_path, text), FileOptions())
    text += row(1, "1,2,1,1", "okex,ABC")
    assert "holds XYZ, ABC" in rejection("tardis-quotes", written(tmp_path, text), reported)


def test_contracts_are_reckoned_in_base_or_rejected(tmp_path: Path) -> None:
    coin_m = "binance-delivery,BTCUSD_PERP"
    found = read_as("tardis-quotes", written(tmp_path, QUOTES + row(0, "1,50000,40000,2", coin_m)), FileOptions())
    assert [(one["bid_amount"], one["ask_amount"]) for one in found.usable] == [("0.005", "0.002")]
    path = written(tmp_path, SNAPSHOTS + row(0, "50000,1,40000,4,60000,1,25000,6", coin_m))
    assert [(one["bids"], one["asks"]) for one in read_as("tardis-snapshots", path, FileOptions()).usable] == [
        ('[["40000","0.01"],["25000","0.024"]]', '[["50000","0.002"],["60000","0.00166666"]]')
    ]
    path = written(tmp_path, QUOTES + row(0, "1,2,1,1", "bitmex,XBTUSD"))
    assert "is of contracts on bitmex; say which" in rejection("tardis-quotes", path, FileOptions())
    # a symbol without its settlement currency would be taken for spot
    assert "is of contracts on bitmex" in rejection("tardis-quotes", path, FileOptions(symbol="BTC/USD"))


def test_each_bad_row_has_its_reason(tmp_path: Path) -> None:
    text = QUOTES + row(0, "1,2,1,1") + row(1, "1,2,2,1") + row(2, "1,,1,1") + row(3, "0,2,1,1") + row(4, "1,x,1,1")
    text += row(5, "1,2,1,1,9") + "\n" + row(-5, "1,2,1,1") + "binance,BTCUSDT,?,7,1,2,1,1\n" + row(9, "1,2,-1,1")
    found = read_as("tardis-quotes", written(tmp_path, text), FileOptions())
    assert tops(found) == [(9, "1", "2")]
    reasons = {"crossed": 1, "empty": 1, "out_of_bounds": 2, "unreadable": 3, "backwards": 1}
    assert found.rejected == reasons


def test_trades_lie_between_assumed_sides(tmp_path: Path) -> None:
    path = written(tmp_path, TRADES + row(0, "77,buy,100,0.25") + row(1, "a-b-c,unknown,200.5,1"))
    found = read_as("tardis-trades", path, TRADED)
    assert tops(found) == [(9, "99.9", "100.1"), (10, "200.2995", "200.7005")]
    assert [one["ask_amount"] for one in found.usable] == ["0.25", "1"]


def test_snapshots_keep_their_levels(tmp_path: Path) -> None:
    path = written(tmp_path, SNAPSHOTS + row(0, "2,1,1,4,3,1,0.5,6") + row(1, "2,1,1,4,,,,"))
    found = read_as("tardis-snapshots", path, FileOptions())
    assert tops(found) == [(9, "1", "2"), (10, "1", "2")]
    assert [one["bids"] for one in found.usable] == ['[["1","4"],["0.5","6"]]', '[["1","4"]]']
    assert found.usable[0]["asks"] == '[["2","1"],["3","1"]]'


SNAPSHOT = row(10, "true,bid,100,1") + row(10, "true,bid,99,2") + row(10, "true,ask,101,3") + row(10, "true,ask,102,4")


def test_a_book_is_built_from_its_first_snapshot_on(tmp_path: Path) -> None:
    early = row(0, "false,bid,100,1")
    # one message: the best bid goes and a better ask comes, which is never seen half-done
    message = row(11, "false,bid,100,0") + row(11, "false,ask,100,5")
    deep = row(12, "false,bid,50,1")
    path = written(tmp_path, UPDATES + early + SNAPSHOT + message + deep)
    found = read_as("tardis-l2", path, FileOptions())
    assert found.rejected == {"before_snapshot": 1}
    assert tops(found) == [(19, "100", "101"), (20, "99", "100"), (21, "99", "100")]
    assert [one["asks"] for one in found.usable][-1] == '[["100","5"],["101","3"],["102","4"]]'


def test_a_snapshot_begins_again(tmp_path: Path) -> None:
    again = row(30, "true,bid,90,1") + row(30, "true,ask,91,3")
    path = written(tmp_path, UPDATES + SNAPSHOT + row(11, "false,bid,100.5,1") + again + row(31, "false,ask,90.5,1"))
    found = read_as("tardis-l2", path, FileOptions())
    assert tops(found) == [(19, "100", "101"), (20, "100.5", "101"), (39, "90", "91"), (40, "90", "90.5")]


def test_behind_a_message_that_cannot_be_read_the_book_waits_for_a_snapshot(tmp_path: Path) -> None:
    text = (
        UPDATES
        + SNAPSHOT
        + row(11, "false,bid,x,1")
        + row(12, "false,bid,100.5,1")
        + SNAPSHOT.replace(str(TIME + 10), str(TIME + 20)).replace(str(TIME + 19), str(TIME + 29))
    )
    found = read_as("tardis-l2", written(tmp_path, text), FileOptions())
    assert found.rejected == {"unreadable": 1, "before_snapshot": 1}
    assert tops(found) == [(19, "100", "101"), (29, "100", "101")]


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    for name, text in {
        "tardis-quotes": QUOTES.replace("bid_price", "bid"),
        "tardis-trades": TRADES.replace("price", "bid_price"),
        "tardis-snapshots": SNAPSHOTS.replace("bids[0].price", "bid_price"),
        "tardis-l2": UPDATES.replace("price", "bid_price"),
    }.items():
        sentence = rejection(
            name, written(tmp_path, text + row(0, "1,2,1,1,1,1,1,1"[: 2 * text.count(",") - 7])), TRADED
        )
        assert "line 1: lacks the column " in sentence


def test_a_truncated_file_is_rejected(tmp_path: Path) -> None:
    path = cut(written(tmp_path, QUOTES + "".join(row(number, f"1,2,1,{number * 7}") for number in range(3000))))
    assert "is not a valid gzip file" in rejection("tardis-quotes", path, FileOptions())


def test_each_kind_is_recognised_by_its_header(tmp_path: Path) -> None:
    for name, header in {
        "tardis-quotes": QUOTES,
        "tardis-trades": TRADES,
        "tardis-snapshots": SNAPSHOTS,
        "tardis-l2": UPDATES,
    }.items():
        assert [one.name for one in FORMATS.values() if one.fits(tmp_path / "a.csv", header.encode())] == [name]
