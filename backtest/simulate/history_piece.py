"""One row group of a quote history: when each market was quoted, confirmed or withdrawn. Quotes are made only from the
rows that are asked for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import Amount, Price, decimal_of
from market.prices.quotes import Level, Quote
from streams.message_format import levels_of
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.sets.exchange_times import seen_times
from tick_sets.sets.schema import TICK_FIELDS
from tick_sets.sets.tick_set import is_of_market

COLUMNS = ["offset", *TICK_FIELDS]
"""The columns of a tick set that a quote history reads."""

MAX_QUOTES = 4_096
"""Quotes kept per row group: many runs over one history ask for the same ones."""

Integers = npt.NDArray[np.int64]


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
        """Return the levels that an order on `side` meets, as they stand in the log; empty if there is only the best
        one."""
        text: str | None = self._table["asks" if side == "buy" else "bids"][row].as_py()
        return text or ""

    def _rows_of(self, market: Market) -> _Rows:
        key = (market.exchange, market.symbol)
        known = self._markets.get(key)
        if known is None:
            known = self._markets[key] = self._gathered(market)
        return known

    def _gathered(self, market: Market) -> _Rows:
        table = self._table
        is_quote = _is_kind(table, "quote")
        is_stated = is_quote | _is_kind(table, "withdrawn")
        is_shown = is_stated | _is_kind(table, "alive")
        rows = np.flatnonzero(is_of_market(table, market).to_numpy() & is_shown)
        stated = np.where(is_stated[rows], np.arange(len(rows)), -1)
        # a feed's rows never go back in time; a log whose clock was set back is read as if it had stood still
        times = np.maximum.accumulate(self._times[rows])
        seen = times if self._seen is self._times else self._seen[rows]
        return _Rows(rows, self._offsets[rows], times, seen, is_quote[rows], np.maximum.accumulate(stated))

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
            exchange_time=self._table["exchange_time"][row].as_py(),
            received_time=int(self._times[row]),
            sequence=self._table["sequence"][row].as_py(),
        )

    def _levels(self, side: str, row: int) -> tuple[Level, ...]:
        text = self._table[f"{side}s"][row].as_py()
        if text is not None:
            return levels_of(text)
        price, amount = self._table[side][row].as_py(), self._table[f"{side}_amount"][row].as_py()
        return (Level(Price(decimal_of(price)), Amount(decimal_of(amount or 0))),)

    def _integers(self, column: str) -> Integers:
        numbers: Integers = self._table[column].to_numpy()
        return numbers


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

    def shows(self, levels: Mapping[Side, Sequence[str]]) -> bool:
        """Return whether all of these stand in the text of their side's levels: if so they are shown, if not they may
        be."""
        return all(text in self.piece.text(side, self.row) for side, texts in levels.items() for text in texts)


def _is_kind(table: pa.Table, kind: str) -> npt.NDArray[np.bool_]:
    found: npt.NDArray[np.bool_] = pc.is_in(table["kind"], pa.array([kind])).to_numpy()
    return found
