import csv
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from tests.backtest.recorded import SHARED, recordings_or_skip
from tests.tick_sets.importers.read_files import cut, gzipped, read_as, rejection
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.sets.file_import import ImportRequest, import_files
from tick_sets.sets.tick_set import batches, open_tick_set

QUOTES_MAPPING = """
exchange = "kraken"
symbol = "BTC/USD"
sequence = "number"

[time]
column = "at"
unit = "ms"

[exchange_time]
column = "made"
unit = "us"

[quote]
bid = "b"
bid_amount = "bq"
ask = "a"
ask_amount = "aq"
"""
QUOTES = (
    "number,made,at,a,aq,b,bq\n"
    "7,1672531200000001,1672531200001,101,2,100.50,1\n"
    "8,1672531200000002,1672531200002,102,2,100,1\n"
)
LEVELS_MAPPING = """
exchange = { column = "venue" }
symbol = { column = "pair" }
delimiter = ";"

[time]
column = "at"
unit = "s"

[levels]
count = 3
first = 1
bid = "bid{level}"
bid_amount = "bidsize{level}"
ask = "ask{level}"
ask_amount = "asksize{level}"
"""
LEVELS = (
    "venue;pair;at;bid1;bidsize1;bid2;bidsize2;bid3;bidsize3;ask1;asksize1;ask2;asksize2;ask3;asksize3\n"
    "COINBASE;BTC-USD;1672531200.25;100.10;1;99;2;;;101;1.50;102;2;103;3\n"
    "COINBASE;BTC-USD;1672531200.5;100;1;100;2;98;3;101;1;102;0;103;3\n"
)
PRINTS_MAPPING = """
header = false

[time]
column = "1"
unit = "text"
format = "%d.%m.%Y %H:%M"
zone = "Asia/Tokyo"

[print]
price = "2"
constant_amount = "0.5"
"""
PRINTS = "12.08.2018 09:00,681008.0\n12.08.2018 09:01,681047.0\n"
BARS_MAPPING = """
bar_seconds = 300

[time]
column = "timestamp"
unit = "text"

[bar]
price = "close"
amount = "volume"
"""
BARS = "timestamp,open,close,volume\n2025-05-25 23:30:00,1,2,3\n2025-05-25T23:35:00+02:00,2,3,4\n"
TOLD = FileOptions("bitflyer", "BTC/JPY", Decimal(10))


def options(folder: Path, mapping: str, reported: FileOptions | None = None) -> FileOptions:
    path = folder / "columns.toml"
    path.write_text(mapping)
    return replace(reported or FileOptions(), mapping=path)


def written(folder: Path, text: str) -> Path:
    path = folder / "some.csv"
    path.write_text(text)
    return path


def test_quotes_are_found_by_the_names_of_their_columns(tmp_path: Path) -> None:
    found = read_as("csv", written(tmp_path, QUOTES), options(tmp_path, QUOTES_MAPPING))
    assert found.rejected == {}
    assert found.rows[0] == {
        "line": 2,
        "exchange": "kraken",
        "symbol": "BTC/USD",
        "received_time": 1_672_531_200_001_000,
        "exchange_time": 1_672_531_200_000_001,
        "sequence": 7,
        "bid": "100.50",
        "bid_amount": "1",
        "ask": "101",
        "ask_amount": "2",
        "bids": None,
        "asks": None,
        "fault": None,
    }
    assert [row["sequence"] for row in found.usable] == [7, 8]


def test_levels_stand_in_numbered_columns(tmp_path: Path) -> None:
    found = read_as("csv", written(tmp_path, LEVELS), options(tmp_path, LEVELS_MAPPING))
    first, second = found.usable
    assert (first["exchange"], first["symbol"]) == ("coinbaseexchange", "BTC/USD")
    assert first["received_time"] == 1_672_531_200_250_000
    assert (first["bid"], first["bids"]) == ("100.10", '[["100.1","1"],["99","2"]]')
    assert first["asks"] == '[["101","1.5"],["102","2"],["103","3"]]'
    # two levels at one price, and one without an amount: what follows is not trusted
    assert (second["bids"], second["asks"]) == ('[["100","1"]]', '[["101","1"]]')


