"""The quotes of a backtest: which one of an exchange was known at a moment of market time. Read where it is asked for.

What is asked for is seldom near to what was asked for last, so nothing is played through: the row group of the moment
is read, with what was known where it begins (`opening.parquet`).
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from backtest.simulate.history_piece import COLUMNS, HistoryPiece, KnownQuote, QuotedRow
from backtest.simulate.settings_changes import SettingsChange, logged_settings
from datasets.ticksets.manifest import Partition
from datasets.ticksets.tick_set import TickSet, read_opening, read_ticks
from market.instruments.markets import Market

PIECES = 32
"""Row groups that a tape keeps, where it does not keep all: a few bases at a time, whatever the length of the set."""


@dataclass(frozen=True, slots=True)
class HistoryPosition:
    """One row group of one base: its earliest time, its first offset, and how it is read: what to learn before it,
    then its own rows."""

    since: int
    first: int
    read: Callable[[], tuple[pa.Table, pa.Table]]


class QuoteHistory:
    """Answers in any order of time, so that any number of runs share one. Memory: `kept` row groups; None: all."""

    def __init__(
        self,
        places: Mapping[str, Sequence[HistoryPosition]],
        markets: tuple[Market, ...],
        kept: int | None,
        changes: Callable[[], tuple[SettingsChange, ...]] = tuple,
    ) -> None:
        """`places`: base → its row groups in the order of its log; `changes` reads those of the settings."""
        self._changes = changes
        self._places = places
        self._since = {base: _from_here_on(rows) for base, rows in places.items()}
        self._first = {base: [place.first for place in rows] for base, rows in places.items()}
        self._markets = {(market.exchange, market.symbol): market for market in markets if not market.is_fx}
        self._kept = kept
        self._pieces: OrderedDict[tuple[str, int], HistoryPiece] = OrderedDict()
        self._last: int | None = None
        """Of a tape that was cut: the latest time of which it knows anything."""

    @property
    def settings_changes(self) -> tuple[SettingsChange, ...]:
        """Of the recorded session, up to where the tape was cut. Raises ImportRejectedError."""
        return tuple(change for change in self._changes() if self._told(change.time) == change.time)

    def until(self, end: int) -> "QuoteHistory":
        """The same, as if nothing had been recorded at `end`, microseconds, or later; both share what was read."""
        earlier = copy(self)
        earlier._last = end - 1
        return earlier

    def at(self, exchange: str, symbol: str, time: int) -> KnownQuote | None:
        """The newest quote that had arrived by `time`, microseconds; None where there was none, or it was withdrawn."""
        market, time = self._markets.get((exchange, symbol)), self._told(time)
        number = -1 if market is None else self._number(market.base, time)
        if market is None or number < 0:
            return None
        # another exchange's row may stand in a later row group, although its time is an earlier one
        while number > 0 and self._piece(market.base, number).begins_later(market, time):
            number -= 1
        return self._piece(market.base, number).at(market, time)

    def between(self, exchange: str, symbol: str, place: int, time: int) -> Iterator[QuotedRow]:
        """Each quote behind `place` in its base's log that had arrived by `time`."""
        market, time = self._markets[exchange, symbol], self._told(time)
        first = max(bisect_right(self._first.get(market.base, []), place) - 1, 0)
        for number in range(first, self._number(market.base, time) + 1):
            for row in self._piece(market.base, number).between(market, place, time):
                place = row.place
                yield row

    def _told(self, time: int) -> int:
        return time if self._last is None else min(time, self._last)

    def _number(self, base: str, time: int) -> int:
        """Of the last row group with a row of `time` or before; -1 where there is none."""
        return bisect_right(self._since.get(base, []), time) - 1

    def _piece(self, base: str, number: int) -> HistoryPiece:
        key = (base, number)
        known = self._pieces.get(key)
        if known is None:
            known = self._pieces[key] = HistoryPiece(*self._places[base][number].read())
            while self._kept is not None and len(self._pieces) > self._kept:
                self._pieces.popitem(last=False)
        elif self._kept is not None:
            self._pieces.move_to_end(key)
        return known


def _from_here_on(places: Sequence[HistoryPosition]) -> list[int]:
    """Of each row group the earliest time of it or of any behind it: never falling."""
    times = np.array([place.since for place in places], dtype=np.int64)
    earliest: list[int] = np.minimum.accumulate(times[::-1])[::-1].tolist()
    return earliest


def quote_history_of(tick_set: TickSet, kept: int | None = PIECES) -> QuoteHistory:
    """Of a tick set; `kept` None keeps what was read once, for many runs over one set. Raises ImportRejectedError."""
    places = {
        base: [place for partition in tick_set.partitions_of(base) for place in _places(tick_set, partition)]
        for base in tick_set.manifest.bases
    }
    return QuoteHistory(places, tick_set.manifest.markets, kept, partial(logged_settings, tick_set))


def _places(tick_set: TickSet, partition: Partition) -> list[HistoryPosition]:
    path, opening = tick_set.path(partition), tick_set.opening_path(partition)

    def reader(number: int) -> Callable[[], tuple[pa.Table, pa.Table]]:
        return lambda: (
            read_opening(opening, number),
            read_ticks(path, [number], COLUMNS),
        )

    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        time, offset = names.index("received_time"), names.index("offset")
        groups = [file.metadata.row_group(number) for number in range(partition.row_groups)]
    return [
        HistoryPosition(_least(group, time), _least(group, offset), reader(number))
        for number, group in enumerate(groups)
    ]


def _least(group: pq.RowGroupMetaData, column: int) -> int:
    """By the statistics that each writer of a tick set keeps."""
    statistics = group.column(column).statistics
    if statistics is None:
        raise ValueError("a tick set without statistics of its row groups")
    least: int = statistics.min  # type: ignore[assignment]  # the column holds integers
    return least
