"""bitFlyer's Lightstream: JSON-RPC with periodic book snapshots ("board") and changes in between; neither time nor
sequence."""

import re
from collections.abc import Iterable

import orjson

from exchanges.bitflyer.symbols import bitflyer_product
from exchanges.books.errors import FeedDroppedError, FeedRejectedError
from exchanges.books.frames import (
    REST_LEVELS,
    Fields,
    as_fields,
    as_rows,
    exact_fields_of,
    level_of,
    malformed,
    text_in,
)
from exchanges.books.port import Send, WireExchange, WireOutput
from exchanges.books.stream_sharing import StreamSharing
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level

# JSON-RPC's own codes for a request that is wrong in itself; others are server errors.
_FINAL_CODES = frozenset(("-32600", "-32601", "-32602"))


class BitflyerBook:
    """One product's board."""

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._product = bitflyer_product(market)
        self._changes, self._snapshots = _channels_of(self._product)
        self._book = OrderBook()
        self._has_snapshot = False

    def open(self, now: int) -> list[WireOutput]:
        # Snapshots come seconds apart, changes at once: subscribing to changes first leaves no gap between them.
        return [Send(text) for text in _requests("subscribe", self._product)]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = exact_fields_of(frame)
        if fields.get("method") != "channelMessage":
            _check_answer(fields)
            return []
        parameters = as_fields(fields.get("params"))
        channel = text_in(parameters, "channel")
        if channel not in (self._snapshots, self._changes):
            if not channel.startswith("lightning_") or channel.startswith("lightning_board"):
                raise malformed(f"a message of {channel!r} instead of {self._changes}")
            return []
        board = as_fields(parameters.get("message"))
        bids, asks = _levels_in(board, "bids"), _levels_in(board, "asks")
        if channel == self._snapshots:
            self._book.restart(bids, asks)
            self._has_snapshot = True
        elif not self._has_snapshot:
            # Included in the snapshot that follows: both come over one connection, in order.
            return []
        else:
            self._book.apply(bids, asks)
        return [self._book.top()]

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: the stream sends its own snapshot."""
        return []


def _channels_of(product: str) -> tuple[str, str]:
    """Return the channels of changes and of snapshots."""
    return f"lightning_board_{product}", f"lightning_board_snapshot_{product}"


def _requests(method: str, product: str) -> list[str]:
    requests = [
        {"jsonrpc": "2.0", "method": method, "params": {"channel": channel}, "id": number}
        for number, channel in enumerate(_channels_of(product), start=1)
    ]
    return [orjson.dumps(request).decode() for request in requests]


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    return _requests("unsubscribe", bitflyer_product(market))


def rest_book(market: Market) -> str:
    return f"/v1/getboard?product_code={bitflyer_product(market)}"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError."""
    fields = exact_fields_of(body)
    if "error_message" in fields:
        raise FeedDroppedError(f"bitflyer error: {str(fields['error_message'])[:200]}")
    bids, asks = (_levels(as_rows(fields.get(side))[:REST_LEVELS]) for side in ("bids", "asks"))
    return top_of(bids, asks)


def _levels_in(board: Fields, name: str) -> list[Level]:
    return _levels(as_rows(board.get(name)))


def _levels(rows: Iterable[object]) -> list[Level]:
    levels = []
    for row in map(as_fields, rows):
        # Price 0 collects market orders during a halt (bitFlyer's docs, "board"): it is not a level to trade at.
        if row.get("price") not in ("0", "0.0"):
            levels.append(level_of(row.get("price"), row.get("size")))
    return levels


def _check_answer(fields: Fields) -> None:
    """Check the answer to a subscription. Raises FeedRejectedError, FeedDroppedError, FrameRejectedError."""
    error = fields.get("error")
    if isinstance(error, dict):
        text = f"{error.get('message')} ({error.get('code')})"[:200]
        if str(error.get("code")) in _FINAL_CODES:
            raise FeedRejectedError(f"bitflyer rejected the subscription: {text}")
        raise FeedDroppedError(f"bitflyer error: {text}")
    if fields.get("result") is not True:
        raise malformed(f"unknown message: {str(fields)[:100]}")


WIRE = WireExchange(
    name="bitflyer",
    conversation=BitflyerBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    sharing=StreamSharing(
        re.compile(rb'"channel":\s*"lightning_board_(?:snapshot_)?([^"]+)"'), bitflyer_product, leave, symbols=50
    ),
)
