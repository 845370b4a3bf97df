"""Files as people have them: with doubled columns, in UTF-16, as Parquet, about half a market, or no files at all."""

import os
import socket
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtest.replay_profiles import profile_for
from tests.tick_sets.importers.file_samples import START, WRITERS, Shown, imported_sample, sample_options
from tests.tick_sets.importers.read_files import ReadFile, read_as, rejection
from tests.tick_sets.importers.test_contract_amounts import ALIKE, rows_of
from tick_sets.errors import ImportRejectedError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.mapped.file import read_mapping
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.file_import import ImportRequest, import_files

HEADER = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount"
TIME = START * 1_000
ROW = f"kraken,XBT/USD,{TIME},{TIME},1,101,100,2"
MAPPING = """
exchange = "kraken"
symbol = "BTC/USD"
{more}
[time]
column = "at"
{time}
[quote]
bid = "b"
bid_amount = "bq"
ask = "a"
ask_amount = "aq"
"""
SHOWN = [Shown((("100", "3"), ("99", "5")), (("101", "3"), ("102", "5")))] * 2


def read_mapped(folder: Path, text: str, time: str = 'unit = "ms"', more: str = "") -> ReadFile:
    path, mapping = folder / "some.csv", folder / "mapping.toml"
    path.write_text(text)
    mapping.write_text(MAPPING.format(time=time, more=more))
    return read_as("csv", path, FileOptions(mapping=mapping))


def written(folder: Path, content: str | bytes, name: str = "a.csv") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_column_that_stands_twice_is_said_where_it_is_needed(tmp_path: Path) -> None:
    path = written(tmp_path, f"{HEADER},bid_price\n{ROW},7\n")
    assert "a.csv, line 1: has several columns bid_price" in rejection("tardis-quotes", path, FileOptions())
    # there may be any number of unneeded columns, named or not
    path = written(tmp_path, f"{HEADER},note,note,,\n{ROW},x,y,,\n{ROW.replace('100', '?')},x,y,,\n")
    found = read_as("tardis-quotes", path, FileOptions())
    assert (len(found.usable), found.rejected) == (1, {"unreadable": 1})


@pytest.mark.parametrize("coding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_text_with_its_mark_is_read_in_any_coding(tmp_path: Path, coding: str) -> None:
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(coding, b"")
    path = written(tmp_path, mark + f"{HEADER}\n{ROW}\n".encode(coding))
    assert FORMATS["tardis-quotes"].fits(path, head_of(path))
    assert [row["bid"] for row in read_as("tardis-quotes", path, FileOptions()).usable] == ["100"]
    path = written(tmp_path, mark + f"{TIME // 1_000_000},100,2\n".encode(coding))
    reported = FileOptions("kraken", "BTC/USD", Decimal(1))
    assert len(read_as("kraken-trades", path, reported).usable) == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (f"{HEADER}\n{ROW}\n".encode("utf-16-le"), "line 1: is not plain CSV text (it has NUL bytes; if it is UTF-16"),
        (f"{HEADER}\n".encode("utf-16") + b"\x00\xd8\x00\xd8" * 9, "is damaged as text"),
    ],
)
def test_text_that_cannot_be_read_is_said(tmp_path: Path, content: bytes, sentence: str) -> None:
    assert sentence in rejection("tardis-quotes", written(tmp_path, content), FileOptions())


@pytest.mark.parametrize("number", ["100 ", " 100", "+100", " +100\t", "1e2", "+1.0E2"])
def test_numbers_as_spreadsheets_write_them(tmp_path: Path, number: str) -> None:
    path = written(tmp_path, f"{HEADER}\n kraken, XBT/USD ,{TIME},+{TIME} , +1,101 ,{number},2 \n")
    (row,) = read_as("tardis-quotes", path, FileOptions()).usable
    assert Decimal(row["bid"]) == 100
    assert (row["ask"], row["ask_amount"], row["bid_amount"]) == ("101", "1", "2")
    assert (row["exchange"], row["symbol"], row["received_time"]) == ("kraken", "BTC/USD", TIME)
    assert not set(row["bid"]) & set(" +\t")


