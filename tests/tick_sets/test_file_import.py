import os
import signal
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from market.instruments.assets import Assumption
from tests.tick_sets.importers.read_files import cut, gzipped
from tests.tick_sets.sets.samples import LoggedRow, log_of
from tests.tick_sets.sets.test_tick_set_builder import killed
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.file_import import Imported, ImportRequest, import_files
from tick_sets.sets.manifest import REJECTED, Manifest, Partition
from tick_sets.sets.problems import problems_of
from tick_sets.sets.tick_set import batches, open_tick_set

START = 20_000 * 86_400_000_000
HEADER = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "ticks" / "hftbacktest"
CONTRACT = Assumption("BTC contract", "BTC", "perpetual = spot")
DOLLARS = Assumption("USDT", "USD", "USDT = USD")


def quote(time: int, exchange: str = "bitstamp", symbol: str = "btceur", bid: str = "1", ask: str = "2") -> str:
    return f"{exchange},{symbol},{START + time},{START + time},1,{ask},{bid},1\n"


LUNA_ENDS = 1_653_976_800_000_000
"""2022-05-31 06:00 UTC: Binance opens the new coin under the old one's code."""


def written(folder: Path, name: str, *rows: str) -> Path:
    path = folder / name
    path.write_text(HEADER + "".join(rows))
    return path


def imported(
    folder: Path,
    *files: Path,
    of: str = "tardis-quotes",
    options: FileOptions | None = None,
    words: MarketWords | None = None,
) -> Imported:
    request = ImportRequest(FORMATS[of], files, options or FileOptions(), words or MarketWords())
    return import_files(folder, request, lambda what, rows: None)


def rejection(folder: Path, *files: Path, of: str = "tardis-quotes", words: MarketWords | None = None) -> str:
    """Return the one sentence, and check that nothing is left behind and the old set stays."""
    before = sorted(folder.rglob("*"))
    with pytest.raises(ImportRejectedError) as rejected:
        imported(folder, *files, of=of, words=words)
    assert sorted(folder.rglob("*")) == before
    assert [path for path in folder.parent.iterdir() if path.is_dir() and path != folder] == []
    sentence = str(rejected.value)
    assert "\n" not in sentence
    return sentence


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ticks" / "made-up"


def test_files_become_a_set_in_the_order_of_time_rates_first(tmp_path: Path, folder: Path) -> None:
    one = written(tmp_path, "one.csv", quote(1), quote(3), quote(3))
    two = written(tmp_path, "two.csv", quote(3, "kraken", "XBT/USD"), quote(3, "kraken", "EUR/USD"))
    whole = imported(folder, one, two).manifest
    assert log_of(folder, "BTC") == [
        LoggedRow(0, "quote", "bitstamp", "BTC/EUR", 1, 1),
        LoggedRow(1, "fx", "kraken", "EUR/USD", 3, 2),
        LoggedRow(2, "quote", "bitstamp", "BTC/EUR", 3, 3),
        LoggedRow(3, "quote", "bitstamp", "BTC/EUR", 3, 4),
        LoggedRow(4, "quote", "kraken", "BTC/USD", 3, 5),
    ]
    assert [(market.exchange, market.symbol, market.is_fx) for market in whole.markets] == [
        ("bitstamp", "BTC/EUR", False),
        ("kraken", "BTC/USD", False),
        ("kraken", "EUR/USD", True),
    ]
    assert whole.markets[1].minimum_amount == Decimal("0.00005")
    assert (whole.quotes, whole.bases, whole.partitions) == (
        5,
        ("BTC",),
        (Partition("2024-10-04", "BTC", 5, 1, START + 1, START + 3),),
    )


def test_every_bad_row_is_kept_and_counted(tmp_path: Path, folder: Path) -> None:
    path = written(tmp_path, "one.csv", quote(1), quote(2, bid="2"), "bitstamp,btceur\n", quote(3, ask=""))
    added = imported(folder, path).added
    assert [source.rejected for source in added] == [{"crossed": 1, "empty": 1, "unreadable": 1}]
    kept = [orjson.loads(line) for line in (folder / REJECTED).read_bytes().splitlines()]
    assert [(row["source"], row["line"], row["reason"]) for row in kept] == [
        ("one.csv", 4, "unreadable"),
        ("one.csv", 3, "crossed"),
        ("one.csv", 5, "empty"),
    ]
    assert kept[1]["text"] == quote(2, bid="2").strip()
    assert open_tick_set(folder).manifest.rejected == {"crossed": 1, "empty": 1, "unreadable": 1}


