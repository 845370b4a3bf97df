"""Bitstamp: `diff_order_book` sends changes only, each with its time in microseconds; the snapshot comes by REST."""

import re

import orjson

from exchanges.bitstamp.symbols import bitstamp_pair
from exchanges.books.errors import FeedDroppedError, FrameRejectedError
from exchanges.books.frames import (
    Fields,
    as_fields,
    best_levels_in,
    count_in,
    exchange_error,
    fields_of,
    levels_in,
    malformed,
    text_in,
)
from exchanges.books.port import Heartbeat, Send, WireExchange, WireOutput
from exchanges.books.snapshots import SnapshotFetches
from exchanges.books.stream_sharing import StreamSharing
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level

_FINAL_WORDS = ("bad subscription", "unauthorized", "invalid market", "not found", "invalid currency pair")
_OTHER_EVENTS = frozenset(
    (
        "bts:subscription_succeeded",
        "bts:unsubscription_succeeded",
        "trade",
        "order_created",
        "order_changed",
        "order_deleted",
    )
)

_Change = tuple[int, list[Level], list[Level]]
"""Microseconds UTC, bids, asks."""


class BitstampBook:
    """One pair. A snapshot is used if it is not older than the first change received: then nothing is missing."""

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._channel = _channel_of(market)
        self._fetches = SnapshotFetches(rest_book(market))
        self._book = OrderBook()
        self._book_time: int | None = None
        """Time of the last change in the book; None before the snapshot."""
        self._newest_time = 0
        """Time of the newest change received."""
        self._waiting: list[_Change] = []

    def open(self, now: int) -> list[WireOutput]:
        return [Send(_request("bts:subscribe", self._channel))]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = fields_of(frame)
        event = text_in(fields, "event")
        if event == "data":
            return self._take_change(fields, now)
        if event == "bts:heartbeat":
            return [Heartbeat(), *self._fetch(now)]
        if event == "bts:request_reconnect":
            raise FeedDroppedError("bitstamp requests a reconnect: its server is shutting down")
        if event == "bts:error":
            raise exchange_error("bitstamp", str(as_fields(fields.get("data")).get("message")), _FINAL_WORDS)
        if event not in _OTHER_EVENTS:
            raise malformed(f"unknown event {event!r}")
        return []

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        fields = _book_fields(body)
        moment, bids, asks = _change_in(fields)
        if self._book_time is not None or not self._waiting:
            return []
        if moment < self._waiting[0][0]:
            self._fetches.came_too_old(now)
            return []
        self._book.restart(bids, asks)
        self._book_time = moment
        for change in self._waiting:
            self._apply(change)
        self._waiting = []
        return [self._book.top(self._book_time)]

    def _take_change(self, fields: Fields, now: int) -> list[WireOutput]:
        if fields.get("channel") != self._channel:
            raise malformed(f"a change of {fields.get('channel')!r} instead of {self._channel}")
        change = _change_in(as_fields(fields.get("data")))
        if change[0] < self._newest_time:
            back = self._newest_time - change[0]
            raise FrameRejectedError("sequence_gap", f"{self._channel} went back by {back} µs")
        self._newest_time = change[0]
        if self._book_time is None:
            self._waiting.append(change)
            return self._fetch(now)
        self._apply(change)
        return [self._book.top(self._book_time)]

    def _apply(self, change: _Change) -> None:
        """Change up to the snapshot's time are in the book already."""
        moment, bids, asks = change
        if self._book_time is None or moment > self._book_time:
            self._book.apply(bids, asks)
            self._book_time = moment

    def _fetch(self, now: int) -> list[WireOutput]:
        """Request it after the first change, so that the snapshot's time can be compared with it."""
        if self._book_time is not None or not self._waiting:
            return []
        return self._fetches.due(now, len(self._waiting))


def _channel_of(market: Market) -> str:
    return f"diff_order_book_{bitstamp_pair(market)}"


def _request(event: str, channel: str) -> str:
    return orjson.dumps({"event": event, "data": {"channel": channel}}).decode()


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    return [_request("bts:unsubscribe", _channel_of(market))]


def rest_book(market: Market) -> str:
    return f"/api/v2/order_book/{bitstamp_pair(market)}/"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    fields = _book_fields(body)
    moment = count_in(fields, "microtimestamp")
    return top_of(best_levels_in(fields, "bids"), best_levels_in(fields, "asks"), moment)


def _book_fields(body: bytes) -> Fields:
    fields = fields_of(body)
    if "error" in fields or fields.get("status") == "error":
        raise exchange_error("bitstamp", str(fields.get("error", fields.get("reason"))), _FINAL_WORDS)
    return fields


def _change_in(fields: Fields) -> _Change:
    return count_in(fields, "microtimestamp"), levels_in(fields, "bids"), levels_in(fields, "asks")


WIRE = WireExchange(
    name="bitstamp",
    conversation=BitstampBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    sharing=StreamSharing(re.compile(rb'"channel":\s*"([^"]+)"'), _channel_of, leave, symbols=50),
)
