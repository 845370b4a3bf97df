"""Results of ccxt's `fetch_ohlcv`, saved as JSON: rows `[milliseconds, open, high, low, close, volume]`."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from datasets.mapped.mapped_bars import BAR_ASSUMPTION, BarEnds, named_bar_length
from datasets.mapped.mapped_columns import chunk_of_columns
from datasets.mapped.mapped_json import json_rows
from datasets.mapped.mapped_prints import half_spread_of, side_columns
from datasets.mapped.mapped_times import Cells, Lines, epoch_times
from datasets.rows.import_format import Chunk, FileOptions, Format, RejectedRow
from datasets.rows.symbol_names import named_market

BARS = ("timestamp", "open", "high", "low", "close", "volume")


def read_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """The close of each bar, at its end. Raises ImportRejectedError."""
    cells, numbers, rejected = json_rows(path, BARS)
    times = epoch_times(path, cells["timestamp"], numbers, "ms")
    yield chunk_of_bars(path, options, cells, (numbers, times), rejected)


def chunk_of_bars(
    path: Path,
    options: FileOptions,
    cells: pa.Table,
    places: tuple[Lines, Cells],
    rejected: tuple[RejectedRow, ...] = (),
) -> Chunk:
    """`cells` with `close` and `volume`; `places`: the number of each bar and when it begins, in microseconds."""
    exchange, symbol = named_market(path, options)
    bids, asks = side_columns(cells["close"], half_spread_of(path, options))
    lines, begins = places
    given = {
        "line": lines,
        "exchange": exchange,
        "symbol": symbol,
        "received_time": BarEnds(path, named_bar_length(path)).after(begins),
        "bid": bids,
        "bid_amount": cells["volume"],
        "ask": asks,
        "ask_amount": cells["volume"],
    }
    return chunk_of_columns(given, cells, rejected)


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
