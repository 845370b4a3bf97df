"""freqtrade's downloads: bars and trades, each as JSON (gzip too) or feather.

Bars: `[milliseconds, open, high, low, close, volume]`, or the columns date, open, …; trades: `[milliseconds, id, type,
side, price, amount, cost]`, or columns of these names. Rows are counted, for these files have no lines.
"""

from collections.abc import Iterator
from pathlib import Path

from tick_sets.importers.ccxt_bars import BARS, json_bars, looks_like_bars
from tick_sets.mapped.bars import BAR_ASSUMPTION, chunks_of_bars, named_bar_length
from tick_sets.mapped.columns import chunk_of_market
from tick_sets.mapped.feather import MAGIC, feather_rows
from tick_sets.mapped.json_files import json_rows
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.mapped.times import Cells, epoch_times
from tick_sets.rows.csv_columns import FilePart
from tick_sets.rows.import_format import Chunk, FileOptions, Format
from tick_sets.rows.number_cells import whole_numbers
from tick_sets.rows.symbol_names import named_market

TRADES = ("timestamp", "id", "type", "side", "price", "amount", "cost")
FEATHER_BARS = ("date", *BARS[1:])


def read_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the close of each bar, at its end. Raises ImportRejectedError."""
    bars = _feather_bars(path) if _is_feather(path) else json_bars(path)
    return chunks_of_bars(path, options, bars, named_bar_length(path))


def _feather_bars(path: Path) -> Iterator[tuple[FilePart, Cells]]:
    part = feather_rows(path, FEATHER_BARS)
    yield part, whole_numbers(part.cells["date"])


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return each print's price with the assumed half-spread. Raises ImportRejectedError."""
    market, half_spread = named_market(path, options), half_spread_of(path, options)
    for part in (feather_rows(path, TRADES),) if _is_feather(path) else json_rows(path, TRADES):
        times = epoch_times(path, part.cells["timestamp"], part.lines, "ms")
        prices = print_columns(part.cells["price"], part.cells["amount"], half_spread)
        yield chunk_of_market(part, market, {"received_time": times, "exchange_time": times} | prices)


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
