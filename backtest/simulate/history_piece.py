"""One row group of a quote history: when each market was quoted, confirmed or withdrawn. Quotes are made only from the
rows that are asked for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level, Quote
from streams.message_format import levels_of
from tick_sets.rows.arrow_columns import MarketKey, is_of_kind, places_of_markets
from tick_sets.sets.exchange_times import seen_times
from tick_sets.sets.schema import TICK_FIELDS

COLUMNS = ["offset", *TICK_FIELDS]
"""The columns of a tick set that a quote history reads."""

MAX_QUOTES = 4_096
"""Quotes kept per row group: many runs over one history ask for the same ones."""

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_Shown = tuple[Integers, Flags, Flags]
"""Positions of one market's rows, which of them are quotes, and which are quotes or withdraw one."""
_NONE: _Shown = (np.empty(0, np.int64), np.empty(0, np.bool_), np.empty(0, np.bool_))


@dataclass(frozen=True, slots=True)
class KnownQuote:
    """A quote, and when it was last known to be true, microseconds; `place`: its position in the base's log."""

    quote: Quote
    verified: int
    place: int


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of one market in the order of the log; those known at the start of the row group come first. `times` of
    arrival; `seen`: when each was known to be true."""

    rows: Integers
    """Positions in the row group."""
    offsets: Integers
    times: Integers
    seen: Integers
    is_quote: npt.NDArray[np.bool_]
    stated: Integers
    """Index of the newest row, up to this one, that is a quote or withdraws one; -1: none."""


class HistoryPiece:
    """`opening`: the rows to learn before `own`; both with COLUMNS.

    `trusted`: markets whose quotes' age counts from the exchange's time.
    """

    def __init__(self, opening: pa.Table, own: pa.Table, trusted: Collection[MarketKey] = ()) -> None:
        together = pa.concat_tables([opening.select(COLUMNS), own.select(COLUMNS)])
        self._table = together.unify_dictionaries().combine_chunks()
        self._known_before = len(opening)
        self._times = self._integers("received_time")
        self._seen = seen_times(self._table, trusted) if trusted else self._times
        self._offsets = self._integers("offset")
        self._columns: dict[str, Any] = {}
        self._by_market: dict[MarketKey, _Shown] = {}
        self._markets: dict[tuple[str, str], _Rows] = {}
        self._quotes: dict[int, Quote] = {}

    def at(self, market: Market, time: int) -> KnownQuote | None:
        """Return the newest quote of `time` or before; None if there is none here, or it was withdrawn."""
        rows = self._rows_of(market)
        index = int(rows.times.searchsorted(time, side="right")) - 1
        stated = int(rows.stated[index]) if index >= 0 else -1
        if stated < 0 or not rows.is_quote[stated]:
            return None
        row = int(rows.rows[stated])
        return KnownQuote(self.quote(market, row), int(rows.seen[index]), int(self._offsets[row]))

    def begins_later(self, market: Market, time: int) -> bool:
        """Return whether some of what was known of a market before had not arrived by `time`: only its newest is in
        this piece."""
        rows = self._rows_of(market)
        known = int(rows.rows.searchsorted(self._known_before))
        return known > 0 and int(rows.times[known - 1]) > time

    def between(self, market: Market, place: int, time: int) -> Iterator["QuotedRow"]:
        """Return each quote after `place` in the log, of `time` or before."""
        rows = self._rows_of(market)
        end = int(rows.times.searchsorted(time, side="right"))
        start = int(rows.offsets.searchsorted(place, side="right"))
        for index in range(start, end):
            if rows.is_quote[index]:
                yield QuotedRow(self, market, int(rows.rows[index]))

    def place(self, row: int) -> int:
        return int(self._offsets[row])

    def quote(self, market: Market, row: int) -> Quote:
        known = self._quotes.get(row)
        if known is None:
            if len(self._quotes) >= MAX_QUOTES:
                self._quotes.clear()
            known = self._quotes[row] = self._made(market, row)
        return known

    def text(self, side: Side, row: int) -> str:
        """Return the levels that an order on `side` meets, as they stand in the log."""
        name = "ask" if side == "buy" else "bid"
        text: str | None = self._value(f"{name}s", row)
        return text or f'[["{self._value(name, row)}","{self._value(f"{name}_amount", row)}"]]'

    def _rows_of(self, market: Market) -> _Rows:
        key = (market.exchange, market.symbol)
        known = self._markets.get(key)
        if known is None:
            known = self._markets[key] = self._gathered(market)
        return known

    def _gathered(self, market: Market) -> _Rows:
        known = self._by_market = self._by_market or dict(_shown_places(self._table))
        rows, is_quote, is_stated = known.get((market.exchange, market.symbol), _NONE)
        stated = np.where(is_stated, np.arange(len(rows)), -1)
        # a feed's rows never go back in time; a log whose clock was set back is read as if it had stood still
        times = np.maximum.accumulate(self._times[rows])
        seen = times if self._seen is self._times else self._seen[rows]
        return _Rows(rows, self._offsets[rows], times, seen, is_quote, np.maximum.accumulate(stated))

    def _made(self, market: Market, row: int) -> Quote:
        return Quote(
            kind="quote",
            exchange=market.exchange,
            region=market.region,
            symbol=market.symbol,
            base=market.base,
            quote_currency=market.quote_currency,
            bids=self._levels("bid", row),
            asks=self._levels("ask", row),
            exchange_time=self._value("exchange_time", row),
            received_time=int(self._times[row]),
            sequence=self._value("sequence", row),
        )

    def _levels(self, side: str, row: int) -> tuple[Level, ...]:
        text = self._value(f"{side}s", row)
        if text is not None:
            return levels_of(text)
        price, amount = self._value(side, row), self._value(f"{side}_amount", row)
        # a rate may come without its amount, or a side of it
        return (Level(Price(decimal_of(price or 0)), Amount(decimal_of(amount or 0))),)

    def _value(self, name: str, row: int) -> Any:
        column = self._columns.get(name)
        if column is None:
            # to look a column of a table up costs more than to read its value
            column = self._columns[name] = self._table[name].chunk(0)
        return column[row].as_py()

    def _integers(self, column: str) -> Integers:
        numbers: Integers = self._table[column].to_numpy()
        return numbers


@dataclass(frozen=True, slots=True)
class LevelText:
    """A level as it stands in the log, and its price as a double."""

    text: str
    price: float

    def is_deeper(self, side: Side, levels: str) -> bool:
        """Return whether it lies deeper than the last of `levels` for certain."""
        _, _, last = levels.rpartition("[")
        _, mark, price = last.partition('"')
        deepest = float(price.partition('"')[0]) if mark else self.price
        return self.price > deepest if side == "buy" else self.price < deepest


@dataclass(frozen=True, slots=True)
class QuotedRow:
    """A quote that is made when it is asked for."""

    piece: HistoryPiece
    market: Market
    row: int

    @property
    def place(self) -> int:
        """Return its position in the base's log."""
        return self.piece.place(self.row)

    @property
    def quote(self) -> Quote:
        return self.piece.quote(self.market, self.row)

    def leaves(self, levels: Mapping[Side, Sequence[LevelText]]) -> bool:
        """Return whether it says nothing new of these levels for certain: each is shown as it stands, or lies deeper
        than what is shown."""
        for side, wanted in levels.items():
            text = self.piece.text(side, self.row)
            if not all(level.text in text or level.is_deeper(side, text) for level in wanted):
                return False
        return True


def _shown_places(table: pa.Table) -> Iterator[tuple[MarketKey, _Shown]]:
    """Return each market's rows that say something of its quote."""
    is_quote = is_of_kind(table, ("quote", "fx"))
    is_stated = is_quote | is_of_kind(table, ("withdrawn", "fx_withdrawn"))
    is_shown = is_stated | is_of_kind(table, ("alive", "fx_alive"))
    for market, places in places_of_markets(table):
        rows = np.flatnonzero(is_shown) if places is None else places[is_shown[places]]
        yield market, (rows, is_quote[rows], is_stated[rows])