@pytest.mark.parametrize("number", ["+", "++1", "+-1", "1 0", "1_0", "0x1"])
def test_what_is_no_number_is_none(tmp_path: Path, number: str) -> None:
    path = written(tmp_path, f"{HEADER}\n{ROW}\nkraken,XBT/USD,{TIME},{TIME},1,101,{number},2\n")
    assert read_as("tardis-quotes", path, FileOptions()).rejected == {"unreadable": 1}


ZURICH = 'unit = "text"\nzone = "Europe/Zurich"'
LOCAL = {
    # clocks go from 02:00 to 03:00
    "before the gap": ("2024-03-31 01:59:59", ZURICH, 1_711_846_799),
    "in the gap": ("2024-03-31 02:30:00", ZURICH, "no_such_local_time"),
    "behind the gap": ("2024-03-31 03:00:00", ZURICH, 1_711_846_800),
    # and from 03:00 back to 02:00
    "before the fold": ("2024-10-27 01:59:59", ZURICH, 1_729_987_199),
    "in the fold": ("2024-10-27 02:30:00", ZURICH, "repeated_local_time"),
    "the first time": ("2024-10-27 02:30:00", ZURICH + '\nfold = "first"', 1_729_989_000),
    "the second time": ("2024-10-27 02:30:00", ZURICH + '\nfold = "second"', 1_729_992_600),
    "behind the fold": ("2024-10-27 03:00:00", ZURICH, 1_729_994_400),
    "said by the time itself": ("2024-10-27 02:30:00+01:00", ZURICH, 1_729_992_600),
    "where clocks stay": ("2024-10-27 02:30:00 ", 'unit = "text"\nzone = "Asia/Tokyo"', 1_729_963_800),
    "before all time": ("0001-01-01 00:00:00+05:00", ZURICH, "out_of_bounds"),
}


@pytest.mark.parametrize(("text", "time", "found"), LOCAL.values(), ids=LOCAL.keys())
def test_a_local_time_is_one_moment_or_none(tmp_path: Path, text: str, time: str, found: int | str) -> None:
    """Before, it was shifted by an hour without a word."""
    got = read_mapped(tmp_path, f"at,b,bq,a,aq\n{text},1,1,2,1\n2030-01-01 00:00:00,1,1,2,1\n", time)
    if isinstance(found, str):
        assert (got.rejected, len(got.usable)) == ({found: 1}, 1)
    else:
        assert (got.rejected, got.usable[0]["received_time"]) == ({}, found * 1_000_000)


ROWS = (
    "at,b,bq,a,aq,side,kind\n1672531200000,1,1,2,1,buy,1\n1672531200001,1,2,2,1, sell ,1\n1672531200002,1,3,2,1,buy,2\n"
)
WHERE = {
    'where = { side = "buy" }': ["1", "3"],
    'where = { side = "sell" }': ["2"],
    'where = { side = ["buy", "sell"], kind = 1 }': ["1", "2"],
    'where = { side = "buy", kind = "2" }': ["3"],
}


@pytest.mark.parametrize(("where", "amounts"), WHERE.items())
def test_a_mapping_says_which_rows_are_meant(tmp_path: Path, where: str, amounts: list[str]) -> None:
    found = read_mapped(tmp_path, ROWS, more=where)
    assert ([row["bid_amount"] for row in found.usable], found.rejected) == (amounts, {})
    request = ImportRequest(FORMATS["csv"], (tmp_path / "some.csv",), FileOptions(mapping=tmp_path / "mapping.toml"))
    (source,) = import_files(tmp_path / "set", request, lambda *_: None).added
    assert (source.rows, source.other_rows, source.rejected) == (len(amounts), 3 - len(amounts), {})


def test_a_mapping_that_means_no_row_or_no_column_is_rejected(tmp_path: Path) -> None:
    read_mapped(tmp_path, ROWS, more='where = { side = "BUY" }')
    request = ImportRequest(FORMATS["csv"], (tmp_path / "some.csv",), FileOptions(mapping=tmp_path / "mapping.toml"))
    with pytest.raises(ImportRejectedError, match="has no row that its mapping means; all 3 are passed over"):
        import_files(tmp_path / "set", request, lambda *_: None)
    with pytest.raises(ImportRejectedError, match="lacks the column mood"):
        read_mapped(tmp_path, ROWS, more='where = { mood = "good" }')
    with pytest.raises(ImportRejectedError, match=r"is not a valid mapping: where.side"):
        read_mapped(tmp_path, ROWS, more="where = { side = [] }")


