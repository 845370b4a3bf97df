"""Tardis' incremental order books: a level a row, rows with one arrival time are one message.

A book is known from its first snapshot on, and unknown again behind a message that cannot be read, until the next one.
By Tardis' documentation a snapshot follows each loss of its connection; what was known before it is void.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from market.prices.order_book import OrderBook
from market.prices.quotes import Level
from tick_sets.importers.tardis import COMMON, ONE_EACH, has_columns, market_columns
from tick_sets.mapped.books import BEFORE_SNAPSHOT, BOOK_CHUNK_ROWS, LevelPlace, book_row, faulty_row
from tick_sets.rows.arrow_columns import words_of
from tick_sets.rows.csv_columns import UNREADABLE, csv_parts, demand_columns
from tick_sets.rows.import_format import Chunk, FileOptions, Format, ReadRow, RejectedRow, chunks_with
from tick_sets.rows.quote_rows import level_of, whole_number

UPDATES = (*COMMON, "is_snapshot", "side", "price", "amount")


class _Change(NamedTuple):
    """One row: a level's new amount, 0 if the level is gone."""

    line: int
    exchange: str
    symbol: str
    timestamp: str
    local_timestamp: str
    is_snapshot: str
    side: str
    price: str
    amount: str

    @property
    def text(self) -> str:
        return ",".join(self[1:])


_MESSAGE = attrgetter("exchange", "symbol", "local_timestamp")


@dataclass(slots=True)
class _Book:
    """The book of one symbol."""

    levels: OrderBook = field(default_factory=OrderBook)
    is_known: bool = False
    is_in_snapshot: bool = False

    def apply(self, changes: list[_Change]) -> str | None:
        """Apply one message. Returns why the book is not known, or None."""
        try:
            read = [_level_change(change) for change in changes]
        except ValueError:
            self.is_known = self.is_in_snapshot = False
            return UNREADABLE
        for is_snapshot, is_bid, level in read:
            if is_snapshot and not self.is_in_snapshot:
                self.levels.restart((), ())
                self.is_known = True
            self.is_in_snapshot = is_snapshot
            side = self.levels.bids if is_bid else self.levels.asks
            side.put(level)
        return None if self.is_known else BEFORE_SNAPSHOT


def read_updates(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the book after each message. Raises ImportRejectedError."""
    rejected_rows: list[RejectedRow] = []
    return chunks_with(rejected_rows, _rows(path, options, rejected_rows), BOOK_CHUNK_ROWS)


def _rows(path: Path, options: FileOptions, rejected_rows: list[RejectedRow]) -> Iterator[ReadRow]:
    books: dict[tuple[str, str], _Book] = {}
    for (exchange, symbol, local_timestamp), grouped in groupby(_changes(path, options, rejected_rows), _MESSAGE):
        changes = list(grouped)
        first = changes[0]
        fault = books.setdefault((exchange, symbol), _Book()).apply(changes)
        times = [whole_number(text) for text in (local_timestamp, first.timestamp)]
        place = LevelPlace(first.line, (exchange, symbol), times[0], first.text)
        if fault is not None:
            yield faulty_row(place, fault)
        else:
            yield book_row(place, books[exchange, symbol].levels.top(), times[1])


def _changes(path: Path, options: FileOptions, rejected_rows: list[RejectedRow]) -> Iterator[_Change]:
    for part in csv_parts(path):
        demand_columns(path, part.cells.column_names, UPDATES)
        rejected_rows += part.rejected
        exchanges, symbols = market_columns(path, part.cells, options)
        columns_read = (words_of(part.cells, name).to_pylist() for name in UPDATES[2:])
        for cells in zip(part.lines.tolist(), exchanges.to_pylist(), symbols.to_pylist(), *columns_read, strict=True):
            yield _Change._make(cells)


def _level_change(change: _Change) -> tuple[bool, bool, Level]:
    """Return (is of a snapshot, is a bid, level). Raises ValueError."""
    is_snapshot = {"true": True, "false": False}.get(change.is_snapshot.strip().lower())
    is_bid = {"bid": True, "ask": False}.get(change.side.strip())
    level = level_of(change.price, change.amount)
    if is_snapshot is None or is_bid is None or level.price <= 0 or level.amount < 0:
        raise ValueError(f"no change of a level: {change}")
    return is_snapshot, is_bid, level


TARDIS_BOOKS = Format(
    name="tardis-l2",
    description="Tardis CSV incremental_book_L2: books are built from their first snapshot on, ten levels a side kept; "
    f"{ONE_EACH}",
    read=read_updates,
    fits=has_columns(UPDATES),
)
