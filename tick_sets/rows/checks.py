"""Judges rows by whole columns as `market.prices.quotes.rejection_of` judges a quote, and as `QuoteRows` their order.

Rejected rows are stored with their reason: nothing is dropped silently.
"""

import csv
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from io import StringIO
from math import isnan
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from market.instruments.markets import Market
from tick_sets.errors import reject
from tick_sets.rows.arrow_columns import (
    Integers,
    MarketKey,
    integers_of,
    kept,
    places_of_markets,
    taken,
    with_column,
    words_of,
)
from tick_sets.rows.contract_amounts import in_base
from tick_sets.rows.csv_columns import UNREADABLE
from tick_sets.rows.dated_rows import as_of_then
from tick_sets.rows.import_format import OTHER_MARKET, Chunk, RejectedRow
from tick_sets.rows.number_cells import Floats, number_cells
from tick_sets.rows.reject_reasons import RejectReasons
from tick_sets.rows.text_bytes import Flags, bytes_of

SIDES = ("bid", "bid_amount", "ask", "ask_amount")
EARLIEST, LATEST = 1_230_768_000_000_000, 4_102_444_800_000_000
"""2009 and 2100: a time outside is a number in another unit, or damaged."""
HARMLESS = ("", "backwards", "repeated", "outdated", OTHER_MARKET)
"""Reasons that leave the quote before valid, and none."""
MOST_SHOWN, SHOWN = 3, 80
"""Unreadable rows named in a message, and characters of each."""
MAX_TEXT = 4_000
"""Characters of a rejected row that are kept."""


@dataclass(slots=True)
class SeenMarket:
    """What was seen of one market in one file so far; times in microseconds UTC."""

    rows: int = 0
    backwards: int = 0
    first_backwards_line: int = 0
    first_time: int = 0
    last_time: int = 0
    last_sequence: int = 0
    rejected: dict[str, int] = field(default_factory=dict)
    other_rows: int = 0
    """Rows of markets that were not requested: nothing is wrong with them."""
    has_quote: bool = False
    """Whether the last usable row is still valid."""

    @property
    def is_numbered(self) -> bool:
        return self.last_sequence > 0


class Lost(NamedTuple):
    """A row that cannot be true, as a crossed book or one that lacks a message: the quote before it is doubtful too."""

    place: int
    """How many usable rows of its chunk and market come before it."""
    time: int


class Judged(NamedTuple):
    """Usable `rows` of one market, READ_SCHEMA with `bid_price` and `ask_price`; and what is not usable.

    `lost`: the points at which quotes become invalid, each once.
    """

    market: MarketKey
    rows: pa.Table
    rejected: list[RejectedRow]
    lost: list[Lost]


@dataclass(slots=True)
class UnreadableRows:
    """How many rows of one file cannot be read, and the first of them in words."""

    rows: int = 0
    """All rows that were asked for, readable or not."""
    other_rows: int = 0
    """Those that were not. A line that became no row may be one of them, so it counts against the whole file."""
    count: int = 0
    """Reasons of rows that were asked for."""
    lines: int = 0
    """Lines that could not even become a row."""
    first: list[str] = field(default_factory=list)

    def note_lines(self, rejected: Iterable[RejectedRow]) -> None:
        """Count lines that could not even become a row."""
        for row in rejected:
            self.lines += 1
            self._name(row.line, f"has another form ({row.text[:SHOWN]})")

    def note_rows(self, rows: pa.Table, prices: dict[str, Floats], reasons: RejectReasons) -> None:
        """Count the unreadable rows of one market, with their reasons."""
        others = reasons.count(OTHER_MARKET)
        self.rows += len(rows) - others
        self.other_rows += others
        places = np.flatnonzero(reasons.is_any(UNREADABLE)).tolist()
        for place in places[:MOST_SHOWN]:
            cells = (
                f"has a {name} that is no number, {str(rows[name][place])[:SHOWN]!r}"
                for name in SIDES
                if isnan(prices[name][place])
            )
            is_timed = rows["received_time"][place].is_valid
            self._name(
                rows["line"][place].as_py(),
                next(cells, "has a cell that cannot be read") if is_timed else "has no time",
            )
        self.count += len(places)

    def _name(self, line: int, why: str) -> None:
        if len(self.first) < MOST_SHOWN:
            self.first.append(f"line {line} {why}")

    def check(self, path: Path) -> None:
        """Raise ImportRejectedError if more than half of the rows cannot be read: the file is of another kind."""
        of_file = self.count + self.lines, self.rows + self.lines + self.other_rows
        for count, rows in (of_file, (self.count, self.rows)):
            if 2 * count > rows:
                counted = f"{count:,} of its {rows:,} rows cannot be read, so nothing of it is imported"
                reject(path, None, f"{counted}: {'; '.join(self.first)}")


