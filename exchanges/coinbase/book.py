"""Coinbase Advanced Trade: `level2`, a snapshot and its changes, beside `heartbeats`, which keeps the stream open.

https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis/websocket/websocket-channels, read in November 2026
"""

import re

import orjson

from exchanges.books.errors import FrameRejectedError
from exchanges.books.frames import (
    REST_LEVELS,
    Fields,
    as_fields,
    as_rows,
    count_in,
    exchange_error,
    fields_of,
    level_of,
    malformed,
    micros_of_iso,
    named_levels_in,
    text_in,
)
from exchanges.books.port import Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.books.stream_sharing import StreamSharing
from exchanges.coinbase.symbols import coinbase_product
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level

_MICROS_OF_MS = 1_000
_FINAL_WORDS = ("authentication", "invalid product", "not a valid", "not found", "invalid_argument", "permission")
"""Of errors that a retry does not change."""
_OF_NO_BOOK = frozenset(("subscriptions", "status", "ticker", "ticker_batch", "market_trades", "candles"))


class CoinbaseBook:
    """One product. That no message of its connection was lost is seen by `sequence_num`, which counts all of them
    (`StreamSharing.number`)."""

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._product = coinbase_product(market)
        self._book = OrderBook()
        self._has_snapshot = False

    def open(self, now: int) -> list[WireOutput]:
        return [Send(_request("subscribe", channel, self._product)) for channel in ("level2", "heartbeats")]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = fields_of(frame)
        if fields.get("type") == "error":
            raise exchange_error("coinbase", str(fields.get("message")), _FINAL_WORDS)
        channel = text_in(fields, "channel")
        if channel == "l2_data":
            time = micros_of_iso(text_in(fields, "timestamp"))
            return [self._take_event(as_fields(event), time) for event in as_rows(fields.get("events"))]
        if channel == "heartbeats":
            return [Heartbeat()]
        if channel not in _OF_NO_BOOK:
            # Not ignored: it may be a book change with a corrupted channel.
            raise malformed(f"unknown channel {channel!r}")
        return []

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: the stream sends its own snapshot."""
        return []

    def _take_event(self, event: Fields, time: int) -> WireOutput:
        if event.get("product_id") != self._product:
            raise malformed(f"a book of {event.get('product_id')!r} instead of {self._product}")
        kind, bids, asks = text_in(event, "type"), _levels_in(event, "bid"), _levels_in(event, "offer")
        if kind == "snapshot":
            self._book.restart(bids, asks)
            self._has_snapshot = True
        elif kind != "update":
            raise malformed(f"a message that is a {kind!r} of {self._product}")
        elif not self._has_snapshot:
            raise FrameRejectedError("sequence_gap", f"a change of {self._product} before its snapshot")
        else:
            self._book.apply(bids, asks)
        return self._book.top(time)


def _levels_in(event: Fields, side: str) -> list[Level]:
    rows = [as_fields(row) for row in as_rows(event.get("updates"))]
    if unknown := [row for row in rows if row.get("side") not in ("bid", "offer")]:
        raise malformed(f"not a side: {unknown[0].get('side')!r}")
    return [level_of(row.get("price_level"), row.get("new_quantity")) for row in rows if row["side"] == side]


def _request(kind: str, channel: str, product: str) -> str:
    return orjson.dumps({"type": kind, "product_ids": [product], "channel": channel}).decode()


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    return [_request("unsubscribe", "level2", coinbase_product(market))]


def rest_book(market: Market) -> str:
    return f"/api/v3/brokerage/market/product_book?product_id={coinbase_product(market)}&limit={REST_LEVELS}"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    book = as_fields(_checked(body).get("pricebook"))
    bids, asks = (named_levels_in(book, side, "price", "size") for side in ("bids", "asks"))
    return top_of(bids, asks, micros_of_iso(text_in(book, "time")))


def parse_server_time(body: bytes) -> int:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    return count_in(_checked(body), "epochMillis") * _MICROS_OF_MS


def _checked(body: bytes) -> Fields:
    """Return an answer of REST. Raises FeedRejectedError, FeedDroppedError if it is an error."""
    fields = fields_of(body)
    if "error" in fields:
        raise exchange_error("coinbase", f"{fields['error']}: {fields.get('message')}", _FINAL_WORDS)
    return fields


WIRE = WireExchange(
    name="coinbase",
    conversation=CoinbaseBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    # 8 connections and 8 messages without a key a second from one address: websocket/websocket-rate-limits
    sharing=StreamSharing(
        re.compile(rb'"product_id":\s*"([^"]+)"'),
        coinbase_product,
        leave,
        symbols=25,
        symbols_field=("product_ids",),
        number=re.compile(rb'"sequence_num":\s*([0-9]{1,18})'),
    ),
    server_time=ServerTime("/api/v3/brokerage/time", parse_server_time),
    detects_loss=True,
)
