"""Binance spot: `<symbol>@depth@100ms` sends changes with their first and last update id; the snapshot comes by
REST."""

import re
from dataclasses import dataclass

import orjson

from exchanges.binance.symbols import binance_symbol
from exchanges.books.errors import FeedDroppedError, FeedRejectedError, FrameRejectedError
from exchanges.books.frames import REST_LEVELS, Fields, as_fields, count_in, fields_of, levels_in, malformed, text_in
from exchanges.books.port import Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.books.snapshots import SnapshotFetches
from exchanges.books.stream_sharing import StreamSharing
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level

_MICROS_OF_MS = 1_000
# Errors that a retry does not change: invalid parameters, symbols and requests.
_FINAL_CODES = frozenset((-1100, -1101, -1102, -1103, -1121, -1130, 1, 2, 3, 4))
_OTHER_EVENTS = frozenset(("trade", "aggTrade", "kline", "24hrTicker", "24hrMiniTicker", "avgPrice"))


@dataclass(frozen=True, slots=True)
class _Change:
    """One message: the update ids that it covers, its time in milliseconds, and the new levels."""

    first: int
    last: int
    milliseconds: int
    bids: list[Level]
    asks: list[Level]


class BinanceBook:
    """One symbol. Each message begins where the one before it ended; the first covers the id after the snapshot's."""

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._symbol = binance_symbol(market)
        self._fetches = SnapshotFetches(f"/api/v3/depth?symbol={self._symbol}&limit=1000")
        self._book = OrderBook()
        self._last_id: int | None = None
        """The last update id in the book; None before the snapshot."""
        self._has_joined = False
        """Whether a message was applied since the snapshot: from then on each begins exactly where the last ended."""
        self._waiting: list[_Change] = []

    def open(self, now: int) -> list[WireOutput]:
        return [Send(_request("SUBSCRIBE", self._symbol))]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = fields_of(frame)
        if "stream" in fields:
            # The address of combined streams wraps each message.
            fields = as_fields(fields.get("data"))
        if fields.get("e") == "depthUpdate":
            return self._take_change(self._change_of(fields), now)
        _check_other(fields)
        return []

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        fields = fields_of(body)
        _check_answer(fields)
        last_id, bids, asks = count_in(fields, "lastUpdateId"), levels_in(fields, "bids"), levels_in(fields, "asks")
        if self._last_id is not None or not self._waiting:
            return []
        if last_id + 1 < self._waiting[0].first:
            self._fetches.came_too_old(now)
            return []
        self._book.restart(bids, asks)
        self._last_id = last_id
        milliseconds = self._waiting[-1].milliseconds
        for change in self._waiting:
            self._apply(change)
        self._waiting = []
        return [self._book.top(milliseconds * _MICROS_OF_MS)]

    def _take_change(self, change: _Change, now: int) -> list[WireOutput]:
        if self._last_id is not None:
            if not self._apply(change):
                return [Heartbeat()]
            return [self._book.top(change.milliseconds * _MICROS_OF_MS)]
        if self._waiting and change.last <= self._waiting[-1].last:
            return []
        if self._waiting and change.first != self._waiting[-1].last + 1:
            raise self._gap(self._waiting[-1].last, change)
        self._waiting.append(change)
        return self._fetches.due(now, len(self._waiting))

    def _apply(self, change: _Change) -> bool:
        """Whether the change was new. Raises FrameRejectedError if update ids are missing before it."""
        last_id = self._last_id or 0
        if change.last <= last_id:
            return False
        if change.first > last_id + 1 or (self._has_joined and change.first <= last_id):
            raise self._gap(last_id, change)
        self._has_joined = True
        self._last_id = change.last
        self._book.apply(change.bids, change.asks)
        return True

    def _gap(self, last_id: int, change: _Change) -> FrameRejectedError:
        return FrameRejectedError("sequence_gap", f"{self._symbol} {change.first}..{change.last} after {last_id}")

    def _change_of(self, fields: Fields) -> _Change:
        if fields.get("s") != self._symbol:
            raise malformed(f"a change of {fields.get('s')!r} instead of {self._symbol}")
        first, last = count_in(fields, "U"), count_in(fields, "u")
        if first > last:
            raise malformed(f"update ids {first}..{last}")
        return _Change(first, last, count_in(fields, "E"), levels_in(fields, "b"), levels_in(fields, "a"))


def _request(method: str, symbol: str) -> str:
    return orjson.dumps({"method": method, "params": [f"{symbol.lower()}@depth@100ms"], "id": 1}).decode()


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    return [_request("UNSUBSCRIBE", binance_symbol(market))]


def rest_book(market: Market) -> str:
    return f"/api/v3/depth?symbol={binance_symbol(market)}&limit={REST_LEVELS}"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    fields = fields_of(body)
    _check_answer(fields)
    return top_of(levels_in(fields, "bids"), levels_in(fields, "asks"))


def parse_server_time(body: bytes) -> int:
    """Raise FrameRejectedError."""
    return count_in(fields_of(body), "serverTime") * _MICROS_OF_MS


def _check_other(fields: Fields) -> None:
    """Raise unless a message other than a book change can be ignored."""
    _check_answer(fields)
    if "e" in fields:
        event = text_in(fields, "e")
        if event == "serverShutdown":
            raise FeedDroppedError("binance is closing this connection")
        if event not in _OTHER_EVENTS:
            raise malformed(f"unknown event {event!r}")
    elif not ("result" in fields and fields["result"] is None) and not {"u", "s", "b", "a"} <= fields.keys():
        # An acknowledgement, or a best quote, which names no event.
        raise malformed(f"unknown message: {str(fields)[:100]}")


def _check_answer(fields: Fields) -> None:
    """Raise FeedRejectedError, FeedDroppedError if it is an error."""
    error = fields.get("error", fields)
    if not isinstance(error, dict) or "code" not in error:
        return
    text = f"{error.get('msg')} ({error['code']})"[:200]
    if type(error["code"]) is int and error["code"] in _FINAL_CODES:
        raise FeedRejectedError(f"binance rejected: {text}")
    raise FeedDroppedError(f"binance error: {text}")


WIRE = WireExchange(
    name="binance",
    conversation=BinanceBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    # 1,024 streams a connection, which may send 5 messages a second: three requests, a ping and a pong
    sharing=StreamSharing(
        re.compile(rb'"s":\s*"([^"]+)"'),
        binance_symbol,
        leave,
        symbols=500,
        symbols_field=("params",),
        seconds_between_requests=0.4,
    ),
    server_time=ServerTime("/api/v3/time", parse_server_time),
    detects_loss=True,
)
