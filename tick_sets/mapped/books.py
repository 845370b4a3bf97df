"""A book as a row: its ten best levels a side, as the log has them."""

from collections.abc import Iterable
from typing import NamedTuple

from market.money import text_of
from market.prices.book_top import BookTop
from market.prices.quotes import Level
from streams.message_format import levels_text
from tick_sets.rows.import_format import ReadRow
from tick_sets.rows.quote_rows import level_of

BEFORE_SNAPSHOT, SEQUENCE_GAP = "before_snapshot", "sequence_gap"
"""Reject reason: there was no snapshot yet, or an earlier message was lost."""

BOOK_CHUNK_ROWS = 16_384
"""Rows of a chunk of books, fewer than usual: each row has up to ten levels a side."""
SHOWN_CHARACTERS = 1_000
"""Characters kept of a rejected line; one with a whole book is many times longer and adds nothing."""


def shown(line: bytes) -> str:
    return line[:SHOWN_CHARACTERS].decode(errors="replace")


def levels_of_pairs(pairs: Iterable[Iterable[str]]) -> list[Level]:
    """Return levels of `[price, amount]` pairs. Raises ValueError or TypeError if one is no such pair."""
    return [level_of(price, amount) for price, amount in pairs]


class LevelPlace(NamedTuple):
    """Where a row comes from: its line, its market, when it was received, and the beginning of the line."""

    line: int
    market: tuple[str, str]
    received_time: int | None
    text: str


def book_row(
    place: LevelPlace, top: BookTop, exchange_time: int | None = None, sequence: int = 0, fault: str | None = None
) -> ReadRow:
    """Return the row of a book; times in microseconds."""
    bid, bid_amount = map(text_of, top.bids[0]) if top.bids else ("", "")
    ask, ask_amount = map(text_of, top.asks[0]) if top.asks else ("", "")
    levels = levels_text(top.bids), levels_text(top.asks)
    return ReadRow(
        place.line,
        *place.market,
        place.received_time,
        bid,
        bid_amount,
        ask,
        ask_amount,
        place.text,
        exchange_time,
        sequence,
        *levels,
        fault,
    )


def faulty_row(place: LevelPlace, fault: str) -> ReadRow:
    """Return a row without prices."""
    return ReadRow(place.line, *place.market, place.received_time, "", "", "", "", place.text, fault=fault)