def as_parquet(path: Path, **types: pa.DataType) -> Path:
    """Write the same columns to Parquet in place of the CSV file, with the types that pyarrow finds, or with these."""
    table = pacsv.read_csv(path)
    for name, kind in types.items():
        table = table.set_column(table.column_names.index(name), name, table[name].cast(kind))
    pq.write_table(table, path, row_group_size=1)
    return path


@pytest.mark.parametrize("of", ["tardis-quotes", "tardis-trades", "tardis-snapshots", "tardis-l2", "kaiko-tob", "csv"])
def test_a_format_with_names_is_read_as_parquet_too(tmp_path: Path, of: str) -> None:
    folders = [tmp_path / name for name in ("text", "table")]
    for folder in folders:
        folder.mkdir()
        path, reported = WRITERS[of](folder, "BTCUSD", SHOWN), sample_options(folder, of, "kraken", "BTC/USD")
        if folder.name == "table":
            as_parquet(path)
        import_files(folder / "set", ImportRequest(FORMATS[of], (path,), reported, MarketWords()), lambda *_: None)
    assert rows_of(folders[0] / "set") == rows_of(folders[1] / "set")


def test_types_of_parquet_become_text(tmp_path: Path) -> None:
    path = written(tmp_path, f"at,b,bq,a,aq\n{START},100.10,1,101,0.1\n{START + 1},100.1,1,101,0.0000001\n")
    as_parquet(path, at=pa.timestamp("ms", tz="UTC"), b=pa.decimal128(10, 2), a=pa.float32())
    mapping = written(tmp_path, MAPPING.format(time='unit = "us"', more=""), "mapping.toml")
    first, second = read_as("csv", path, FileOptions(mapping=mapping)).usable
    assert (first["received_time"], second["received_time"]) == (START * 1_000, START * 1_000 + 1_000)
    assert (first["bid"], first["ask"], first["ask_amount"]) == ("100.10", "101", "0.1")
    assert Decimal(second["ask_amount"]) == Decimal("0.0000001")


def test_freqtrade_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "BTC_USDT-5m.parquet"
    moments = pa.array([START, START + 300_000], pa.timestamp("ms", tz="UTC"))
    prices = {name: pa.array([100.5, 101.5]) for name in ("open", "high", "low", "close", "volume")}
    pq.write_table(pa.table({"date": moments, **prices}), path)
    found = read_as("freqtrade-ohlcv", path, FileOptions("binance", "BTC/USDT", Decimal(10)))
    assert [row["received_time"] for row in found.usable] == [(START + 300_000) * 1_000, (START + 600_000) * 1_000]


def bad_parquet(kind: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        if kind == "lists":
            table: dict[str, Any] = {name: ["1"] for name in HEADER.split(",")} | {"bid_price": [[1, 2]]}
            pq.write_table(pa.table(table), path)
        elif kind == "empty":
            pq.write_table(pa.table({name: pa.array([], pa.string()) for name in HEADER.split(",")}), path)
        else:
            path.write_text(f"{HEADER}\n{ROW}\n")
            as_parquet(path)
            path.write_bytes(path.read_bytes()[:-20])

    return make


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [("lists", "in its column bid_price"), ("empty", "contains no rows"), ("cut", "is not a valid Parquet file")],
)
def test_parquet_that_cannot_be_read_is_said(tmp_path: Path, kind: str, sentence: str) -> None:
    path = tmp_path / "a.parquet"
    bad_parquet(kind)(path)
    assert sentence in rejection("tardis-quotes", path, FileOptions())


def pipe(path: Path) -> None:
    os.mkfifo(path)


def loop(path: Path) -> None:
    path.symlink_to(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


SPECIAL: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe": (pipe, "is a pipe and no file"),
    "links in a circle": (loop, "cannot be read (Too many levels of symbolic links)"),
    "a socket": (listening, "is a socket and no file"),
    "a device": (device, "is a device and no file"),
    "a folder": (Path.mkdir, "cannot be read (Is a directory)"),
    "nothing": (lambda _: None, "cannot be read (No such file or directory)"),
}


