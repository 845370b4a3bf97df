"""Bars as rows: a bar's closing price is known at its end, not before."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.mapped.mapped_times import Cells
from datasets.rows.quote_rows import reject
from market.time_units import MICROSECONDS

BAR_ASSUMPTION = "a bar's close is known at its end, and can be traded until the next bar, or until it is too old"

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_IN_NAME = re.compile(r"-(\d{1,4})([smhdw])[-.]")
"""As freqtrade and Binance name files: BTC_USDT-5m.feather."""


def named_bar_length(path: Path) -> int | None:
    """Microseconds of a bar as the file's name tells them."""
    found = _IN_NAME.search(path.name)
    return int(found[1]) * _UNITS[found[2]] * MICROSECONDS if found else None


class BarEnds:
    """When the bars of one file end, given when they begin; microseconds."""

    def __init__(self, path: Path, length: int | None) -> None:
        """`length`: of a bar, None where it is the smallest step from one to the next."""
        self._path = path
        self._length = length

    def after(self, begins: "Cells | pa.Int64Array") -> Cells:
        """Raises ImportRejectedError where bars overlap, or where their length is unknown."""
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
