from pathlib import Path

import pytest

from backtest.detect.spark_failures import spark_words
from backtest.run import check_unchanged
from backtest.simulate.trade_simulation import BacktestError
from tick_sets.importers.import_formats import FORMATS
from tick_sets.rows.import_format import FileOptions
from tick_sets.rows.imported_markets import MarketWords
from tick_sets.sets.file_import import ImportRequest, import_files
from tick_sets.sets.tick_set import open_tick_set

HEADER = "exchange,symbol,timestamp,local_timestamp,ask_amount,ask_price,bid_price,bid_amount\n"
TIME = 1_723_161_254_087_891


def add_file(folder: Path, name: str, exchange: str) -> None:
    path = folder.parent / name
    path.write_text(f"{HEADER}{exchange},BTC-USD,{TIME},{TIME},1,101,100,1\n")
    request = ImportRequest(FORMATS["tardis-quotes"], (path,), FileOptions(), MarketWords())
    import_files(folder, request, lambda _what, _rows: None)


def test_a_set_that_was_built_again_meanwhile_gives_no_result(tmp_path: Path) -> None:
    """Otherwise detection would have read one set, and trading the other."""
    folder = tmp_path / "mine"
    add_file(folder, "a.csv", "kraken")
    tick_set = open_tick_set(folder)
    check_unchanged(tick_set)
    add_file(folder, "b.csv", "coinbase")
    with pytest.raises(BacktestError, match="mine: was rebuilt while it was read"):
        check_unchanged(tick_set)
    check_unchanged(open_tick_set(folder))


WORKER = """An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "reading.py", line 50, in read_ticks
tick_sets.errors.ImportRejectedError: /x/ticks.parquet: cannot be read as a part of a tick set (EOF)
"""


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        (WORKER, "/x/ticks.parquet: cannot be read as a part of a tick set (EOF)"),
        ("Error while sending or receiving\nmore", "Error while sending or receiving"),
        ("", "no message"),
    ],
)
def test_what_spark_says_is_one_sentence(text: str, reported: str) -> None:
    assert spark_words(text) == reported
