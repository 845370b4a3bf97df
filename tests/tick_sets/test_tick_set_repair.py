"""What a set takes for granted holds for all of its imports, and can be changed; what was imported can go again."""

import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from market.instruments.assets import Assumption
from tests.tick_sets.sets.samples import log_of
from tests.tick_sets.sets.test_tick_set_builder import killed
from tests.tick_sets.test_file_import import imported, quote, written
from tick_sets.errors import ImportRejectedError
from tick_sets.file_names import MANIFEST
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.assumptions import assumed_alike
from tick_sets.sets.manifest import REJECTED, Manifest, read_manifest
from tick_sets.sets.place import remove, set_lock
from tick_sets.sets.problems import problems_of
from tick_sets.sets.repair import SetChanges, repair_set
from tick_sets.sets.tick_set import batches, open_tick_set

DOLLARS = assumed_alike("USDT", "USD")
WRAPPED = assumed_alike("WBTC", "BTC")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "ticks" / "made-up"


def repaired(folder: Path, changes: SetChanges | None = None) -> Manifest:
    return repair_set(folder, changes or SetChanges(), lambda *_: None).manifest


def rejection(folder: Path, changes: SetChanges | None = None) -> str:
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    with pytest.raises(ImportRejectedError) as rejected:
        repaired(folder, changes)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    return str(rejected.value)


def compared(manifest: Manifest) -> dict[str, str]:
    return {f"{one.exchange} {one.symbol}": f"{one.base} {one.quote_currency}" for one in manifest.markets}


def words(*alike: Assumption) -> MarketWords:
    return MarketWords(alike=alike)


def tether_and_dollar(tmp_path: Path) -> tuple[Path, Path]:
    return (
        written(tmp_path, "tether.csv", quote(1, "binance", "BTCUSDT")),
        written(tmp_path, "dollar.csv", quote(2, "kraken", "XBT/USD")),
    )


@pytest.mark.parametrize("said_first", [True, False])
def test_what_counts_alike_holds_for_all_imports_whenever_it_is_said(
    tmp_path: Path, folder: Path, said_first: bool
) -> None:
    """Before, it was printed as assumed, while markets of the other import stayed as they were: no backtest could
    run."""
    tether, dollar = tether_and_dollar(tmp_path)
    later = written(tmp_path, "later.csv", quote(3, "okex", "BTC-USDT"))
    imported(folder, tether, words=words(DOLLARS) if said_first else None)
    imported(folder, dollar, words=None if said_first else words(DOLLARS))
    whole = imported(folder, later).manifest
    assert compared(whole) == {
        "binance BTC/USDT": "BTC USD",
        "kraken BTC/USD": "BTC USD",
        "okx BTC/USDT": "BTC USD",
    }
    assert (problems_of(whole), whole.assumptions.count(DOLLARS.said)) == ((), 1)


def test_rows_follow_what_their_market_is_compared_as(tmp_path: Path, folder: Path) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1, "kraken", "WBTC/USD"), quote(3, "kraken", "WBTC/USD")))
    whole = imported(folder, written(tmp_path, "b.csv", quote(2, "kraken", "XBT/USD")), words=words(WRAPPED)).manifest
    assert whole.bases == ("BTC",)
    assert [row.symbol for row in log_of(folder, "BTC")] == ["WBTC/USD", "BTC/USD", "WBTC/USD"]
    assert repaired(folder, SetChanges(unlike=("WBTC",))).bases == ("BTC", "WBTC")
    assert [row.symbol for row in log_of(folder, "WBTC")] == ["WBTC/USD"] * 2


def test_two_words_on_one_asset_contradict_each_other(tmp_path: Path, folder: Path) -> None:
    tether, dollar = tether_and_dollar(tmp_path)
    imported(folder, tether, words=words(DOLLARS))
    with pytest.raises(ImportRejectedError) as rejected:
        imported(folder, dollar, words=words(assumed_alike("USDT", "EUR")))
    assert "made-up: counts USDT as USD, not as EUR" in str(rejected.value)
    assert "`arbitrage sets repair made-up --alike 'USDT=EUR'`" in str(rejected.value)
    whole = repaired(folder, SetChanges(alike=(assumed_alike("USDT", "EUR"),)))
    assert (compared(whole), DOLLARS.said in whole.assumptions) == ({"binance BTC/USDT": "BTC EUR"}, False)