MARKETS = {
    "a": ("bitstamp", "btceur"),
    "b": ("kraken", "XBT/USD"),
    "c": ("kraken", "EUR/USD"),
    "d": ("bitstamp", "etheur"),
}


@given(
    st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 1), st.integers(0, 4)), max_size=8),
    st.permutations("abcd"),
    st.integers(1, 3),
)
@settings(max_examples=5, deadline=None)
def test_however_files_are_named_and_added_the_set_is_the_same(
    moments: list[tuple[str, int, int]], order: list[str], first: int
) -> None:
    """All at once, in any order, or some today and some tomorrow."""
    assume(order[:first] != ["c"])
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        files = {}
        for name, market in MARKETS.items():
            times = sorted(day * 86_400_000_000 + step for key, day, step in [(name, 1, 1), *moments] if key == name)
            files[name] = written(home, f"{name}.csv", *(quote(time, *market) for time in times))
        at_once = home / "ticks" / "at-once"
        imported(at_once, *files.values())
        bit_by_bit = home / "ticks" / "bit-by-bit"
        imported(bit_by_bit, *(files[name] for name in order[:first]))
        imported(bit_by_bit, *(files[name] for name in order[first:]))
        for base in ("BTC", "ETH"):
            ours, theirs = (list(batches(open_tick_set(one), base)) for one in (at_once, bit_by_bit))
            assert [table.to_pylist() for table in ours] == [table.to_pylist() for table in theirs]


def test_a_sources_own_numbers_stay_when_a_set_grows(tmp_path: Path, folder: Path) -> None:
    one = tmp_path / "BTCUSDT-bookTicker-1.csv"
    one.write_text(f"70,1,1,2,1,{START},{START}\n75,1,1,2,1,{START + 5},{START}\n")
    words = MarketWords(alike=(CONTRACT, DOLLARS))
    imported(folder, one, of="binance-bookticker", options=FileOptions("binanceusdm"), words=words)
    imported(folder, written(tmp_path, "two.csv", quote(3)))
    assert [(row.exchange, row.sequence) for row in log_of(folder, "BTC")] == [
        ("binanceusdm", 70),
        ("bitstamp", 2),
        ("binanceusdm", 75),
    ]


