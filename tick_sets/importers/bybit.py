"""Bybit's public order books: NDJSON in a zip, a `snapshot` or a `delta` a line, up to 500 levels a side.

`ts` is when the exchange made the message, in milliseconds; there is no time of receipt, so it is used for that as
well. By Bybit's documentation ids `u` are consecutive, and a snapshot may come at any time and restarts the book."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook
from tick_sets.errors import reject
from tick_sets.mapped.books import (
    BEFORE_SNAPSHOT,
    BOOK_CHUNK_ROWS,
    SEQUENCE_GAP,
    LevelPlace,
    book_row,
    faulty_row,
    levels_of_pairs,
    shown,
)
from tick_sets.mapped.symbols import OneTicker
from tick_sets.rows.csv_columns import UNREADABLE
from tick_sets.rows.damaged_lines import DamagedLines
from tick_sets.rows.file_blocks import blocks
from tick_sets.rows.import_format import Chunk, FileOptions, Format, ReadRow, chunks_of
from tick_sets.rows.symbol_names import named_market

_START = re.compile(rb'\{"topic": ?"orderbook\.')
REPEATED = "repeated"


class BybitBook:
    """One symbol's book, built from its messages in order."""

    def __init__(self) -> None:
        self._book = OrderBook()
        self._is_known = False
        self._last_id = 0
        """Update id of the newest message; 0 if it has none."""

    @property
    def is_known(self) -> bool:
        return self._is_known

    def top(self) -> BookTop:
        return self._book.top()

    def invalidate(self) -> None:
        """Forget the book after a message that could not be read: it is unknown until the next snapshot."""
        self._is_known = False

    def apply(self, is_snapshot: bool, data: Mapping[str, Any]) -> str | None:
        """Return why the message changed nothing, or None. Raises ValueError, KeyError or TypeError if it cannot be
        read."""
        bids, asks = levels_of_pairs(data["b"]), levels_of_pairs(data["a"])
        update_id = int(data.get("u", 0))
        if is_snapshot:
            self._book.restart(bids, asks)
            self._is_known, self._last_id = True, update_id
            return None
        if not self._is_known:
            return BEFORE_SNAPSHOT
        if update_id and update_id <= self._last_id:
            return REPEATED
        if update_id and self._last_id and update_id != self._last_id + 1:
            self._is_known = False
            return SEQUENCE_GAP
        self._book.apply(bids, asks)
        self._last_id = update_id
        return None


def read_books(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the book after each message. Raises ImportRejectedError."""
    return chunks_of(_rows(path, *named_market(path, options)), BOOK_CHUNK_ROWS)


def _rows(path: Path, exchange: str, symbol: str) -> Iterator[ReadRow]:
    """`sequence` stays 0: the exchange restarts its count with some snapshots."""
    book, ticker = BybitBook(), OneTicker(path, symbol)
    for line, message, text in _messages(path):
        place = LevelPlace(line, (exchange, symbol), None, text)
        if message is None:
            book.invalidate()
            yield faulty_row(place, UNREADABLE)
            continue
        data = message["data"]
        ticker.check(data.get("s"), line)
        try:
            milliseconds = int(message["ts"])
            fault = book.apply(message["type"] == "snapshot", data)
        except (ValueError, KeyError, TypeError):
            book.invalidate()
            yield faulty_row(place, UNREADABLE)
            continue
        if not 10**12 <= milliseconds < 10**13:
            reject(path, line, f"its ts {milliseconds} is not in milliseconds since 1970")
        place = place._replace(received_time=milliseconds * 1_000)
        yield faulty_row(place, fault) if fault else book_row(place, book.top(), place.received_time)


def _messages(path: Path) -> Iterator[tuple[int, Mapping[str, Any] | None, str]]:
    """Return (line, message or None if it is damaged, its beginning). Raises ImportRejectedError if half or more
    are."""
    damage = DamagedLines(path)
    for block in blocks(path):
        for number, line in enumerate(block.data.splitlines(), start=block.line):
            damage.lines += 1
            yield number, _message(number, line, damage), shown(line)
    damage.check()


def _message(number: int, line: bytes, damage: DamagedLines) -> Mapping[str, Any] | None:
    try:
        message = orjson.loads(line)
    except orjson.JSONDecodeError:
        damage.note(number, "is not JSON")
        return None
    if is_book_message(message):
        return message  # type: ignore[no-any-return]  # looked at just now
    damage.note(number, "is no message of Bybit's order book (topic, type, ts, data with s, b and a)")
    return None


def is_book_message(message: object) -> bool:
    return (
        isinstance(message, dict)
        and str(message.get("topic", "")).startswith("orderbook.")
        and message.get("type") in ("snapshot", "delta")
        and isinstance(message.get("data"), dict)
    )


def fits(_: Path, head: bytes) -> bool:
    return _START.match(head) is not None


BYBIT_BOOKS = Format(
    name="bybit-books",
    description="Bybit's public order books: NDJSON in a zip, a snapshot or delta a line, times in milliseconds",
    read=read_books,
    fits=fits,
    needs=("exchange", "symbol"),
    assumptions=("Bybit's files have no time of receipt: each book counts as received when the exchange made it",),
)