def test_a_set_of_an_older_version_is_understood_and_repaired(tmp_path: Path, folder: Path) -> None:
    """Its manifest has only the words, and one of its two markets was left as it was."""
    tether, dollar = tether_and_dollar(tmp_path)
    imported(folder, tether)
    imported(folder, dollar)
    path = folder / MANIFEST
    document = orjson.loads(path.read_bytes())
    del document["alike"]
    document["assumptions"] = [DOLLARS.said]
    for one in document["sources"]:
        del one["assumptions"]
    path.write_bytes(orjson.dumps(document))
    assert "nothing converts the USDT of binance BTC/USDT to USD" in problems_of(read_manifest(folder))[0]
    whole = repaired(folder, SetChanges(alike=(DOLLARS,)))
    assert (problems_of(whole), whole.assumptions) == ((), (DOLLARS.said,))
    assert len(log_of(folder, "BTC")) == 2


ROWS = {
    "a": ("bitstamp", "btceur", 0),
    "b": ("kraken", "XBT/USD", 0),
    "c": ("bitstamp", "btceur", 100),
    "d": ("kraken", "EUR/USD", 0),
    "e": ("bitstamp", "etheur", 0),
}


@given(
    st.dictionaries(st.sampled_from("abcde"), st.lists(st.integers(0, 40), min_size=1, max_size=5), min_size=2),
    st.data(),
)
@settings(max_examples=6, deadline=None)
def test_what_is_dropped_might_never_have_been_imported(moments: dict[str, list[int]], data: st.DataObject) -> None:
    """The set is that of the other files alone, whatever goes; rows that cannot be true stay with their file."""
    gone = data.draw(st.sampled_from([name for name in moments if set(moments) - {name, "d"}]))
    with TemporaryDirectory() as scratch:
        home, files = Path(scratch), {}
        for name, times in moments.items():
            exchange, symbol, start = ROWS[name]
            rows = [quote(start + time, exchange, symbol, bid="9" if time == 7 else "1") for time in sorted(times)]
            files[name] = written(home, f"{name}.csv", *rows, quote(start + 41, exchange, symbol))
        whole, without = home / "ticks" / "same", home / "other" / "same"
        imported(whole, *files.values())
        imported(without, *(path for name, path in files.items() if name != gone))
        left = repaired(whole, SetChanges(files=(f"{gone}.csv",)))
        assert left == read_manifest(without)
        for base in left.bases:
            ours, theirs = (list(batches(open_tick_set(one), base)) for one in (whole, without))
            assert [table.to_pylist() for table in ours] == [table.to_pylist() for table in theirs]
        kept = [(one / REJECTED).read_bytes() if (one / REJECTED).is_file() else b"" for one in (whole, without)]
        assert kept[0] == kept[1]


def test_a_market_goes_with_all_of_its_imports(tmp_path: Path, folder: Path) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1), quote(2, "bitstamp", "etheur")))
    imported(folder, written(tmp_path, "b.csv", quote(5)))
    whole = repaired(folder, SetChanges(markets=(("bitstamp", "BTC/EUR"),)))
    assert ([one.symbol for one in whole.markets], whole.quotes, whole.title) == (
        ["ETH/EUR"],
        1,
        "Imported: bitstamp ETH/EUR",
    )


IMPOSSIBLE = {
    "no such import": (SetChanges(files=("x.csv",)), "made-up: has no import x.csv; it has a.csv, b.csv"),
    "no such market": (SetChanges(markets=(("kraken", "BTC/USD"),)), "has no market kraken BTC/USD; it has bitstamp"),
    "all of it": (SetChanges(files=("a.csv", "b.csv")), "no traded market would be left"),
    "counted as itself": (SetChanges(unlike=("USDT",)), "does not count USDT as another asset; it counts nothing"),
    "at one time": (SetChanges(files=("a.csv",)), "b.csv both have a row of bitstamp BTC/EUR at one time"),
}


@pytest.mark.parametrize(("changes", "sentence"), IMPOSSIBLE.values(), ids=IMPOSSIBLE.keys())
def test_what_cannot_be_changed_is_one_sentence_and_changes_nothing(
    tmp_path: Path, folder: Path, changes: SetChanges, sentence: str
) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1), quote(5)), written(tmp_path, "b.csv", quote(5), quote(6)))
    assert sentence in rejection(folder, changes)