def test_bars_withdraw_the_older_ones_of_all_markets_first(tmp_path: Path, folder: Path) -> None:
    """Otherwise a new close would be compared with the other market's close of a minute ago."""
    minute, bars = 60_000_000, {"BTCUSDT-1m-1.csv": ("binance", 0), "BTCUSDC-1m-1.csv": ("bybit", 1)}
    for name, (exchange, price) in bars.items():
        path = tmp_path / name
        begins = ((START + number * minute) // 1_000 for number in range(2))
        path.write_text("".join(f"{ms},1,9,1,{100 + price},5,{ms + 59_999},1,1,1,1,0\n" for ms in begins))
        options = FileOptions(exchange, "BTC/USDT", Decimal(1))
        reported = imported(folder, path, of="binance-klines", options=options).manifest.assumptions
    log = log_of(folder, "BTC")
    assert [(row.kind, row.exchange, row.time // minute) for row in log] == [
        (kind, exchange, time)
        for time in (1, 2)
        for kind in ("withdrawn", "quote")
        for exchange in ("binance", "bybit")
    ]
    assert "binance-klines has no bid and ask: they are assumed 1 bps below and above each price" in " ".join(reported)


def test_a_quote_is_withdrawn_where_a_later_row_cannot_be_true(tmp_path: Path, folder: Path) -> None:
    """As a feed does it: once, until there is a quote again, and in its place among the rows of one moment."""
    rows = [
        quote(0, bid="2"),
        quote(1),
        quote(1, ask=""),
        quote(2, bid="2"),
        quote(3),
        quote(3),
        quote(2),
        quote(4, ask="-1"),
        quote(4),
    ]
    imported(folder, written(tmp_path, "a.csv", *rows))
    words = [("quote", 1), ("withdrawn", 1), ("quote", 3), ("quote", 3), ("withdrawn", 4), ("quote", 4)]
    assert [(row.kind, row.time) for row in log_of(folder, "BTC")] == words
    # and it keeps its place when the set is built anew
    imported(folder, written(tmp_path, "b.csv", quote(9, "kraken", "XBT/USD")))
    assert [(row.kind, row.time) for row in log_of(folder, "BTC")] == [*words, ("quote", 9)]


def test_a_print_says_nothing_against_the_one_before(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "BTCUSDT-trades.csv"
    path.write_text(f"1,9,1,9,{START // 1000},True,True\n2,9,0,9,{START // 1000},True,True\n")
    imported(folder, path, of="binance-trades", options=FileOptions("binance", None, Decimal(1)))
    assert [row.kind for row in log_of(folder, "BTC")] == ["quote"]


BAD_FILES: dict[str, tuple[Callable[[Path], list[Path]], str]] = {
    "empty": (lambda folder: [written_text(folder, "a.csv", "")], "a.csv: is empty"),
    "header alone": (lambda folder: [written(folder, "a.csv")], "contains no rows"),
    "no usable row": (
        lambda folder: [written(folder, "a.csv", quote(1, bid="2"))],
        "contains no usable row (1 crossed)",
    ),
    "not there": (lambda folder: [folder / "none.csv"], "none.csv: cannot be read (No such file or directory)"),
    "a folder": (lambda folder: [folder], "cannot be read (Is a directory)"),
    "another format": (
        lambda folder: [written_text(folder, "a.csv", "timestamp;type;asks;bids\n")],
        "is no tardis-quotes; it looks like kaiko-l2",
    ),
    "missing column": (
        lambda folder: [written_text(folder, "a.csv", HEADER.replace("bid_price", "bid") + quote(1))],
        "a.csv, line 1: lacks the column bid_price; it has exchange, symbol",
    ),
    "not text": (lambda folder: [written_text(folder, "a.csv", HEADER + "\x00\udcff\n")], "is not plain CSV text"),
    "truncated": (
        lambda folder: [cut(gzipped(folder / "a.csv.gz", HEADER + "".join(map(quote, range(5_000)))))],
        "is not a valid gzip file",
    ),
    "named twice": (lambda folder: [written(folder, "a.csv", quote(1))] * 2, "is named twice"),
    "the same again": (
        lambda folder: [written(folder, "a.csv", quote(1)), written(folder, "b.csv", quote(1))],
        "b.csv: has the same content as",
    ),
    "not in order": (
        lambda folder: [written(folder, "a.csv", *(quote(9 - number) for number in range(9)))],
        "a.csv, line 3: times of bitstamp BTC/EUR go backwards from here, 8 times in all; sort the file by time first",
    ),
    "overlapping": (
        lambda folder: [written(folder, "a.csv", quote(1), quote(5)), written(folder, "b.csv", quote(3))],
        "b.csv and a.csv both cover bitstamp BTC/EUR at the same time",
    ),
    "two assets under one ticker": (
        lambda folder: [
            written(folder, "a.csv", quote(1, "binance", "NEIROUSDT")),
            written(folder, "b.csv", quote(1, "bybit-spot", "NEIROUSDT")),
        ],
        "bybit NEIRO/USDT and binance NEIRO/USDT are two assets under one ticker: NEIROETH and NEIROCTO",
    ),
    "a ticker that may be two": (
        lambda folder: [written(folder, "a.csv", quote(1, "gate-io", "LUNA_USDT"))],
        "LUNA is one ticker of several assets (LUNA, LUNC)",
    ),
    "a contract": (
        lambda folder: [written(folder, "a.csv", quote(1, "binance-futures", "BTCUSDT"))],
        "is a contract on BTC, which is not BTC itself; to compare both say --alike 'BTC contract=BTC'",
    ),
    "rates alone": (
        lambda folder: [written(folder, "a.csv", quote(1, "kraken", "EUR/USD"))],
        "these files contain FX rates only",
    ),
    "another unit": (
        lambda folder: [written_text(folder, "a.csv", HEADER + "bitstamp,btceur,1723161254,1723161254,1,2,1,1\n")],
        "contains no usable row (1 out_of_bounds)",
    ),
}


def written_text(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, errors="surrogateescape")
    return path


@pytest.mark.parametrize("case", BAD_FILES)
def test_a_bad_file_gets_one_sentence_and_leaves_nothing(tmp_path: Path, folder: Path, case: str) -> None:
    make, reported = BAD_FILES[case]
    folder.parent.mkdir()
    sources = tmp_path / "sources"
    sources.mkdir()
    assert reported in rejection(folder, *make(sources))


@pytest.mark.parametrize("case", ["empty", "truncated", "not in order"])
def test_a_bad_file_leaves_the_set_as_it_was(tmp_path: Path, folder: Path, case: str) -> None:
    imported(folder, written(tmp_path, "good.csv", quote(1, "kraken", "XBT/USD")))
    sources = tmp_path / "sources"
    sources.mkdir()
    rejection(folder, *BAD_FILES[case][0](sources))
    assert len(log_of(folder, "BTC")) == 1


def test_a_file_comes_into_a_set_once(tmp_path: Path, folder: Path) -> None:
    path = written(tmp_path, "a.csv", quote(1))
    imported(folder, path)
    assert "is in the set already, as a.csv" in rejection(folder, path)
    assert "at the same time" in rejection(folder, written(tmp_path, "b.csv", quote(0), quote(2)))


def test_a_set_may_lie_elsewhere_behind_a_link(tmp_path: Path, folder: Path) -> None:
    """On a larger disk: it stays there, however often it grows."""
    elsewhere = tmp_path / "large" / "set"
    elsewhere.mkdir(parents=True)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    for number, name in enumerate(("a.csv", "b.csv", "c.csv")):
        assert imported(folder, written(tmp_path, name, quote(number))).manifest.name == "made-up"
    assert folder.is_symlink()
    assert len(log_of(elsewhere, "BTC")) == 3
    assert [path.name for path in folder.parent.iterdir()] == ["made-up"]


def test_nothing_is_added_to_a_recorded_session(tmp_path: Path, folder: Path) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1)))
    path = folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b'"origin": "import"', b'"origin": "session"'))
    assert "is not an imported set" in rejection(folder, written(tmp_path, "b.csv", quote(2)))


