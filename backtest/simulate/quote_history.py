"""The quotes of a backtest: which quote of an exchange was known at a moment of market time.

Moments are asked for in any order, so nothing is replayed from the start: only the row group of the moment is read, and
with it what was known at the start of the row group (`opening.parquet`).
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from backtest.simulate.history_piece import COLUMNS, HistoryPiece, KnownQuote, QuotedRow
from backtest.simulate.settings_changes import SettingsChange, logged_settings
from market.instruments.markets import Market
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.sets.exchange_times import feed_delays, trusted_markets
from tick_sets.sets.tick_set import RowGroup, TickSet, read_opening, read_ticks, row_groups

PIECES = 32
"""Row groups that a history keeps at least, unless it keeps all. It keeps one for each base, too: trading moves through
all of them at once, and would read the others again and again."""


@dataclass(frozen=True, slots=True)
class HistoryPosition:
    """One row group of one base: its earliest time, its first offset, and how it is read: what to learn before it, then
    its own rows."""

    since: int
    first: int
    read: Callable[[], tuple[pa.Table, pa.Table]]


class QuoteHistory:
    """Answers in any order of time, so that any number of runs share one. Memory: `kept` row groups; None: all."""

    def __init__(
        self,
        positions: Mapping[str, Sequence[HistoryPosition]],
        markets: tuple[Market, ...],
        kept: int | None,
        changes: Callable[[], tuple[SettingsChange, ...]] = tuple,
        trusted: frozenset[MarketKey] = frozenset(),
    ) -> None:
        """Take `positions`: base → its row groups in the order of its log; `changes` reads those of the settings;
        `trusted`: markets whose quotes' age counts from the exchange's time."""
        self._trusted = trusted
        self._changes = changes
        self._positions = positions
        self._since = {base: _from_here_on(rows) for base, rows in positions.items()}
        self._first = {base: [position.first for position in rows] for base, rows in positions.items()}
        self._markets = {(market.exchange, market.symbol): market for market in markets}
        self._rates_in = next(iter(positions), "")
        """The base in whose log rates are looked up: each has its own copy of them."""
        self._kept = kept
        self._pieces: OrderedDict[tuple[str, int], HistoryPiece] = OrderedDict()
        self._last: int | None = None
        """The latest time that a history cut by `until` knows; None: all."""

    @property
    def settings_changes(self) -> tuple[SettingsChange, ...]:
        """Return the settings changes of the recorded session, up to the cut of the history. Raises
        ImportRejectedError."""
        return tuple(change for change in self._changes() if self._within(change.time) == change.time)

    def until(self, end: int) -> "QuoteHistory":
        """Return the same, as if nothing had been recorded at `end`, microseconds, or later; both share what was
        read."""
        earlier = copy(self)
        earlier._last = end - 1
        return earlier

    def at(self, exchange: str, symbol: str, time: int) -> KnownQuote | None:
        """Return the newest quote that had arrived by `time`, microseconds; None if there was none, or it was
        withdrawn."""
        market, time = self._markets.get((exchange, symbol)), self._within(time)
        if market is None:
            return None
        log = self._log_of(market)
        number = self._number(log, time)
        if number < 0:
            return None
        # another exchange's row may be in a later row group, although its time is earlier
        while number > 0 and self._piece(log, number).begins_later(market, time):
            number -= 1
        return self._piece(log, number).at(market, time)

    def between(self, exchange: str, symbol: str, place: int, time: int) -> Iterator[QuotedRow]:
        """Return each quote after `place` in its base's log that had arrived by `time`."""
        market, time = self._markets[exchange, symbol], self._within(time)
        log = self._log_of(market)
        first = max(bisect_right(self._first.get(log, []), place) - 1, 0)
        for number in range(first, self._number(log, time) + 1):
            for row in self._piece(log, number).between(market, place, time):
                place = row.place
                yield row

    def _log_of(self, market: Market) -> str:
        """Return the base whose log has the market's quotes."""
        return self._rates_in if market.is_fx else market.base

    def _within(self, time: int) -> int:
        return time if self._last is None else min(time, self._last)

    def _number(self, base: str, time: int) -> int:
        """Return the number of the last row group with a row of `time` or before; -1 if there is none."""
        return bisect_right(self._since.get(base, []), time) - 1

    def _piece(self, base: str, number: int) -> HistoryPiece:
        key = (base, number)
        known = self._pieces.get(key)
        if known is None:
            known = self._pieces[key] = HistoryPiece(*self._positions[base][number].read(), self._trusted)
            while self._kept is not None and len(self._pieces) > self._kept:
                self._pieces.popitem(last=False)
        elif self._kept is not None:
            self._pieces.move_to_end(key)
        return known


def _from_here_on(positions: Sequence[HistoryPosition]) -> list[int]:
    """Return for each row group the earliest time in it or in any later one: never falling."""
    times = np.array([position.since for position in positions], dtype=np.int64)
    earliest: list[int] = np.minimum.accumulate(times[::-1])[::-1].tolist()
    return earliest


def quote_history_of(tick_set: TickSet, kept: int | None = PIECES) -> QuoteHistory:
    """Return the history of a tick set; `kept`: row groups at least, None keeps all that was read, for many runs over
    one set. Raises ImportRejectedError."""
    positions = {base: _positions(tick_set, base) for base in tick_set.manifest.bases}
    trusted = trusted_markets(feed_delays(tick_set))
    if kept is not None:
        kept = max(kept, len(positions) + 1)
    return QuoteHistory(positions, tick_set.manifest.markets, kept, partial(logged_settings, tick_set), trusted)


def _positions(tick_set: TickSet, base: str) -> list[HistoryPosition]:
    def reader(group: RowGroup) -> Callable[[], tuple[pa.Table, pa.Table]]:
        path, opening = tick_set.path(group.partition), tick_set.opening_path(group.partition)
        return lambda: (read_opening(opening, group.number), read_ticks(path, [group.number], COLUMNS))

    return [HistoryPosition(group.since, group.first, reader(group)) for group in row_groups(tick_set, base)]
