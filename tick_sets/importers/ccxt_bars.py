"""Results of ccxt's `fetch_ohlcv`, saved as JSON: rows `[milliseconds, open, high, low, close, volume]`."""

from collections.abc import Iterator
from pathlib import Path

from tick_sets.mapped.bars import BAR_ASSUMPTION, chunks_of_bars, named_bar_length
from tick_sets.mapped.json_files import json_rows
from tick_sets.mapped.times import Cells, epoch_times
from tick_sets.rows.csv_columns import FilePart
from tick_sets.rows.import_format import Chunk, FileOptions, Format

BARS = ("timestamp", "open", "high", "low", "close", "volume")


def read_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the close of each bar, at its end. Raises ImportRejectedError."""
    return chunks_of_bars(path, options, json_bars(path), named_bar_length(path))


def json_bars(path: Path) -> Iterator[tuple[FilePart, Cells]]:
    """Return the bars of the file, and when each begins, in microseconds. Raises ImportRejectedError."""
    for part in json_rows(path, BARS):
        yield part, epoch_times(path, part.cells["timestamp"], part.lines, "ms")


def looks_like_bars(_: Path, head: bytes) -> bool:
    return head.lstrip().startswith(b"[[") and head.partition(b"]")[0].count(b",") == len(BARS) - 1


CCXT_OHLCV = Format(
    name="ccxt-ohlcv",
    description="ccxt OHLCV saved as JSON: rows [ms,open,high,low,close,volume]",
    read=read_bars,
    fits=looks_like_bars,
    needs=("exchange", "symbol", "half_spread_bps"),
    is_of_bars=True,
    assumptions=(BAR_ASSUMPTION,),
)