def test_killed_in_the_middle_it_leaves_what_was_there(tmp_path: Path, folder: Path) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1)))
    request = ImportRequest(FORMATS["tardis-quotes"], (written(tmp_path, "b.csv", quote(2)),))

    def die(what: str, _: int) -> None:
        if what == "writing":
            os.kill(os.getpid(), signal.SIGKILL)

    def import_and_die() -> None:
        import_files(folder, request, die)

    killed(import_and_die)
    assert len(log_of(folder, "BTC")) == 1
    imported(folder, written(tmp_path, "c.csv", quote(3)))
    assert [row.time for row in log_of(folder, "BTC")] == [1, 3]
    assert [path.name for path in folder.parent.iterdir() if path.is_dir()] == ["made-up"]


def test_what_is_assumed_is_said(tmp_path: Path, folder: Path) -> None:
    rows = quote(1, "gate-io", "SOL_USDT"), quote(2, "gate-io", "BTC_USDT"), quote(3, "gate-io", "USDT_USD")
    whole = imported(folder, written(tmp_path, "a.csv", *rows), words=MarketWords("jp", False, (DOLLARS,))).manifest
    assert [(market.symbol, market.base, market.quote_currency, market.region) for market in whole.markets] == [
        ("BTC/USDT", "BTC", "USD", "jp"),
        ("SOL/USDT", "SOL", "USD", "jp"),
        ("USDT/USD", "USD", "USD", "jp"),
    ]
    assert "USDT = USD" in whole.assumptions
    assert "SOL on gate is taken for the asset that its ticker says" in whole.assumptions
    assert "size rules of gate SOL/USDT are not known: any amount in steps of 0.00000001" in whole.assumptions