@pytest.mark.parametrize(("make", "sentence"), SPECIAL.values(), ids=SPECIAL.keys())
def test_what_is_no_file_is_rejected_before_it_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], sentence: str
) -> None:
    """Before, a pipe was waited for without end, and a circle of links gave a trace."""
    monkeypatch.chdir(tmp_path)
    path = Path("odd")
    make(path)
    request = ImportRequest(FORMATS["tardis-quotes"], (path,))
    for read in (
        lambda: import_files(tmp_path / "set", request, lambda *_: None),
        lambda: read_mapping(path),
        lambda: read_as("tardis-quotes", path, FileOptions()),
    ):
        with pytest.raises(ImportRejectedError) as rejected:
            read()
        assert str(rejected.value).startswith("odd: ")
        assert sentence in str(rejected.value)


@pytest.mark.parametrize("kind", ["a pipe", "links in a circle", "a socket", "a device"])
def test_no_replay_waits_for_a_pipe(tmp_path: Path, kind: str) -> None:
    """Also if its name is that of a recording."""
    make, sentence = SPECIAL[kind]
    (tmp_path / "spot").mkdir()
    path = tmp_path / "spot" / "x.gz"
    make(path)
    with pytest.raises(ImportRejectedError) as rejected:
        profile_for((path,))
    assert sentence in str(rejected.value)


ODD_BYTES = [b"\0", b"\xff\xfe", b",", b'"', b"\n", b"+", b" ", b"[", b"e9"]
Mangles = list[tuple[str, float, bytes]]
MANGLES = st.lists(
    st.tuples(
        st.sampled_from(["cut", "flip", "insert", "double", "drop"]),
        st.floats(0, 1),
        st.binary(min_size=1, max_size=6)
        | st.sampled_from([b"\0", b"\xff\xfe", b",", b'"', b"\n", b"+", b" ", b"[", b"e9"]),
    ),
    min_size=1,
    max_size=4,
)


def mangled(content: bytes, how: Mangles) -> bytes:
    for kind, where, what in how:
        place = int(where * len(content))
        before, behind = content[:place], content[place:]
        content = {
            "cut": before,
            "flip": before + what + behind[len(what) :],
            "insert": before + what + behind,
            "double": before + behind[:40] + behind,
            "drop": before + behind[len(what) :],
        }[kind]
    return content


@pytest.mark.parametrize("of", FORMATS)
@settings(max_examples=12, deadline=None)
@given(how=MANGLES, table=st.booleans())
# a zip file by its end alone, and its list of members elsewhere than it says
@example(how=[("flip", 0.0, b"\0"), ("insert", 0.5, b"\0")], table=False)
def test_a_mangled_file_is_read_or_rejected_in_one_sentence(of: str, how: Mangles, table: bool) -> None:
    """In every format, as text and as Parquet: the rows that are kept are quotes, or else there is a sentence."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        path = WRITERS[of](folder, "BTCUSD", SHOWN)
        if table and of in ("tardis-quotes", "csv", "tardis-l2", "kaiko-snapshots"):
            as_parquet(path)
        path.write_bytes(mangled(path.read_bytes(), how))
        reported = sample_options(folder, of, "bybit", "BTC/USD:BTC")
        words = MarketWords(alike=ALIKE)
        try:
            import_files(folder / "set", ImportRequest(FORMATS[of], (path,), reported, words), lambda *_: None)
        except ImportRejectedError as error:
            sentence = str(error)
        else:
            sentence = ""
        assert "\n" not in sentence
        if sentence:
            return
        for row in rows_of(folder / "set"):
            assert 0 < Decimal(row["bid"]) < Decimal(row["ask"])
            assert min(Decimal(row["bid_amount"]), Decimal(row["ask_amount"])) > 0


def test_the_samples_come_in_unmangled(tmp_path: Path) -> None:
    """So the test above starts from valid files."""
    for of in FORMATS:
        folder = tmp_path / of
        folder.mkdir()
        assert imported_sample(folder, of, "kraken", "BTC/USD", SHOWN).added[0].rejected == {}
        assert replace(sample_options(folder, of, "kraken", "BTC/USD"), mapping=None).exchange == "kraken"