def test_a_file_without_a_header_has_numbered_columns(tmp_path: Path) -> None:
    found = read_as("csv", written(tmp_path, PRINTS), options(tmp_path, PRINTS_MAPPING, TOLD))
    midnight = int(datetime(2018, 8, 12, tzinfo=UTC).timestamp()) * 1_000_000
    assert [(row["line"], row["received_time"]) for row in found.usable] == [(1, midnight), (2, midnight + 60_000_000)]
    assert (found.usable[0]["bid"], found.usable[0]["ask"]) == ("680326.992", "681689.008")
    assert found.usable[0]["ask_amount"] == "0.5"


def test_a_bar_is_known_at_its_end_and_a_zone_of_its_own_counts(tmp_path: Path) -> None:
    found = read_as("csv-bars", written(tmp_path, BARS), options(tmp_path, BARS_MAPPING, TOLD))
    start = int(datetime(2025, 5, 25, 23, 35, tzinfo=UTC).timestamp()) * 1_000_000
    assert [row["received_time"] for row in found.rows] == [start, start - 6_900_000_000]
    assert found.rejected == {"backwards": 1}


def test_rows_of_other_markets_than_the_named_one_are_counted(tmp_path: Path) -> None:
    text = LEVELS + LEVELS.split("\n")[1].replace("BTC-USD", "ETH-USD") + "\n"
    found = read_as("csv", written(tmp_path, text), options(tmp_path, LEVELS_MAPPING))
    assert {row["symbol"] for row in found.usable} == {"BTC/USD", "ETH/USD"}
    named = options(tmp_path, LEVELS_MAPPING, FileOptions("coinbaseexchange", "ETH/USD"))
    found = read_as("csv", written(tmp_path, text), named)
    assert [row["line"] for row in found.usable] == [4]
    assert found.rejected == {}


VENUES_MAPPING = """
exchange = { column = "venue" }
symbol = { column = "pair" }
time = { column = "at", unit = "ms" }

[quote]
bid = "b"
bid_amount = "bq"
ask = "a"
ask_amount = "aq"
"""
VENUES = (
    "venue,pair,at,b,bq,a,aq\n"
    "kraken,XBT/USD,1672531200001,100,1,101,1\n"
    "binance-futures,BTCUSD,1672531200002,100,1,101,1\n"
    "kraken,ETH/USD,1672531200003,10,1,11,1\n"
    "bitstamp,btcusd,1672531200004,102,1,103,1\n"
    "bitstamp,btcusd,1672531200005,104,1,103,1\n"
)


def test_one_file_brings_the_rows_of_several_exchanges(tmp_path: Path) -> None:
    found = read_as("csv", written(tmp_path, VENUES), options(tmp_path, VENUES_MAPPING))
    assert {(row["line"], row["exchange"], row["symbol"]) for row in found.usable} == {
        (2, "kraken", "BTC/USD"),
        (3, "binanceusdm", "BTC/USD:USD"),
        (4, "kraken", "ETH/USD"),
        (5, "bitstamp", "BTC/USD"),
    }
    assert found.rejected == {"crossed": 1}


def test_exchanges_of_one_file_come_into_a_set_one_after_the_other(tmp_path: Path) -> None:
    path, folder = written(tmp_path, VENUES), tmp_path / "set"

    def take(exchange: str | None, symbol: str | None = None) -> list[tuple[str | None, int, dict[str, int], int]]:
        reported = options(tmp_path, VENUES_MAPPING, FileOptions(exchange, symbol))
        added = import_files(folder, ImportRequest(FORMATS["csv"], (path,), reported), lambda *_: None).added
        return [(one.exchange, one.rows, one.rejected, one.other_rows) for one in added]

    assert take("kraken", "BTC/USD") == [("kraken", 1, {}, 4)]
    assert take("bitstamp", "BTC/USD") == [("bitstamp", 1, {"crossed": 1}, 3)]
    manifest = open_tick_set(folder).manifest
    assert [one.exchange for one in manifest.markets] == ["bitstamp", "kraken"]
    assert (manifest.quotes, manifest.rejected) == (2, {"crossed": 1})
    for exchange in ("kraken", None):
        with pytest.raises(ImportRejectedError, match=r"is in the set already, as some\.csv"):
            take(exchange, "BTC/USD")
    assert open_tick_set(folder).manifest == manifest


