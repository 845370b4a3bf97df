"""OKX spot: `books` sends a snapshot of 400 levels, then changes, each of which names the message before it.

https://www.okx.com/docs-v5/en/#order-book-trading-market-data-ws-order-book-channel, read in November 2026
"""

import re

import orjson

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.frames import (
    REST_LEVELS,
    Fields,
    as_fields,
    as_rows,
    count_in,
    fields_of,
    levels_in,
    malformed,
    text_in,
)
from exchanges.books.port import Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.books.stream_sharing import StreamSharing
from exchanges.credentials import Credentials
from exchanges.okx.symbols import okx_instrument
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of

CHANNEL, DEPTH = "books", 400
_MICROS_OF_MS = 1_000
_FINAL_CODES = frozenset(("50014", "51000", "51001", "60012", "60018", "64000"))
"""Errors that a retry does not change: a request, a channel or an instrument that does not exist."""
_OF_NO_BOOK = frozenset(("subscribe", "unsubscribe", "notice", "channel-conn-count"))
"""Events that say nothing of the book; after a notice the exchange closes the connection by itself."""


_PONGS = ("pong", b"pong")
"""The answer to the text `ping`, which keeps a still connection."""


class OkxStreamBook:
    """One instrument. `prevSeqId` is the id of the message before; ids may fall in between, after a maintenance.

    `checksum` is not read: since June 2026 it is always 0 (https://github.com/ccxt/ccxt/pull/30299).
    """

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._instrument = okx_instrument(market)
        self._book = OrderBook()
        self._last_id: int | None = None
        """The id of the book's last message; None before the snapshot."""

    def open(self, now: int) -> list[WireOutput]:
        return [Send(_request("subscribe", self._instrument))]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        if frame in _PONGS:
            return []
        fields = fields_of(frame)
        if "event" in fields:
            _check_event(fields)
            return []
        argument = as_fields(fields.get("arg"))
        if argument.get("channel") != CHANNEL:
            return []
        if argument.get("instId") != self._instrument:
            raise malformed(f"a book of {argument.get('instId')!r} instead of {self._instrument}")
        action = text_in(fields, "action")
        return [self._take_book(action, as_fields(row)) for row in as_rows(fields.get("data"))]

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: the stream sends its own snapshot."""
        return []

    def _take_book(self, action: str, data: Fields) -> WireOutput:
        number, bids, asks = count_in(data, "seqId"), levels_in(data, "bids"), levels_in(data, "asks")
        time = count_in(data, "ts") * _MICROS_OF_MS
        if action == "snapshot":
            self._book.restart(bids, asks)
        elif action != "update":
            raise malformed(f"a message that is a {action!r} of {self._instrument}")
        elif self._last_id is None:
            raise FrameRejectedError("sequence_gap", f"a change of {self._instrument} before its snapshot")
        elif number == self._last_id:
            # nothing has changed for a minute, or the last message again
            return Heartbeat()
        elif count_in(data, "prevSeqId") != self._last_id:
            raise FrameRejectedError(
                "sequence_gap", f"{self._instrument} {data.get('prevSeqId')} is not {self._last_id}"
            )
        else:
            self._book.apply(bids, asks)
        self._last_id = number
        self._book.cut(DEPTH)
        return self._book.top(time)


def _request(operation: str, instrument: str) -> str:
    return orjson.dumps({"op": operation, "args": [{"channel": CHANNEL, "instId": instrument}]}).decode()


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    return [_request("unsubscribe", okx_instrument(market))]


def rest_book(market: Market) -> str:
    return f"/api/v5/market/books?instId={okx_instrument(market)}&sz={REST_LEVELS}"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    book = _only_row(body)
    return top_of(levels_in(book, "bids"), levels_in(book, "asks"))


def parse_server_time(body: bytes) -> int:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    return count_in(_only_row(body), "ts") * _MICROS_OF_MS


def _only_row(body: bytes) -> Fields:
    """Return the row of an answer of REST. Raises FeedRejectedError, FeedDroppedError if it is an error."""
    fields = fields_of(body)
    code = text_in(fields, "code")
    if code != "0":
        raise _error(code, fields.get("msg"))
    rows = as_rows(fields.get("data"))
    if len(rows) != 1:
        raise malformed(f"expected one row, got {str(rows)[:100]}")
    return as_fields(rows[0])


def _check_event(fields: Fields) -> None:
    """Raise FeedRejectedError, FeedDroppedError, FrameRejectedError if an event is an error, or not known."""
    event = fields.get("event")
    if event == "error":
        raise _error(str(fields.get("code")), fields.get("msg"))
    if str(event) not in _OF_NO_BOOK:
        raise malformed(f"unknown event: {str(fields)[:100]}")


def _error(code: str, text: object) -> FeedDroppedError | FeedRejectedError:
    said = f"{text} ({code})"[:200]
    return (
        FeedRejectedError(f"okx rejected: {said}") if code in _FINAL_CODES else FeedDroppedError(f"okx error: {said}")
    )


WIRE = WireExchange(
    name="okx",
    conversation=OkxStreamBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    # fewer channels of deep books than 30 in one connection: docs-v5, tips of the order book channel
    sharing=StreamSharing(
        re.compile(rb'"instId":\s*"([^"]+)"'),
        okx_instrument,
        leave,
        symbols=29,
        symbols_field=("args",),
    ),
    server_time=ServerTime("/api/v5/public/time", parse_server_time),
    detects_loss=True,
)