class Judge:
    """Checks the rows of one file, chunk by chunk."""

    def __init__(self, market_of: Callable[[MarketKey], Market]) -> None:
        """Take `market_of`, which says what a market's amounts count, and whether it is an FX rate, whose amounts may
        be 0."""
        self._market_of = market_of
        self.seen: dict[MarketKey, SeenMarket] = {}
        self.passed_over = 0
        """Rows of markets that were not requested."""
        self.unreadable = UnreadableRows()

    def judged(self, chunk: Chunk) -> Iterator[Judged]:
        """Return the judged rows of each market in the chunk."""
        rows, originals = as_of_then(chunk.rows.combine_chunks()).combine_chunks(), chunk.originals
        self.passed_over += chunk.other_rows
        self.unreadable.other_rows += chunk.other_rows
        self.unreadable.note_lines(chunk.rejected)
        for key, places in places_of_markets(rows):
            market = self._market_of(key)
            mine = in_base(rows if places is None else taken(rows, places), market)
            seen = self.seen.setdefault(key, SeenMarket())
            exact, prices, is_out = _numbers_of(mine)
            reasons = _reasons(exact, prices, is_out, market.is_fx)
            self.unreadable.note_rows(exact, prices, reasons)
            last_time, stood = seen.last_time, seen.has_quote
            usable = self._in_order(seen, exact, reasons)
            lost = _lost(integers_of(exact, "received_time"), reasons, last_time, stood)
            seen.has_quote = _has_quote(usable, lost, stood)
            texts = originals if places is None else taken(originals, places)
            seen.other_rows += reasons.count(OTHER_MARKET)
            rejected = list(_rejected(mine, reasons, texts))
            for row in rejected:
                seen.rejected[row.reason] = seen.rejected.get(row.reason, 0) + 1
            for side in ("bid", "ask"):
                exact = with_column(exact, f"{side}_price", pa.array(prices[side]))
            yield Judged(key, kept(exact, usable), rejected, lost)

    def _in_order(self, seen: SeenMarket, rows: pa.Table, reasons: RejectReasons) -> Flags:
        """Mark what goes back in time or repeats a number, and return True for what remains."""
        times, sequences = integers_of(rows, "received_time"), integers_of(rows, "sequence")
        usable = reasons.is_none
        backwards = usable & (times < _max_before(times, usable, seen.last_time))
        left = usable & ~backwards
        repeated = left & (sequences > 0) & (sequences <= _max_before(sequences, left, seen.last_sequence))
        if backwards.any() and repeated.any():
            # a repeated row may lie ahead in time, and what follows it does not go back for that
            backwards, repeated = _out_of_order(seen, times, sequences, usable)
        reasons.add(backwards, "backwards")
        reasons.add(repeated, "repeated")
        if backwards.any() and not seen.backwards:
            seen.first_backwards_line = int(integers_of(rows, "line")[backwards][0])
        seen.backwards += int(backwards.sum())
        usable &= ~backwards & ~repeated
        _learn(seen, times[usable], sequences[usable])
        return usable


def _out_of_order(seen: SeenMarket, times: Integers, sequences: Integers, usable: Flags) -> tuple[Flags, Flags]:
    """Return (goes back in time, repeats a number), row by row: each is compared with those that remained."""
    backwards, repeated = np.zeros_like(usable), np.zeros_like(usable)
    last_time, last_sequence = seen.last_time, seen.last_sequence
    for place in np.flatnonzero(usable).tolist():
        time, sequence = int(times[place]), int(sequences[place])
        if time < last_time:
            backwards[place] = True
        elif 0 < sequence <= last_sequence:
            repeated[place] = True
        else:
            last_time, last_sequence = time, max(sequence, last_sequence)
    return backwards, repeated


