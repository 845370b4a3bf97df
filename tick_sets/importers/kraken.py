"""Kraken's downloadable history: time and sales, and bars with the number of trades (OHLCVT). No header, seconds.

A line of time and sales has no side; bars in which nothing was traded are left out by Kraken.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from market.time_units import MICROSECONDS
from tick_sets.mapped.bars import BAR_ASSUMPTION, chunks_of_bars
from tick_sets.mapped.columns import chunk_of_market, headerless_parts
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.mapped.times import epoch_times
from tick_sets.rows.import_format import Chunk, FileOptions, Format
from tick_sets.rows.symbol_names import check_file_name, named_market

TRADES = ("unixtime", "price", "volume")
BARS = ("unixtime", "open", "high", "low", "close", "volume", "trades")

_NUMBER = rb"[0-9]+(\.[0-9]+)?"
_TRADE = re.compile(rb"[0-9]{9,10}(\.[0-9]+)?(," + _NUMBER + rb"){2}\r?$", re.MULTILINE)
_BAR = re.compile(rb"[0-9]{9,10}(," + _NUMBER + rb"){5},[0-9]+\r?$", re.MULTILINE)
_MINUTES_IN_NAME = re.compile(r"_(\d{1,5})\.")
"""As Kraken names its bars: XBTUSD_1440.csv."""


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return time and sales: each print's price with the assumed half-spread. Raises ImportRejectedError."""
    market, half_spread = named_market(path, options), half_spread_of(path, options)
    check_file_name(path, *market)
    for part in headerless_parts(path, TRADES):
        times = epoch_times(path, part.cells["unixtime"], part.lines, "s")
        prices = print_columns(part.cells["price"], part.cells["volume"], half_spread)
        yield chunk_of_market(part, market, {"received_time": times, "exchange_time": times} | prices)


def read_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return OHLCVT bars: the close of each, at its end. Raises ImportRejectedError."""
    check_file_name(path, *named_market(path, options))
    minutes = _MINUTES_IN_NAME.search(path.name)
    parts = (
        (part, epoch_times(path, part.cells["unixtime"], part.lines, "s")) for part in headerless_parts(path, BARS)
    )
    return chunks_of_bars(path, options, parts, int(minutes[1]) * 60 * MICROSECONDS if minutes else None)


KRAKEN_FORMATS = (
    Format(
        name="kraken-trades",
        description="Kraken time and sales CSV: unixtime,price,volume without header or side",
        read=read_trades,
        fits=lambda _, head: _TRADE.match(head) is not None,
        needs=("exchange", "symbol", "half_spread_bps"),
        assumptions=("prints are known in the second in which they happened",),
    ),
    Format(
        name="kraken-ohlcvt",
        description="Kraken OHLCVT CSV: unixtime,open,high,low,close,volume,trades without header",
        read=read_bars,
        fits=lambda _, head: _BAR.match(head) is not None,
        needs=("exchange", "symbol", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
)
