"""Bybit spot: `orderbook.50.<symbol>` sends a snapshot, then changes whose update ids follow one another.

https://bybit-exchange.github.io/docs/v5/websocket/public/orderbook, read in November 2026
"""

import re

import orjson

from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.frames import (
    REST_LEVELS,
    Fields,
    as_fields,
    count_in,
    exchange_error,
    fields_of,
    levels_in,
    malformed,
    text_in,
)
from exchanges.books.port import Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.books.stream_sharing import StreamSharing
from exchanges.bybit.symbols import bybit_symbol
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of

DEPTH = 50
"""The shallowest stream that sends changes; that of one level sends whole books."""
_MICROS_OF_MS = 1_000
_FINAL_WORDS = ("invalid symbol", "handler not found", "not supported", "invalid op")
_FINAL_CODES = frozenset((10001, 10017, 10029, 170121))
"""Errors that a retry does not change: invalid parameters, paths and symbols."""
_OTHER_TOPICS = ("publicTrade.", "tickers.", "kline.")


class BybitStreamBook:
    """One symbol. Each change has the update id after the last one's; a snapshot restarts the book, whatever its id."""

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._symbol = bybit_symbol(market)
        self._book = OrderBook()
        self._last_id: int | None = None
        """The update id of the book; None before the snapshot."""

    def open(self, now: int) -> list[WireOutput]:
        return [Send(_request("subscribe", self._symbol))]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = fields_of(frame)
        topic = fields.get("topic")
        if topic == _topic(self._symbol):
            return [self._take_book(fields)]
        if topic is None:
            _check_reply(fields)
        elif not isinstance(topic, str) or not topic.startswith(_OTHER_TOPICS):
            raise malformed(f"a message of {topic!r} instead of {self._symbol}")
        return []

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: the stream sends its own snapshot."""
        return []

    def _take_book(self, fields: Fields) -> WireOutput:
        kind, data = text_in(fields, "type"), as_fields(fields.get("data"))
        if data.get("s") != self._symbol or kind not in ("snapshot", "delta"):
            raise malformed(f"a {kind} of {data.get('s')!r} instead of {self._symbol}")
        update_id, bids, asks = count_in(data, "u"), levels_in(data, "b"), levels_in(data, "a")
        # when the book was made; `ts` is when the message was
        milliseconds = count_in(fields, "cts" if "cts" in fields else "ts")
        if kind == "snapshot":
            self._book.restart(bids, asks)
        elif self._last_id is None:
            raise FrameRejectedError("sequence_gap", f"a change of {self._symbol} before its snapshot")
        elif update_id == self._last_id:
            return Heartbeat()
        elif update_id != self._last_id + 1:
            # 1 after a restart of the exchange, too, if its snapshot did not come
            raise FrameRejectedError("sequence_gap", f"{self._symbol} {update_id} after {self._last_id}")
        else:
            self._book.apply(bids, asks)
        self._last_id = update_id
        self._book.cut(DEPTH)
        return self._book.top(milliseconds * _MICROS_OF_MS)


def _topic(symbol: str) -> str:
    return f"orderbook.{DEPTH}.{symbol}"


def _request(operation: str, symbol: str) -> str:
    return orjson.dumps({"op": operation, "args": [_topic(symbol)]}).decode()


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    return [_request("unsubscribe", bybit_symbol(market))]


def rest_book(market: Market) -> str:
    return f"/v5/market/orderbook?category=spot&symbol={bybit_symbol(market)}&limit={REST_LEVELS}"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    book = as_fields(_checked(body).get("result"))
    return top_of(levels_in(book, "b"), levels_in(book, "a"))


def parse_server_time(body: bytes) -> int:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    return count_in(_checked(body), "time") * _MICROS_OF_MS


def _checked(body: bytes) -> Fields:
    """Return an answer of REST. Raises FeedRejectedError, FeedDroppedError if it is an error."""
    fields = fields_of(body)
    code = count_in(fields, "retCode")
    if code:
        text = f"{fields.get('retMsg')} ({code})"[:200]
        if code in _FINAL_CODES:
            raise FeedRejectedError(f"bybit rejected: {text}")
        raise FeedDroppedError(f"bybit error: {text}")
    return fields


def _check_reply(fields: Fields) -> None:
    """Raise FeedRejectedError, FeedDroppedError, FrameRejectedError unless it reports that a request succeeded."""
    if fields.get("success") is False:
        raise exchange_error("bybit", str(fields.get("ret_msg")), _FINAL_WORDS)
    if fields.get("success") is not True:
        raise malformed(f"unknown message: {str(fields)[:100]}")


WIRE = WireExchange(
    name="bybit",
    conversation=BybitStreamBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    # https://bybit-exchange.github.io/docs/v5/ws/connect: a request for spot has at most ten topics
    sharing=StreamSharing(
        re.compile(rb'"topic":\s*"orderbook\.[0-9]+\.([^"]+)"'),
        bybit_symbol,
        leave,
        symbols=10,
        symbols_field=("args",),
    ),
    server_time=ServerTime("/v5/market/time", parse_server_time),
    detects_loss=True,
)