def _lost(times: Integers, reasons: RejectReasons, last_time: int, has_quote: bool) -> list[Lost]:
    """Return where quotes become invalid; `has_quote`: is there a quote before the first row?"""
    is_doubtful = ~reasons.is_any(*HARMLESS)
    if not is_doubtful.any():
        return []
    usable = reasons.is_none
    is_known = (times >= _max_before(times, usable, last_time)) & (times >= EARLIEST) & (times < LATEST)
    doubtful = np.flatnonzero(is_doubtful & is_known)
    before = np.cumsum(usable)
    lost: list[Lost] = []
    for row in doubtful.tolist():
        place = int(before[row])
        last_place = lost[-1].place if lost else (-1 if has_quote else 0)
        # one is enough until there is a quote again
        if place > last_place:
            lost.append(Lost(place, int(times[row])))
    return lost


def _has_quote(usable: Flags, lost: list[Lost], stood: bool) -> bool:
    """Return whether there is a quote after the last row."""
    count = int(usable.sum())
    return lost[-1].place < count if lost else stood or count > 0


def _learn(seen: SeenMarket, times: Integers, sequences: Integers) -> None:
    if not len(times):
        return
    if not seen.rows:
        seen.first_time = int(times[0])
    seen.rows += len(times)
    seen.last_time = int(times[-1])
    seen.last_sequence = max(seen.last_sequence, int(sequences.max()))


def _max_before(values: Integers, counts: Flags, start: int) -> Integers:
    """Return for each row the greatest value of the counting rows before it."""
    maximum = np.maximum.accumulate(np.where(counts, values, start)) if len(values) else values
    return np.maximum(np.concatenate(([start], maximum[:-1])), start)


def _numbers_of(rows: pa.Table) -> tuple[pa.Table, dict[str, Floats], Flags]:
    """Return the rows with plain digits in place of exponents, the doubles of their cells (NaN for no number), and
    which rows have a number that money cannot be made of."""
    prices: dict[str, Floats] = {}
    is_out = np.zeros(len(rows), dtype=np.bool_)
    for name in SIDES:
        found = number_cells(words_of(rows, name))
        rows = with_column(rows, name, found.texts)
        prices[name] = found.doubles
        is_out |= found.is_out
    return rows, prices, is_out


def _reasons(rows: pa.Table, prices: dict[str, Floats], is_out: Flags, is_fx: bool) -> RejectReasons:
    """Return per row why it must stay out; the order in time is not checked here."""
    times = integers_of(rows, "received_time")
    is_empty = np.logical_or.reduce([bytes_of(words_of(rows, name)).lengths == 0 for name in ("bid", "ask")])
    is_number = np.logical_and.reduce([~np.isnan(prices[name]) for name in SIDES])
    is_out = is_out | (times < EARLIEST) | (times >= LATEST) | (prices["bid"] <= 0) | (prices["ask"] <= 0)
    for name in ("bid_amount", "ask_amount"):
        is_out |= (prices[name] < 0) if is_fx else (prices[name] <= 0)
    reasons = RejectReasons(rows)
    reasons.add(rows["received_time"].is_null().to_numpy(), UNREADABLE)
    reasons.add(is_empty, "empty")
    reasons.add(~is_number, UNREADABLE)
    reasons.add(is_out, "out_of_bounds")
    reasons.add(prices["bid"] >= prices["ask"], "crossed")
    return reasons


def _rejected(rows: pa.Table, reasons: RejectReasons, originals: pa.Table) -> Iterator[RejectedRow]:
    places = np.flatnonzero(~reasons.is_any("", OTHER_MARKET))
    if not len(places):
        return
    lines = integers_of(rows, "line")[places]
    texts = taken(originals, places).to_pylist()
    for line, reason, cells in zip(lines.tolist(), reasons.at(places), texts, strict=True):
        yield RejectedRow(line, reason, _as_written(cells)[:MAX_TEXT])


def _as_written(cells: dict[str, object]) -> str:
    """Return a row of a table, with quotes around cells that need them, or the line itself if the format is read line
    by line."""
    words = ["" if cell is None else str(cell) for cell in cells.values()]
    if len(words) == 1:
        return words[0]
    text = StringIO()
    csv.writer(text, lineterminator="").writerow(words)
    return text.getvalue()
