"""Kraken's older WebSocket v1 `book`, which recordings are made of: `[channel, {…}, {…}, "book-1000", "XBT/USD"]`."""

from collections.abc import Sequence
from dataclasses import dataclass

from exchanges.books.frames import as_fields, count_in, exact_json, levels_in, malformed
from exchanges.kraken.book import CheckedBook
from market.prices.quotes import Level


@dataclass(frozen=True, slots=True)
class BookMessage:
    """One message about one pair's book. The checksum is of the book after it; snapshots have none."""

    pair: str
    is_snapshot: bool
    bids: list[Level]
    asks: list[Level]
    checksum: int | None


def book_message(frame: str | bytes) -> BookMessage | None:
    """None for what is no book: heartbeats, acknowledgements. Raises FrameRejectedError "malformed".

    Both sides may come in one object or in two; a level's fourth text, "r", marks one that came back into the depth.
    """
    message = exact_json(frame)
    if not isinstance(message, list):
        as_fields(message)
        return None
    if len(message) < 4 or not isinstance(message[-1], str) or not isinstance(message[-2], str):
        raise malformed(f"not a message: {str(message)[:100]}")
    if not message[-2].startswith("book"):
        return None
    return _book_message(message[-1], message[1:-2])


def take(book: CheckedBook, message: BookMessage) -> None:
    """Raise FrameRejectedError "checksum"."""
    if message.is_snapshot:
        book.restart(message.bids, message.asks)
    else:
        book.apply(message.bids, message.asks)
    if message.checksum is not None:
        book.check(message.checksum)


def _book_message(pair: str, parts: Sequence[object]) -> BookMessage:
    merged: dict[str, object] = {}
    for part in parts:
        merged |= as_fields(part)
    is_snapshot = "as" in merged or "bs" in merged
    bids, asks = ("bs", "as") if is_snapshot else ("b", "a")
    if bids not in merged and asks not in merged:
        raise malformed(f"a book of {pair[:20]!r} without levels")
    return BookMessage(
        pair=pair,
        is_snapshot=is_snapshot,
        bids=levels_in(merged, bids) if bids in merged else [],
        asks=levels_in(merged, asks) if asks in merged else [],
        checksum=count_in(merged, "c") if "c" in merged else None,
    )
