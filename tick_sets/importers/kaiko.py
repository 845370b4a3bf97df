"""Kaiko's CSV files: top of book with one side a row, order books as lists, snapshots a level a row, and bars.

Its times are milliseconds, microseconds or nanoseconds by kind and year of a file: detected from their size, the same
within a file."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from market.instruments.contracts import kind_of
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level
from tick_sets.errors import reject
from tick_sets.mapped.bars import BAR_ASSUMPTION, chunks_of_bars, named_bar_length
from tick_sets.mapped.books import BEFORE_SNAPSHOT, BOOK_CHUNK_ROWS, LevelPlace, book_row, faulty_row
from tick_sets.mapped.times import Epochs, Moments
from tick_sets.rows.arrow_columns import words_of
from tick_sets.rows.csv_columns import UNREADABLE, FilePart, csv_parts, demand_columns, header_names
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import Chunk, FileOptions, Format, ReadRow, RejectedRow, chunks_with
from tick_sets.rows.quote_rows import level_of
from tick_sets.rows.symbol_names import named_market, our_exchange, our_symbol

TOPS = ("ts_exchange", "ts_collection", "exchange", "class", "symbol", "type", "price", "size")
OF_CONTRACTS = ("perpetual-future", "future", "option")
"""Classes whose symbols are those of spot (docs.kaiko.com: instrument classes)."""
BOOKS = ("timestamp", "type", "asks", "bids")
SNAPSHOTS = ("date", "type", "price", "amount")
BARS = ("timestamp", "open", "high", "low", "close", "volume")
_BAR = re.compile(rb"[0-9]{13}(,[0-9]+(\.[0-9]+)?){5}\r?(\n|$)")

Cells = tuple[int, tuple[str, ...]]
"""(line, cells in the order of the wanted columns)"""


def read_tops(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the best bid and ask: rows with one time of collection are one message. Raises ImportRejectedError."""
    return _by_row(path, TOPS, ",", lambda rows: _tops(path, options, rows))


