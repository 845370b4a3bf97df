"""The whole rows behind what the kernel found: text is read only if something was found, and once."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cep.detection.kernel.records import NONE, Records
from tick_sets.sets.tick_set import read_ticks

_TEXTS = ("exchange", "symbol", "bid", "bid_amount", "ask", "ask_amount", "bids", "asks")
_NUMBERS = ("offset", "sequence", "exchange_time", "received_time")
_TYPES: list[tuple[str, pa.DataType]] = [
    *[(name, pa.string()) for name in _TEXTS],
    *[(name, pa.int64()) for name in _NUMBERS],
]
TEXT_SCHEMA = pa.schema(_TYPES)
_MADE_FROM = ("row", "buy_quote_row", "sell_quote_row", "buy_rate_row", "sell_rate_row")
Numbers = npt.NDArray[np.int64]


def rows_behind(hits: Records) -> Numbers:
    """Return the numbers of all rows that these were made from; ascending, each once."""
    wanted: Numbers = np.unique(np.concatenate([hits[part] for part in _MADE_FROM]))
    there: Numbers = wanted[wanted != NONE]
    return there


@dataclass(frozen=True, slots=True)
class _Group:
    """A row group by the numbers of its rows in the log."""

    path: Path
    number: int
    first: int
    rows: int

    def among(self, numbers: Numbers) -> Numbers:
        return numbers[(numbers >= self.first) & (numbers < self.first + self.rows)]

    def read(self) -> pa.Table:
        return read_ticks(self.path, [self.number], TEXT_SCHEMA.names)


class RowTexts:
    """Follows one log, row group by row group, and keeps no more than one of them and the rows still in use."""

    def __init__(self, opening: pa.Table) -> None:
        """Take `opening`: rows 0, 1, 2, … of the log."""
        self._kept_numbers: Numbers = np.arange(len(opening), dtype=np.int64)
        self._kept = opening.select(TEXT_SCHEMA.names).cast(TEXT_SCHEMA)
        self._held = self._kept_numbers
        self._unread: list[_Group] = []
        self._at: _Group | None = None
        self._here: pa.Table | None = None

    def enter(self, path: Path, number: int, first: int, rows: int) -> None:
        self._at = _Group(path, number, first, rows)
        self._here = None

    def leave(self, held: Numbers) -> None:
        """Leave the row group. `held`: the rows that later ones may ask for, ascending."""
        if self._at is not None and self._here is not None:
            self._keep(self._at.among(held), self._here, self._at)
        elif self._at is not None:
            self._unread.append(self._at)
        still = np.isin(self._kept_numbers, held)
        self._kept_numbers, self._kept = self._kept_numbers[still], self._kept.filter(pa.array(still))
        self._unread = [group for group in self._unread if len(group.among(held))]
        self._held, self._at, self._here = held, None, None

    def of(self, wanted: Numbers) -> pa.Table:
        """Return TEXT_SCHEMA, a row per number; ascending, each once."""
        for group in [group for group in self._unread if len(group.among(wanted))]:
            self._keep(group.among(self._held), group.read(), group)
            self._unread.remove(group)
        earlier = wanted if self._at is None else wanted[wanted < self._at.first]
        known = _taken(self._kept, np.searchsorted(self._kept_numbers, earlier))
        if self._at is None or len(earlier) == len(wanted):
            return known
        here = _taken(self._text_here(self._at), wanted[len(earlier) :] - self._at.first)
        return pa.concat_tables([known, here]).combine_chunks()

    def _text_here(self, at: _Group) -> pa.Table:
        if self._here is None:
            self._here = at.read()
        return self._here

    def _keep(self, numbers: Numbers, rows: pa.Table, group: _Group) -> None:
        merged = np.concatenate([self._kept_numbers, numbers])
        order = np.argsort(merged, kind="stable")
        self._kept_numbers = merged[order]
        self._kept = _taken(pa.concat_tables([self._kept, _taken(rows, numbers - group.first)]), order)


def _taken(rows: pa.Table, places: Numbers) -> pa.Table:
    return rows.take(places).cast(TEXT_SCHEMA).combine_chunks()