def test_a_file_of_one_market_comes_in_under_one_name_alone(tmp_path: Path) -> None:
    """Otherwise one mistyped word makes a market that trades at the very prices of another."""
    path = written(tmp_path, PRINTS)
    reported = options(tmp_path, PRINTS_MAPPING, TOLD)
    import_files(tmp_path / "set", ImportRequest(FORMATS["csv"], (path,), reported), lambda *_: None)
    mistyped = ImportRequest(FORMATS["csv"], (path,), replace(reported, exchange="bitflier"))
    with pytest.raises(ImportRejectedError, match="is in the set already"):
        import_files(tmp_path / "set", mistyped, lambda *_: None)


def test_rows_of_other_markets_say_nothing_against_the_named_one(tmp_path: Path) -> None:
    header, first, second, _ = LEVELS.split("\n")
    text = "\n".join([header, first, first.replace("BTC-USD", "ETH-USD"), second, ""])
    reported = options(tmp_path, LEVELS_MAPPING, FileOptions(symbol="BTC/USD"))
    request = ImportRequest(FORMATS["csv"], (written(tmp_path, text),), reported)
    import_files(tmp_path / "set", request, lambda *_: None)
    (rows,) = batches(open_tick_set(tmp_path / "set"), "BTC", ["kind"])
    assert rows["kind"].to_pylist() == ["quote", "quote"]


BAD_ROWS: dict[str, tuple[str, dict[str, int]]] = {
    "columns lacking": ("9,1672531200000003,1672531200003", {"unreadable": 1}),
    "no time": ("9,1672531200000003,,101,2,100,1", {"unreadable": 1}),
    "no bid": ("9,1672531200000003,1672531200003,101,2,,1", {"empty": 1}),
    "a word": ("9,1672531200000003,1672531200003,101,2,many,1", {"unreadable": 1}),
    "crossed": ("9,1672531200000003,1672531200003,101,2,102,1", {"crossed": 1}),
    "no amount": ("9,1672531200000003,1672531200003,101,0,100,1", {"out_of_bounds": 1}),
    "backwards": ("9,1672531200000003,1672531200000,101,2,100,1", {"backwards": 1}),
    "repeated": ("8,1672531200000003,1672531200003,101,2,100,1", {"repeated": 1}),
}


@pytest.mark.parametrize(("line", "counted"), BAD_ROWS.values(), ids=BAD_ROWS.keys())
def test_bad_rows_are_counted_by_reason(tmp_path: Path, line: str, counted: dict[str, int]) -> None:
    found = read_as("csv", written(tmp_path, f"{QUOTES}{line}\n"), options(tmp_path, QUOTES_MAPPING))
    assert (len(found.usable), found.rejected) == (2, counted)


REJECTED: dict[str, tuple[str, str, str]] = {
    "a missing column": (QUOTES_MAPPING, QUOTES.replace("aq", "x"), "lacks the column aq; it has number, made, at"),
    "another unit": (QUOTES_MAPPING, QUOTES.replace("1672531200001,", "1672531200,"), "line 2: its time 1672531200 is"),
    "mixed epochs": (
        QUOTES_MAPPING,
        QUOTES.replace("1672531200002,", "1672531200002000,"),
        "line 3: its time 16725312",
    ),
    "empty": (QUOTES_MAPPING, "", "is empty"),
    "a header alone": (QUOTES_MAPPING, QUOTES.split("\n", maxsplit=1)[0] + "\n", "contains no rows"),
    "nobody says the symbol": (QUOTES_MAPPING.replace('symbol = "BTC/USD"', ""), QUOTES, "--symbol, or in the mapping"),
    "names without a header": (PRINTS_MAPPING.replace('"2"', '"last"'), PRINTS, "so call its columns by number"),
    "too high a number": (PRINTS_MAPPING.replace('"2"', '"3"'), PRINTS, "has 2 columns, while its mapping names num"),
    "prints without a half-spread": (PRINTS_MAPPING, PRINTS, "--half-spread-bps"),
    "bars": (BARS_MAPPING, BARS, "holds bars by its mapping; import it as csv-bars"),
}