def read_books(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the book after each row, from the first snapshot on. Raises ImportRejectedError."""
    market = named_market(path, options)
    return _by_row(path, BOOKS, ";", lambda rows: _books(path, market, rows))


def read_snapshots(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return books: all rows of one date are one. Raises ImportRejectedError."""
    market = named_market(path, options)
    return _by_row(path, SNAPSHOTS, ",", lambda rows: _snapshots(path, market, rows))


def read_bars(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the close of each bar, at its end. Raises ImportRejectedError."""
    return chunks_of_bars(path, options, _bars(path), named_bar_length(path))


def _bars(path: Path) -> Iterator[tuple[FilePart, "pa.Int64Array"]]:
    epochs = Epochs(path)
    has_header = header_names(head_of(path).partition(b"\n")[0])[:1] == ["timestamp"]
    for part in csv_parts(path, None if has_header else BARS):
        demand_columns(path, part.cells.column_names, BARS)
        yield part, epochs.microseconds(part.cells["timestamp"], part.lines)


def _by_row(
    path: Path, columns: tuple[str, ...], delimiter: str, read: Callable[[Iterator[Cells]], Iterator[ReadRow]]
) -> Iterator[Chunk]:
    rejected_rows: list[RejectedRow] = []
    return chunks_with(rejected_rows, read(_cells(path, columns, delimiter, rejected_rows)), BOOK_CHUNK_ROWS)


def _cells(path: Path, columns: tuple[str, ...], delimiter: str, rejected_rows: list[RejectedRow]) -> Iterator[Cells]:
    for part in csv_parts(path, delimiter=delimiter):
        demand_columns(path, part.cells.column_names, columns)
        rejected_rows += part.rejected
        columns_read = (words_of(part.cells, name).to_pylist() for name in columns)
        yield from zip(part.lines.tolist(), zip(*columns_read, strict=True), strict=True)


def _tops(path: Path, options: FileOptions, rows: Iterator[Cells]) -> Iterator[ReadRow]:
    moments, names = Moments(path), _Names(path, options)
    sides: dict[tuple[str, str], dict[str, Level]] = {}
    for (collected, exchange, kind, symbol), grouped in groupby(rows, lambda row: itemgetter(1, 2, 3, 4)(row[1])):
        message = list(grouped)
        line, first = message[0]
        market = names.market_of(exchange, kind, symbol)
        received = moments.microseconds(collected or first[0], line)
        place = LevelPlace(line, market, received, ",".join(first))
        known = sides.setdefault(market, {})
        try:
            for _, cells in message:
                known[_side(cells[5])] = level_of(cells[6], cells[7])
        except ValueError:
            yield faulty_row(place, UNREADABLE)
            continue
        bids, asks = (() if side not in known else (known[side],) for side in ("bid", "ask"))
        yield book_row(place, BookTop(bids, asks), moments.microseconds(first[0], line))


class _Names:
    """Maps Kaiko's names to ours, each looked up once."""

    def __init__(self, path: Path, options: FileOptions) -> None:
        self._path, self._options = path, options
        self._known: dict[tuple[str, str, str], tuple[str, str]] = {}

    def market_of(self, exchange: str, kind: str, symbol: str) -> tuple[str, str]:
        """Return the market by our names; `kind`: Kaiko's instrument class. Raises ImportRejectedError."""
        key = exchange, kind, symbol
        if key not in self._known:
            if self._options.symbol is not None and self._known:
                reject(self._path, None, "holds several symbols; omit --symbol, or cut the file")
            if kind in OF_CONTRACTS and kind_of(self._options.symbol or "") == "spot":
                reject(self._path, None, f"{symbol} of {exchange} is a {kind}; say which, as in --symbol BTC/USDT:USDT")
            name = self._options.exchange or our_exchange(exchange)
            self._known[key] = name, self._options.symbol or our_symbol(self._path, name, symbol)
        return self._known[key]


def _books(path: Path, market: tuple[str, str], rows: Iterator[Cells]) -> Iterator[ReadRow]:
    """Return the book after each row; after an unreadable row it is unknown until the next snapshot."""
    book, moments, is_known = OrderBook(), Moments(path), False
    for line, cells in rows:
        time, kind, asks_text, bids_text = cells
        place = LevelPlace(line, market, moments.microseconds(time, line), ";".join(cells))
        try:
            bids, asks = _levels(bids_text), _levels(asks_text)
            if kind not in ("s", "u"):
                raise ValueError(f"no kind of row: {kind}")
        except (ValueError, TypeError):
            is_known = False
            yield faulty_row(place, UNREADABLE)
            continue
        if kind == "s":
            book.restart(bids, asks)
            is_known = True
        elif is_known:
            book.apply(bids, asks)
        yield book_row(place, book.top()) if is_known else faulty_row(place, BEFORE_SNAPSHOT)


def _snapshots(path: Path, market: tuple[str, str], rows: Iterator[Cells]) -> Iterator[ReadRow]:
    moments = Moments(path)
    for time, grouped in groupby(rows, lambda row: row[1][0]):
        levels = list(grouped)
        line, first = levels[0]
        place = LevelPlace(line, market, moments.microseconds(time, line), ",".join(first))
        sides: dict[str, list[Level]] = {"bid": [], "ask": []}
        try:
            for _, cells in levels:
                sides[_side(cells[1])].append(level_of(cells[2], cells[3]))
        except ValueError:
            yield faulty_row(place, UNREADABLE)
            continue
        yield book_row(place, top_of(sides["bid"], sides["ask"]))


def _side(text: str) -> str:
    """Return the side. Raises ValueError."""
    side = {"a": "ask", "ask": "ask", "b": "bid", "bid": "bid"}.get(text.strip())
    if side is None:
        raise ValueError(f"no side: {text}")
    return side


def _levels(text: str) -> list[Level]:
    """Return [[price, volume], …]; volume 0 removes the level. Raises ValueError or TypeError."""
    pairs: Iterable[tuple[Any, Any]] = json.loads(text or "[]", parse_float=str, parse_int=str)
    levels = [level_of(str(price), str(volume)) for price, volume in pairs]
    if any(level.price <= 0 or level.amount < 0 for level in levels):
        raise ValueError("no level")
    return levels


def _has(names: tuple[str, ...], delimiter: str = ",") -> Callable[[Path, bytes], bool]:
    return lambda _, head: header_names(head.partition(b"\n")[0], delimiter) == list(names)


KAIKO_FORMATS = (
    Format(
        name="kaiko-tob",
        description="Kaiko top of book: one side a row, ordered by time of collection, in nanoseconds as a rule",
        read=read_tops,
        fits=_has(TOPS),
    ),
    Format(
        name="kaiko-l2",
        description="Kaiko order books: timestamp;type;asks;bids with lists of [price, volume], s snapshot, u update",
        read=read_books,
        fits=_has(BOOKS, ";"),
        needs=("exchange", "symbol"),
    ),
    Format(
        name="kaiko-snapshots",
        description="Kaiko order book snapshots: date,type,price,amount, a level a row; ten levels a side are kept",
        read=read_snapshots,
        fits=_has(SNAPSHOTS),
        needs=("exchange", "symbol"),
    ),
    Format(
        name="kaiko-ohlcv",
        description="Kaiko OHLCV: timestamp,open,high,low,close,volume in milliseconds, with or without this header",
        read=read_bars,
        fits=lambda path, head: _has(BARS)(path, head) or _BAR.match(head) is not None,
        needs=("exchange", "symbol", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
)