def test_of_two_files_of_one_name_the_checksum_decides(tmp_path: Path, folder: Path) -> None:
    for number in (1, 2):
        (tmp_path / str(number)).mkdir()
        imported(folder, written(tmp_path / str(number), "a.csv", quote(number)))
    assert "has 2 imports a.csv; say which: " in rejection(folder, SetChanges(files=("a.csv",)))
    checksum = read_manifest(folder).sources[0].sha256
    assert checksum is not None
    assert repaired(folder, SetChanges(files=(checksum[:8],))).sources[0].first_time % 10 == 2


def test_what_a_killed_import_left_is_put_right(tmp_path: Path, folder: Path) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1)))

    def set_aside_and_die() -> None:
        with set_lock(folder):
            folder.rename(folder.parent / f".{folder.name}.old")
            os.kill(os.getpid(), signal.SIGKILL)

    killed(set_aside_and_die)
    done = repair_set(folder, SetChanges(), lambda *_: None)
    assert done.done == ("a killed import had moved it: it was restored",)
    assert len(log_of(folder, "BTC")) == 1
    assert [path.name for path in folder.parent.iterdir()] == ["made-up"]
    (folder.parent / ".made-up.building" / "spool").mkdir(parents=True)
    assert "partial files of a killed import" in repair_set(folder, SetChanges(), lambda *_: None).done[0]
    assert repair_set(folder, SetChanges(), lambda *_: None).done == ()


def test_what_was_never_whole_is_said(tmp_path: Path, folder: Path) -> None:
    assert "is no tick set; `arbitrage sets list`" in rejection(folder)
    (folder.parent / ".made-up.building").mkdir(parents=True)
    assert "was never complete" in rejection(folder)
    assert list(folder.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("harm", "sentence"),
    [
        ("unlink", "lacks ticks/day=2024-10-04/base=BTC/ticks.parquet"),
        ("cut", "is damaged"),
        ("manifest", "no manifest"),
    ],
)
def test_a_damaged_set_is_said_where(tmp_path: Path, folder: Path, harm: str, sentence: str) -> None:
    imported(folder, written(tmp_path, "a.csv", quote(1)))
    path = folder / "ticks" / "day=2024-10-04" / "base=BTC" / "ticks.parquet"
    if harm == "unlink":
        path.unlink()
    elif harm == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    else:
        (folder / MANIFEST).unlink()
    assert sentence in rejection(folder)
    assert sentence in rejection(folder, SetChanges(alike=(DOLLARS,)))


def test_a_set_that_took_contracts_for_coins_can_lose_them(tmp_path: Path, folder: Path) -> None:
    alike = words(assumed_alike("BTC contract", "BTC"), DOLLARS)
    rows = [quote(2, "binance-delivery", "BTCUSD_PERP")]
    imported(folder, written(tmp_path, "a.csv", quote(1)))
    imported(folder, written(tmp_path, "b.csv", *rows), options=FileOptions(), words=alike)
    path = folder / MANIFEST
    document = orjson.loads(path.read_bytes())
    for market in document["markets"]:
        market["contract"] = None
    path.write_bytes(orjson.dumps(document))
    reported = "let it go with --drop-market 'binancecoinm BTC/USD:BTC'"
    assert reported in rejection(folder, SetChanges(unlike=("USDT",)))
    whole = repaired(folder, SetChanges(markets=(("binancecoinm", "BTC/USD:BTC"),)))
    assert [one.symbol for one in open_tick_set(folder).manifest.markets] == ["BTC/EUR"]
    assert not any("contract" in line for line in whole.assumptions if "counts as" not in line)


def test_a_set_behind_a_link_is_removed_with_it(tmp_path: Path, folder: Path) -> None:
    elsewhere = tmp_path / "large" / "set"
    elsewhere.mkdir(parents=True)
    folder.parent.mkdir()
    folder.symlink_to(elsewhere)
    imported(folder, written(tmp_path, "a.csv", quote(1)))
    remove(folder)
    assert list(folder.parent.iterdir()) == list(elsewhere.parent.iterdir()) == []
