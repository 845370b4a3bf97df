"""Bars as rows: a bar's closing price is known at its end, not before."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from market.time_units import MICROSECONDS
from tick_sets.errors import reject
from tick_sets.mapped.columns import chunk_of_market
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.mapped.times import Cells
from tick_sets.rows.csv_columns import FilePart
from tick_sets.rows.import_format import Chunk, FileOptions
from tick_sets.rows.symbol_names import named_market

BAR_ASSUMPTION = "a bar's close is known at its end, and can be traded until the next bar, or until it is too old"

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_IN_NAME = re.compile(r"-(\d{1,4})([smhdw])[-.]")
"""As freqtrade and Binance name files: BTC_USDT-5m.feather."""


def named_bar_length(path: Path) -> int | None:
    """Return the length of a bar by the file's name, microseconds."""
    found = _IN_NAME.search(path.name)
    return int(found[1]) * _UNITS[found[2]] * MICROSECONDS if found else None


def chunks_of_bars(
    path: Path, options: FileOptions, parts: Iterable[tuple[FilePart, "Cells | pa.Int64Array"]], length: int | None
) -> Iterator[Chunk]:
    """Return the close of each bar, at its end. `parts`: with `close` and `volume`, and when each bar begins; `length`
    as of BarEnds. Raises ImportRejectedError."""
    market, half_spread, ends = named_market(path, options), half_spread_of(path, options), BarEnds(path, length)
    for part, begins in parts:
        prices = print_columns(part.cells["close"], part.cells["volume"], half_spread)
        yield chunk_of_market(part, market, {"received_time": ends.after(begins)} | prices)


class BarEnds:
    """The end times of one file's bars from their begin times; microseconds."""

    def __init__(self, path: Path, length: int | None) -> None:
        """Take `length`, that of a bar; None: the smallest step from one to the next."""
        self._path = path
        self._length = length

    def after(self, begins: "Cells | pa.Int64Array") -> Cells:
        """Return the end of each bar. Raises ImportRejectedError if bars overlap, or if their length is unknown."""
        steps = np.diff(begins.drop_null().to_numpy())
        forward = steps[steps > 0]
        smallest = int(forward.min()) if len(forward) else None
        if self._length is None:
            if smallest is None:
                reject(self._path, None, "has too few bars to derive their length; name the file like BTC_USDT-5m")
            self._length = smallest
        if smallest is not None and smallest < self._length:
            reject(
                self._path,
                None,
                f"has bars {smallest / MICROSECONDS:g} s apart, while they are {self._length / MICROSECONDS:g} s long",
            )
        times = pa.chunked_array([begins]) if isinstance(begins, pa.Array) else begins
        return pc.add(times, pa.scalar(self._length, pa.int64()))