@pytest.mark.parametrize(("mapping", "text", "why"), REJECTED.values(), ids=REJECTED.keys())
def test_what_cannot_be_read_is_rejected(tmp_path: Path, mapping: str, text: str, why: str) -> None:
    reported = FileOptions("bitflyer", "BTC/JPY") if mapping == PRINTS_MAPPING else FileOptions()
    assert why in rejection("csv", written(tmp_path, text), options(tmp_path, mapping, reported))


def test_where_no_row_has_all_columns_all_are_counted(tmp_path: Path) -> None:
    text = LEVELS.split("\n", maxsplit=1)[0] + "\nCOINBASE;BTC-USD\n1;2;3\n"
    found = read_as("csv", written(tmp_path, text), options(tmp_path, LEVELS_MAPPING))
    assert (found.rows, found.rejected) == ([], {"unreadable": 2})


MAPPINGS: dict[str, tuple[str, str]] = {
    "no TOML": ("[time", "is not valid TOML"),
    "nothing": ("", "is not a valid mapping: time: is missing"),
    "no prices": ('[time]\ncolumn = "at"\nunit = "s"', "it: it needs one of [quote], [levels], [print] and [bar]"),
    "two kinds": (QUOTES_MAPPING + '[print]\nprice = "b"\namount = "bq"', "it: it needs one of [quote], [levels]"),
    "an unknown word": (QUOTES_MAPPING + "\nbit = 1", "is not a valid mapping: quote.bit: there is no such setting"),
    "an unknown unit": (
        QUOTES_MAPPING.replace('"ms"', '"min"'),
        "is not a valid mapping: time.unit: must be 's', 'ms'",
    ),
    "an unknown zone": (PRINTS_MAPPING.replace("Tokyo", "Edo"), "time.zone: Asia/Edo is not a known time zone"),
    "eleven levels": (LEVELS_MAPPING.replace("count = 3", "count = 11"), "levels.count: must be at most 10"),
    "levels without a number": (LEVELS_MAPPING.replace("bid{level}", "bid"), "levels: each name needs {level} where"),
    "no amount": (PRINTS_MAPPING.replace("constant_amount", "# "), "print: name amount, or constant_amount if"),
    "bars without a length": (BARS_MAPPING.replace("bar_seconds = 300", ""), "bar_seconds and [bar] belong together"),
}


@pytest.mark.parametrize(("mapping", "why"), MAPPINGS.values(), ids=MAPPINGS.keys())
def test_a_mapping_that_is_none_is_rejected(tmp_path: Path, mapping: str, why: str) -> None:
    sentence = rejection("csv", written(tmp_path, QUOTES), options(tmp_path, mapping))
    assert why in sentence
    assert "columns.toml" in sentence


def test_a_mapping_is_needed(tmp_path: Path) -> None:
    assert "--mapping columns.toml" in rejection("csv", written(tmp_path, QUOTES), FileOptions())
    absent = FileOptions(mapping=tmp_path / "absent.toml")
    assert "absent.toml: cannot be read (No such file" in rejection("csv", written(tmp_path, QUOTES), absent)
    quotes = rejection("csv-bars", written(tmp_path, QUOTES), options(tmp_path, QUOTES_MAPPING))
    assert "contains no bars by its mapping; import it as csv" in quotes
    with_half_spread = options(tmp_path, QUOTES_MAPPING, FileOptions(half_spread_bps=Decimal(1)))
    assert "omit --half-spread-bps" in rejection("csv", written(tmp_path, QUOTES), with_half_spread)


def test_a_truncated_gzip_is_rejected(tmp_path: Path) -> None:
    path = cut(gzipped(tmp_path / "some.csv.gz", QUOTES))
    assert "is not a valid gzip file" in rejection("csv", path, options(tmp_path, QUOTES_MAPPING))


LEAD_LAG = """
[time]
column = "date"
unit = "text"
zone = "Asia/Tokyo"

[print]
price = "last"
constant_amount = "0.01"
"""
SIDES = [("bid", "price"), ("bid", "volume"), ("ask", "price"), ("ask", "volume")]
MO_BOOK = """
exchange = "binanceus"
symbol = { column = "symbol" }

[time]
column = "timestamp"
unit = "text"

[quote]
bid = "bid_price"
bid_amount = "bid_volume"
ask = "ask_price"
ask_amount = "ask_volume"
"""


