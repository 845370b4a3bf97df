"""The logs of all bases as one, for what looks at markets of several bases at once.

Rows come by their time, those of one time by base and then in the order of their log; or, if all bases had one log, as
they stood in that. FX rates stand in the log of every base, and are taken from the first alone.
"""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from tick_sets.rows.arrow_columns import Integers, is_of_kind
from tick_sets.sets.tick_set import TickSet, batches

ORDER = ["offset", "kind", "received_time"]
"""The columns that the order needs."""
By = Literal["received_time", "offset"]
FX_KINDS = ("fx", "fx_alive", "fx_withdrawn")


def merged_rows(tick_set: TickSet, columns: Sequence[str], by: By = "received_time") -> Iterator[pa.Table]:
    """Return all rows, a few row groups at a time, with these columns and ORDER. A log whose clock was set back is read
    as if it had stood still, if it is read by time. Raises ImportRejectedError if a file cannot be read."""
    wanted = list(dict.fromkeys((*ORDER, *columns)))
    logs = [_Log(tick_set, base, wanted, by, has_rates=not rank) for rank, base in enumerate(tick_set.manifest.bases)]
    while logs := [log for log in logs if log.has_rows()]:
        bound = min(log.last for log in logs)
        parts = [log.taken(bound) for log in logs]
        rows = pa.concat_tables(part for part in parts if len(part)).unify_dictionaries().combine_chunks()
        ranks = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        places: Integers = rows[by].to_numpy()
        order: Integers = np.lexsort((rows["offset"].to_numpy(), ranks, places))
        yield rows.take(order).combine_chunks()


class _Log:
    """The rows of one base that were read and not taken yet."""

    def __init__(self, tick_set: TickSet, base: str, columns: list[str], by: By, *, has_rates: bool) -> None:
        self._by = by
        self._batches = batches(tick_set, base, columns)
        self._has_rates = has_rates
        self._rows: pa.Table | None = None
        self.last = 0
        """Time or offset of the last row read."""

    def has_rows(self) -> bool:
        """Read on until there are some; return whether there are."""
        while self._rows is None or not len(self._rows):
            if not self._read_on():
                return False
        return True

    def taken(self, bound: int) -> pa.Table:
        """Take all rows up to that time or offset."""
        while self.last <= bound and self._read_on():
            pass
        if self._rows is None:
            raise ValueError("nothing was read of this log")
        count = int(np.searchsorted(self._rows[self._by].to_numpy(), bound, side="right"))
        rows, self._rows = self._rows.slice(0, count), self._rows.slice(count)
        return rows

    def _read_on(self) -> bool:
        rows = next(self._batches, None)
        if rows is None:
            return False
        if not self._has_rates:
            rows = rows.filter(pa.array(~is_of_kind(rows, FX_KINDS)))
        if len(rows):
            places = np.maximum.accumulate(np.maximum(rows[self._by].to_numpy(), self.last))
            rows = rows.set_column(rows.column_names.index(self._by), self._by, pa.array(places))
            self.last = int(places[-1])
        self._rows = rows if self._rows is None else pa.concat_tables([self._rows, rows])
        return True
