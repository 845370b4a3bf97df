"""Coinbase Exchange: `level2`, a snapshot and its changes, beside `heartbeat`, which counts the product's messages."""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable

import orjson

from exchanges.books.errors import FeedRejectedError, FrameRejectedError
from exchanges.books.frames import (
    Fields,
    as_fields,
    as_rows,
    best_levels_in,
    count_in,
    exact_json,
    exchange_error,
    fields_of,
    level_of,
    levels_in,
    malformed,
    micros_of_iso,
    text_in,
)
from exchanges.books.port import Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.books.stream_sharing import StreamSharing
from exchanges.coinbaseexchange.symbols import coinbaseexchange_product
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level
from market.time_units import MICROSECONDS

_SIGNED_PATH = "/users/self/verify"
# Errors that a retry does not change. A timestamp out of range is not one: the clocks may agree next time.
_FINAL_WORDS = ("api key", "passphrase", "invalid signature", "product", "not found", "notfound", "forbidden")
_OTHER_KINDS = frozenset(("subscriptions", "status", "ticker", "match", "last_match"))


class CoinbaseExchangeBook:
    """One product. With API keys it is `level2`, which sends each change; without, `level2_batch`, which sends every
    50 ms."""

    def __init__(self, market: Market, keys: Credentials | None) -> None:
        self._product = coinbaseexchange_product(market)
        self._keys = keys
        self._book = OrderBook()
        self._has_snapshot = False
        self._last_time: int | None = None
        self._last_counts = (0, 0)
        """`sequence` and `last_trade_id` of the newest heartbeat."""
        self._listeners: dict[str, Callable[[Fields], list[WireOutput]]] = {
            "l2update": self._update,
            "snapshot": self._snapshot,
            "heartbeat": self._heartbeat,
        }

    def open(self, now: int) -> list[WireOutput]:
        request: dict[str, object] = {
            "type": "subscribe",
            "product_ids": [self._product],
            "channels": _channels(self._keys),
        }
        if self._keys is not None:
            request |= _signature(self._keys, now)
        return [Send(orjson.dumps(request).decode())]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = fields_of(frame)
        kind = text_in(fields, "type")
        if kind in self._listeners:
            if fields.get("product_id") != self._product:
                raise malformed(f"{kind} of {fields.get('product_id')!r} instead of {self._product}")
            return self._listeners[kind](fields)
        if kind == "error":
            raise exchange_error("coinbaseexchange", f"{fields.get('message')}: {fields.get('reason')}", _FINAL_WORDS)
        if kind not in _OTHER_KINDS:
            # Not ignored: it may be a book change with a corrupted type.
            raise malformed(f"unknown kind {kind!r}")
        return []

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: the stream sends its own snapshot."""
        return []

    def _snapshot(self, fields: Fields) -> list[WireOutput]:
        self._book.restart(levels_in(fields, "bids"), levels_in(fields, "asks"))
        self._has_snapshot = True
        return [self._book.top(self._time_of(fields) if "time" in fields else None)]

    def _update(self, fields: Fields) -> list[WireOutput]:
        if not self._has_snapshot:
            raise FrameRejectedError("sequence_gap", f"a change of {self._product} before its snapshot")
        moment = self._time_of(fields)
        for row in as_rows(fields.get("changes")):
            is_bid, level = _change_of(row)
            (self._book.bids if is_bid else self._book.asks).put(level)
        return [self._book.top(moment)]

    def _heartbeat(self, fields: Fields) -> list[WireOutput]:
        counts = (count_in(fields, "sequence"), count_in(fields, "last_trade_id"))
        if counts[0] < self._last_counts[0] or counts[1] < self._last_counts[1]:
            raise FrameRejectedError("sequence_gap", f"heartbeat {counts} of {self._product} after {self._last_counts}")
        self._last_counts = counts
        return [Heartbeat()]

    def _time_of(self, fields: Fields) -> int:
        """Messages have no sequence number; a time that goes back is the only sign of a wrong order."""
        moment = micros_of_iso(text_in(fields, "time"))
        if self._last_time is not None and moment < self._last_time:
            raise FrameRejectedError("sequence_gap", f"{self._product} went back by {self._last_time - moment} µs")
        self._last_time = moment
        return moment


def _channels(keys: Credentials | None) -> list[str]:
    return ["level2" if keys else "level2_batch", "heartbeat"]


def leave(market: Market, keys: Credentials | None) -> list[str]:
    products = [coinbaseexchange_product(market)]
    return [orjson.dumps({"type": "unsubscribe", "product_ids": products, "channels": _channels(keys)}).decode()]


def rest_book(market: Market) -> str:
    return f"/products/{coinbaseexchange_product(market)}/book?level=2"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    fields = fields_of(body)
    if "message" in fields:
        raise exchange_error("coinbaseexchange", str(fields["message"]), _FINAL_WORDS)
    moment = micros_of_iso(text_in(fields, "time")) if "time" in fields else None
    return top_of(best_levels_in(fields, "bids"), best_levels_in(fields, "asks"), moment)


def parse_server_time(body: bytes) -> int:
    """Raise FrameRejectedError."""
    return micros_of_iso(text_in(as_fields(exact_json(body)), "iso"))


def _change_of(row: object) -> tuple[bool, Level]:
    if not isinstance(row, list) or len(row) != 3 or row[0] not in ("buy", "sell"):
        raise malformed(f"not a change: {row!r}")
    return row[0] == "buy", level_of(row[1], row[2])


def _signature(keys: Credentials, now: int) -> dict[str, object]:
    seconds = now // MICROSECONDS
    try:
        secret = base64.b64decode(keys.secret, validate=True)
    except (binascii.Error, ValueError):
        raise FeedRejectedError("the secret of the coinbaseexchange account is not base64") from None
    signed = hmac.digest(secret, f"{seconds}GET{_SIGNED_PATH}".encode(), hashlib.sha256)
    return {
        "timestamp": seconds,
        "key": keys.api_key,
        "signature": base64.b64encode(signed).decode(),
        "passphrase": keys.password,
    }


WIRE = WireExchange(
    name="coinbaseexchange",
    conversation=CoinbaseExchangeBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    # 8 connections a second, and 100 messages
    sharing=StreamSharing(
        re.compile(rb'"product_id":\s*"([^"]+)"'),
        coinbaseexchange_product,
        leave,
        symbols=50,
        symbols_field=("product_ids",),
    ),
    server_time=ServerTime("/time", parse_server_time),
)
