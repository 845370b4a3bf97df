"""Rows from hftbacktest's raw Binance files: best bids and asks, books of up to ten levels, or prints.

One file has several streams; the format's name selects the one that is read. Messages of the others are ignored.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tick_sets.errors import reject
from tick_sets.importers.hftbacktest_depth import DepthBook
from tick_sets.importers.hftbacktest_hyperliquid import read_books
from tick_sets.importers.hftbacktest_lines import RawMessage, looks_raw, raw_messages
from tick_sets.mapped.books import BOOK_CHUNK_ROWS, LevelPlace, book_row, faulty_row
from tick_sets.mapped.prints import half_spread_of, sides_of
from tick_sets.mapped.symbols import OneTicker
from tick_sets.rows.csv_columns import UNREADABLE
from tick_sets.rows.import_format import Chunk, FileOptions, Format, ReadRow, chunks_of
from tick_sets.rows.symbol_names import named_market

_FAULTS = (ValueError, KeyError, TypeError, AttributeError)
"""Exceptions of an invalid message."""


@dataclass(frozen=True, slots=True)
class _RawFile:
    """One file, its market, and the ticker that all its messages must name."""

    path: Path
    market: tuple[str, str]
    """Exchange and symbol, as they are called here."""
    ticker: OneTicker

    def messages(self, stream: str) -> Iterator[RawMessage]:
        """Return messages of streams named …@`stream`…, for `depth` also REST snapshots, and damaged lines. Raises
        ImportRejectedError if there is none."""
        is_empty = True
        for raw in raw_messages(self.path):
            if raw.is_damaged:
                # of whichever stream it was
                yield raw
                continue
            is_snapshot = stream == "depth" and "lastUpdateId" in raw.message
            if not is_snapshot and str(raw.message.get("stream", "")).split("@")[1:2] != [stream]:
                continue
            is_empty = False
            if not is_snapshot:
                self._check_ticker(raw)
            yield raw
        if is_empty:
            reject(self.path, None, f"contains no {stream} message")

    def place(self, raw: RawMessage) -> LevelPlace:
        return LevelPlace(raw.line, self.market, raw.received_time, raw.text)

    def _check_ticker(self, raw: RawMessage) -> None:
        data = raw.message.get("data")
        if not isinstance(data, dict) or "s" not in data:
            reject(self.path, raw.line, "its message lacks data with the symbol s")
        self.ticker.check(data["s"], raw.line)


def read_tickers(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read the stream bookTicker; `sequence` is the exchange's update id. Raises ImportRejectedError."""
    file = _raw_file(path, options)
    return chunks_of(_row_or_fault(file, raw, _ticker_row) for raw in file.messages("bookTicker"))


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read the stream trade; `sequence` is the trade's id. Raises ImportRejectedError."""
    file, half_spread = _raw_file(path, options), half_spread_of(path, options)

    def trade_row(file: _RawFile, raw: RawMessage) -> ReadRow:
        data = raw.message["data"]
        bid, ask = sides_of(str(data["p"]), half_spread)
        amount = str(data["q"])
        times = int(data["T"]) * 1_000, int(data["t"])
        return ReadRow(raw.line, *file.market, raw.received_time, bid, amount, ask, amount, raw.text, *times)

    return chunks_of(_row_or_fault(file, raw, trade_row) for raw in file.messages("trade"))


def read_depth(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read the streams depth@…: the book after each message that is known from a REST snapshot on.

    `sequence` is the exchange's update id. Raises ImportRejectedError.
    """
    return chunks_of(_depth_rows(_raw_file(path, options)), BOOK_CHUNK_ROWS)


def _depth_rows(file: _RawFile) -> Iterator[ReadRow]:
    book = DepthBook()
    has_snapshot = False

    def book_after(file: _RawFile, raw: RawMessage) -> ReadRow:
        data = raw.message.get("data", raw.message)
        fault = book.restart(data) if data is raw.message else book.apply(data)
        if fault:
            return faulty_row(file.place(raw), fault)
        return book_row(file.place(raw), book.top(), _event_time(data), book.last_id)

    for raw in file.messages("depth"):
        has_snapshot |= "lastUpdateId" in raw.message
        yield _row_or_fault(file, raw, book_after)
    if not has_snapshot:
        reject(file.path, None, "contains no REST snapshot of the book, without which its differences say nothing")


def _row_or_fault(file: _RawFile, raw: RawMessage, read: Callable[[_RawFile, RawMessage], ReadRow]) -> ReadRow:
    if raw.is_damaged:
        return faulty_row(file.place(raw), UNREADABLE)
    try:
        return read(file, raw)
    except _FAULTS:
        return faulty_row(file.place(raw), UNREADABLE)


def _ticker_row(file: _RawFile, raw: RawMessage) -> ReadRow:
    data = raw.message["data"]
    sides = str(data["b"]), str(data["B"]), str(data["a"]), str(data["A"])
    times = _event_time(data), int(data["u"])
    return ReadRow(raw.line, *file.market, raw.received_time, *sides, raw.text, *times)


def _event_time(data: Mapping[str, Any]) -> int | None:
    """Return the event time in microseconds; spot's bookTicker and its REST snapshot have none."""
    return int(data["E"]) * 1_000 if "E" in data else None


def _raw_file(path: Path, options: FileOptions) -> _RawFile:
    """Return the file and its market. Raises ImportRejectedError."""
    exchange, symbol = named_market(path, options)
    return _RawFile(path, (exchange, symbol), OneTicker(path, symbol))


def _fits(inside: bytes) -> Callable[[Path, bytes], bool]:
    def fits(_: Path, head: bytes) -> bool:
        return looks_raw(head) and inside in head

    return fits


_OWN_CLOCK = "received times are the recorder's own, floored to microseconds"

HFTBACKTEST_FORMATS = (
    Format(
        name="hftbacktest",
        description="raw Binance streams with local nanoseconds: bookTicker, the best bid and ask",
        read=read_tickers,
        fits=_fits(b'"stream":'),
        needs=("exchange", "symbol"),
        assumptions=(_OWN_CLOCK,),
    ),
    Format(
        name="hftbacktest-depth",
        description="raw Binance streams with local nanoseconds: depth with its REST snapshot, ten levels",
        read=read_depth,
        fits=_fits(b'"stream":'),
        needs=("exchange", "symbol"),
        assumptions=(_OWN_CLOCK,),
    ),
    Format(
        name="hftbacktest-trades",
        description="raw Binance streams with local nanoseconds: trade, prints with an assumed half-spread",
        read=read_trades,
        fits=_fits(b'"stream":'),
        needs=("exchange", "symbol", "half_spread_bps"),
        assumptions=(_OWN_CLOCK,),
    ),
    Format(
        name="hftbacktest-hyperliquid",
        description="raw Hyperliquid streams with local nanoseconds: l2Book, ten levels",
        read=read_books,
        fits=_fits(b'"channel":"l2Book"'),
        needs=("exchange", "symbol"),
        assumptions=(_OWN_CLOCK,),
    ),
)