@pytest.mark.skipif(not SHARED.is_dir(), reason=f"{SHARED} is absent")
def test_a_shared_recording_is_imported_whole(folder: Path) -> None:
    path = SHARED / "spot" / "btcusdt_20240808.gz"
    options = FileOptions("binance", "BTC/USDT")
    whole: Manifest = imported(folder, path, of="hftbacktest", options=options).manifest
    (source,) = whole.sources
    assert source.is_numbered
    assert whole.quotes == whole.rows == source.rows
    log = log_of(folder, "BTC")
    assert [row.offset for row in log] == list(range(source.rows))
    assert all(later.sequence > earlier.sequence for earlier, later in pairwise(log))


def dated(time: int, exchange: str, symbol: str, price: str) -> str:
    return f"{exchange},{symbol},{time},{time},1,{price}1,{price},1\n"


def compared(manifest: Manifest) -> dict[str, str]:
    """Return market → what it is compared as."""
    return {f"{one.exchange} {one.symbol}": one.base for one in manifest.markets}


def test_a_code_is_what_it_stood_for_at_the_time_of_each_row(tmp_path: Path, folder: Path) -> None:
    day = 86_400_000_000
    binance = [dated(LUNA_ENDS + place * day, "binance", "LUNAUSDT", "0.5") for place in (-30, -1, 0, 1)]
    classic = [dated(LUNA_ENDS + place * day, "binance", "LUNCUSDT", "0.5") for place in (0, 1)]
    kraken = [dated(LUNA_ENDS + place * day, "kraken", "LUNA/USD", "0.5") for place in (-30, 1)]
    ftx = [dated(LUNA_ENDS - 30 * day, "ftx-us", "LUNA/USD", "0.5")]
    files = [
        written(tmp_path, f"{name}.csv", *rows)
        for name, rows in {"binance": binance, "classic": classic, "kraken": kraken, "ftx": ftx}.items()
    ]
    manifest = imported(folder, *files, words=MarketWords(alike=(DOLLARS,))).manifest
    assert compared(manifest) == {
        "binance LUNA/USDT": "LUNA",
        "binance LUNC/USDT": "LUNC",
        "ftx-us LUNC/USD": "LUNC",
        "kraken LUNC/USD": "LUNC",
    }
    assert [(row.exchange, row.symbol) for row in log_of(folder, "LUNA")] == [("binance", "LUNA/USDT")] * 2
    assert len(log_of(folder, "LUNC")) == 2 + 2 + 2 + 1


def test_it_is_so_too_where_the_user_names_the_symbol(tmp_path: Path, folder: Path) -> None:
    rows = [f"{LUNA_ENDS + offset},80,81,1,1\n" for offset in (-9, -1, 0)]
    path = tmp_path / "luna.csv"
    path.write_text("at,b,a,bq,aq\n" + "".join(rows))
    mapping = tmp_path / "luna.toml"
    mapping.write_text(
        'time = { column = "at", unit = "us" }\n[quote]\nbid = "b"\nask = "a"\nbid_amount = "bq"\nask_amount = "aq"\n'
    )
    options = FileOptions("binance", "LUNA/USDT", mapping=mapping)
    manifest = imported(folder, path, of="csv", options=options).manifest
    assert compared(manifest) == {"binance LUNA/USDT": "LUNA", "binance LUNC/USDT": "LUNC"}
    assert {one.symbol: one.rows for one in manifest.sources} == {"LUNA/USDT": 1, "LUNC/USDT": 2}


def test_bitcoin_is_not_what_mexc_calls_xbt(tmp_path: Path, folder: Path) -> None:
    files = [
        written(tmp_path, "a.csv", dated(LUNA_ENDS, "kraken", "XBT/USD", "9")),
        written(tmp_path, "b.csv", dated(LUNA_ENDS, "mexc", "XBTUSDT", "9")),
    ]
    manifest = imported(folder, *files).manifest
    assert compared(manifest) == {"kraken BTC/USD": "BTC", "mexc XBT/USDT": "XBT (MEXC)"}


def prices_of(folder: Path, base: str) -> list[tuple[str | None, ...]]:
    rows = [row for table in batches(open_tick_set(folder), base) for row in table.to_pylist()]
    return [(row["symbol"], row["bid"], row["bid_amount"], row["ask"], row["ask_amount"]) for row in rows]