@pytest.mark.parametrize(
    ("name", "rows"), [("bitflyerJPY_2018-08-12_small.csv", 17_507), ("btcboxJPY_2018-08-12_small.csv", 10_516)]
)
def test_the_lead_lag_trades_are_read_whole(tmp_path: Path, name: str, rows: int) -> None:
    (path,) = recordings_or_skip([SHARED / "ticks" / "lead-lag" / name])
    found = read_as("csv", path, options(tmp_path, LEAD_LAG, TOLD))
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert (len(found.usable), len(lines), found.rejected) == (rows, rows, {})
    for row, reported in zip(found.usable, lines, strict=True):
        moment = datetime.strptime(reported["date"] + "+0900", "%Y-%m-%d %H:%M:%S%z")
        assert row["received_time"] == int(moment.timestamp()) * 1_000_000
        # half of the sum of both sides is the price itself
        assert (Decimal(row["bid"]) + Decimal(row["ask"])) / 2 == Decimal(reported["last"])


@pytest.mark.parametrize(
    ("name", "reported", "rows"),
    [
        ("binance_BTC_USDT_5m.csv", FileOptions("binance", "BTC/USDT", Decimal(1)), 25_920),
        ("upbit_BTC_KRW_5m.csv", FileOptions("upbit", "BTC/KRW", Decimal(1)), 5_200),
    ],
)
def test_the_five_minute_bars_are_read_whole(tmp_path: Path, name: str, reported: FileOptions, rows: int) -> None:
    (path,) = recordings_or_skip([SHARED / "minute" / "upbit_binance_5m" / name])
    found = read_as("csv-bars", path, options(tmp_path, BARS_MAPPING, reported))
    lines = list(csv.DictReader(path.read_text().splitlines()))
    assert (len(found.usable), len(lines), found.rejected) == (rows, rows, {})
    for row, line in zip(found.usable, lines, strict=True):
        end = datetime.fromisoformat(line["timestamp"]).replace(tzinfo=UTC) + timedelta(minutes=5)
        assert (row["received_time"], row["bid_amount"]) == (int(end.timestamp()) * 1_000_000, line["volume"])
        assert (Decimal(row["bid"]) + Decimal(row["ask"])) / 2 == Decimal(line["close"])


def test_the_quotes_of_many_symbols_are_read_whole(tmp_path: Path) -> None:
    (path,) = recordings_or_skip([SHARED / "minute" / "mobook" / "Binance_US_orderbook_saved.csv"])
    found = read_as("csv", path, options(tmp_path, MO_BOOK))
    lines = list(csv.DictReader(path.read_text().splitlines()))
    reported = {line["symbol"]: [Decimal(line[f"{side}_{what}"]) for side, what in SIDES] for line in lines}
    names = [side if what == "price" else f"{side}_amount" for side, what in SIDES]
    assert {row["symbol"]: [Decimal(row[name]) for name in names] for row in found.usable} == reported
    assert (len(reported), found.rejected) == (45, {})
    one = read_as("csv", path, options(tmp_path, MO_BOOK, FileOptions(symbol="BTC/USD")))
    assert (len(one.usable), one.rejected) == (1, {})


def test_a_mapped_file_may_look_like_another_format(tmp_path: Path) -> None:
    path = written(tmp_path, "1672531436,90.54,1.1\n")
    assert FORMATS["kraken-trades"].fits(path, path.read_bytes())
    mapping = 'header = false\n[time]\ncolumn = "1"\nunit = "s"\n[print]\nprice = "2"\namount = "3"\n'
    request = ImportRequest(FORMATS["csv"], (path,), options(tmp_path, mapping, TOLD))
    imported = import_files(tmp_path / "set", request, lambda *_: None)
    assert [(source.rows, source.rejected) for source in imported.added] == [(1, {})]
    assert (
        "csv has no bid and ask: they are assumed 10 bps below and above each price"
        in imported.manifest.assumptions[-1]
    )
