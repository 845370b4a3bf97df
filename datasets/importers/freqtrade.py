"""freqtrade's downloads: bars and trades, each as JSON (gzip too) or feather.

Bars: `[milliseconds, open, high, low, close, volume]`, or the columns date, open, …; trades: `[milliseconds, id, type,
side, price, amount, cost]`, or columns of these names. Rows are counted, for these files have no lines.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from datasets.importers.ccxt_bars import BARS, chunk_of_bars, looks_like_bars
from datasets.mapped.mapped_bars import BAR_ASSUMPTION
from datasets.mapped.mapped_columns import chunk_of_columns
from datasets.mapped.mapped_feather import MAGIC, feather_rows
from datasets.mapped.mapped_json import json_rows
from datasets.mapped.mapped_prints import half_spread_of, side_columns
from datasets.mapped.mapped_times import Lines, epoch_times
from datasets.rows.csv_columns import whole_numbers
from datasets.rows.import_format import Chunk, FileOptions, Format, RejectedRow
from datasets.rows.symbol_names import named_market

TRADES = ("timestamp", "id", "type", "side", "price", "amount", "cost")
FEATHER_BARS = ("date", *BARS[1:])


def read_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """The close of each bar, at its end. Raises ImportRejectedError."""
    if _is_feather(path):
        cells, numbers = feather_rows(path, FEATHER_BARS)
        yield chunk_of_bars(path, options, cells, (numbers, whole_numbers(cells["date"])))
        return
    cells, numbers, rejected = json_rows(path, BARS)
    times = epoch_times(path, cells["timestamp"], numbers, "ms")
    yield chunk_of_bars(path, options, cells, (numbers, times), rejected)


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Each print's price with the assumed half-spread. Raises ImportRejectedError."""
    exchange, symbol = named_market(path, options)
    half_spread = half_spread_of(path, options)
    cells, numbers, rejected = _trades(path)
    times = epoch_times(path, cells["timestamp"], numbers, "ms")
    bids, asks = side_columns(cells["price"], half_spread)
    given = {
        "line": numbers,
        "exchange": exchange,
        "symbol": symbol,
        "received_time": times,
        "exchange_time": times,
        "bid": bids,
        "bid_amount": cells["amount"],
        "ask": asks,
        "ask_amount": cells["amount"],
    }
    yield chunk_of_columns(given, cells, rejected)


def _trades(path: Path) -> tuple[pa.Table, Lines, tuple[RejectedRow, ...]]:
    if _is_feather(path):
        return *feather_rows(path, TRADES), ()
    return json_rows(path, TRADES)


def _is_feather(path: Path) -> bool:
    return path.suffix in (".feather", ".parquet")


def _fits_bars(path: Path, head: bytes) -> bool:
    is_table = head.startswith(MAGIC) or _is_feather(path)
    return (is_table and b"open" in head) or looks_like_bars(path, head)


def _fits_trades(path: Path, head: bytes) -> bool:
    is_feather = (head.startswith(MAGIC) or _is_feather(path)) and b"cost" in head
    return is_feather or (head.lstrip().startswith(b"[[") and head.partition(b"]")[0].count(b",") == len(TRADES) - 1)


FREQTRADE_FORMATS = (
    Format(
        name="freqtrade-ohlcv",
        description="freqtrade bars: JSON rows [ms,open,high,low,close,volume] (gzip too), feather or Parquet",
        read=read_bars,
        fits=_fits_bars,
        needs=("exchange", "symbol", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
    Format(
        name="freqtrade-trades",
        description="freqtrade trades: JSON rows [ms,id,type,side,price,amount,cost] (or gzip), feather or Parquet",
        read=read_trades,
        fits=_fits_trades,
        needs=("exchange", "symbol", "half_spread_bps"),
        assumptions=("prints are known at the moment in which they happened",),
    ),
)