UNITS = {
    "a contract of 1000, listed": ("binance-futures", "1000SHIBUSDT", "SHIB contract=SHIB"),
    "the same, the other way round": ("bybit", "SHIB1000USDT", "SHIB contract=SHIB"),
    "as the user says, not listed": ("okx", "1000SHIB-USDT", "1000SHIB=SHIB"),
}


@pytest.mark.parametrize(("exchange", "symbol", "alike"), UNITS.values(), ids=UNITS.keys())
def test_prices_of_a_thousand_coins_become_prices_of_one(
    tmp_path: Path, folder: Path, exchange: str, symbol: str, alike: str
) -> None:
    path = written(tmp_path, "a.csv", f"{exchange},{symbol},{START},{START},7,0.0251,0.025,3\n")
    asset, _, coin = alike.partition("=")
    words = MarketWords(alike=(DOLLARS, Assumption(asset, coin, alike)))
    options = FileOptions(symbol="SHIB1000/USDT:USDT") if exchange == "bybit" else None
    manifest = imported(folder, path, words=words, options=options).manifest
    (market,) = manifest.markets
    assert (market.base, market.coins_per_unit, market.tick_size) == ("SHIB", Decimal(1000), Decimal("1e-11"))
    assert prices_of(folder, "SHIB") == [(market.symbol, "0.000025", "3000", "0.0000251", "7000")]
    assert any("are of 1000 SHIB: they became those of one" in line for line in manifest.assumptions)


def test_a_unit_is_not_compared_with_one_coin_of_it_by_a_slip(tmp_path: Path, folder: Path) -> None:
    row = f"binance-futures,1000SHIBUSDT,{START},{START},7,0.0251,0.025,3\n"
    words = MarketWords(alike=(DOLLARS, Assumption("1000SHIB contract", "SHIB", "")))
    folder.mkdir(parents=True)
    why = rejection(folder, written(tmp_path, "a.csv", row), words=words)
    assert "is a contract on SHIB, which is not SHIB itself; to compare both say --alike 'SHIB contract=SHIB'" in why


def test_rows_that_are_there_in_units_stay_in_units(tmp_path: Path, folder: Path) -> None:
    """1000FOO is a coin of its own, until the user says otherwise: then its files are needed again."""
    one, two = (
        written(tmp_path, name, f"okx,1000FOO-USDT,{START + place},{START + place},7,0.0251,0.025,3\n")
        for place, name in enumerate(("a.csv", "b.csv"))
    )
    manifest = imported(folder, one, words=MarketWords(alike=(DOLLARS,))).manifest
    assert (manifest.bases, manifest.markets[0].coins_per_unit) == (("1000FOO",), Decimal(1))
    words = MarketWords(alike=(DOLLARS, Assumption("1000FOO", "FOO", "")))
    assert "its prices are of 1000 coins" in rejection(folder, two, words=words)


def test_a_future_with_a_day_of_delivery_is_an_asset_of_its_own(tmp_path: Path, folder: Path) -> None:
    path = written(tmp_path, "a.csv", quote(1, "binance-futures", "BTCUSDT_240927"))
    folder.mkdir(parents=True)
    why = rejection(folder, path, words=MarketWords(alike=(DOLLARS, CONTRACT)))
    assert why.endswith("to compare both say --alike 'BTC contract 240927=BTC'")
    said = MarketWords(alike=(DOLLARS, Assumption("BTC contract 240927", "BTC", "")))
    assert compared(imported(folder, path, words=said).manifest) == {"binanceusdm BTC/USDT:USDT-240927": "BTC"}


def test_a_coin_that_was_exchanged_for_another_is_named(tmp_path: Path, folder: Path) -> None:
    files = [
        written(tmp_path, "a.csv", quote(1, "binance", "MATICUSDT")),
        written(tmp_path, "b.csv", quote(1, "kraken", "POL/USD")),
    ]
    problems = problems_of(imported(folder, *files, words=MarketWords(alike=(DOLLARS,))).manifest)
    assert problems[0].endswith("MATIC was exchanged one for one for POL: to compare both say --alike MATIC=POL")
