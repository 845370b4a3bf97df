"""Kraken's WebSocket v2 `book`: a snapshot and its changes, each with a CRC32 of the ten best levels."""

import re
from collections.abc import Iterable
from zlib import crc32

import orjson

from exchanges.books.errors import FeedDroppedError, FrameRejectedError
from exchanges.books.frames import (
    Fields,
    as_fields,
    as_rows,
    count_in,
    exact_fields_of,
    exchange_error,
    levels_in,
    malformed,
    micros_of_iso,
    named_levels_in,
    text_in,
)
from exchanges.books.port import Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.books.stream_sharing import StreamSharing
from exchanges.credentials import Credentials
from exchanges.kraken.symbols import kraken_pair, kraken_stream_symbol
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from market.prices.order_book import OrderBook, top_of
from market.prices.quotes import Level
from market.time_units import MICROSECONDS

DEPTH = 10
"""The depth of a quote; a deeper book costs more messages for levels that are not used."""
_FINAL_WORDS = ("not supported", "invalid", "unknown asset pair", "permission", "malformed")
_OTHER_CHANNELS = frozenset(("ticker", "trade", "ohlc", "instrument"))


class KrakenBook:
    """One symbol. Any lost, repeated or reordered change shows in the checksum of the message after it."""

    def __init__(self, market: Market, _keys: Credentials | None) -> None:
        self._symbol = kraken_stream_symbol(market)
        self._book = CheckedBook(DEPTH)
        self._has_snapshot = False

    def open(self, now: int) -> list[WireOutput]:
        parameters = {"channel": "book", "symbol": [self._symbol], "depth": DEPTH, "snapshot": True}
        return [Send(orjson.dumps({"method": "subscribe", "params": parameters}).decode())]

    def take_frame(self, frame: str | bytes, now: int) -> list[WireOutput]:
        fields = exact_fields_of(frame)
        channel = fields.get("channel")
        if channel == "book":
            return [self._take_book(fields)]
        if channel == "heartbeat" or fields.get("method") == "pong":
            return [Heartbeat()]
        if channel == "status":
            _check_status(fields)
        elif channel is None:
            _check_answer(fields)
        elif not isinstance(channel, str) or channel not in _OTHER_CHANNELS:
            raise malformed(f"unknown channel {channel!r}")
        return []

    def take_snapshot(self, body: bytes, now: int) -> list[WireOutput]:
        """Not used: the stream sends its own snapshot."""
        return []

    def _take_book(self, fields: Fields) -> BookTop:
        kind, rows = text_in(fields, "type"), as_rows(fields.get("data"))
        if kind not in ("snapshot", "update") or len(rows) != 1:
            raise malformed(f"a book of kind {kind!r} with {len(rows)} rows")
        row = as_fields(rows[0])
        if row.get("symbol") != self._symbol:
            raise malformed(f"a book of {row.get('symbol')!r} instead of {self._symbol}")
        bids, asks = named_levels_in(row, "bids", "price", "qty"), named_levels_in(row, "asks", "price", "qty")
        if kind == "snapshot":
            self._book.restart(bids, asks)
            self._has_snapshot = True
        elif not self._has_snapshot:
            raise FrameRejectedError("sequence_gap", f"a change of {self._symbol} before its snapshot")
        else:
            self._book.apply(bids, asks)
        self._book.check(count_in(row, "checksum"))
        return self._book.top(micros_of_iso(text_in(row, "timestamp")) if "timestamp" in row else None)


class CheckedBook:
    """The levels keep the exchange's own digits, trailing zeros included: the checksum is computed from them."""

    def __init__(self, depth: int) -> None:
        self._book = OrderBook()
        self._depth = depth
        self._asks = _Digits()
        self._bids = _Digits()

    def restart(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        self._book.restart(bids, asks)
        self._book.cut(self._depth)

    def apply(self, bids: Iterable[Level], asks: Iterable[Level]) -> None:
        """Kraken does not announce a level that is pushed out of the depth, so it is cut off here."""
        self._book.apply(bids, asks)
        self._book.cut(self._depth)

    def check(self, checksum: int) -> None:
        """Raise FrameRejectedError "checksum" if the book differs from the exchange's."""
        digits = self._asks.of(self._book.asks.best()) + self._bids.of(self._book.bids.best())
        own = crc32(digits.encode())
        if own != checksum:
            raise FrameRejectedError("checksum", f"the exchange's book is {checksum}, ours {own}")

    def top(self, exchange_time: int | None = None) -> BookTop:
        return self._book.top(exchange_time)


class _Digits:
    """One side's digits, computed only for levels that are new since the last call."""

    def __init__(self) -> None:
        self._levels: tuple[Level, ...] = ()
        self._known: dict[Level, str] = {}
        self._digits = ""

    def of(self, levels: tuple[Level, ...]) -> str:
        if levels is not self._levels:
            self._known = {level: self._known.get(level) or level_digits(level) for level in levels}
            self._levels, self._digits = levels, "".join(self._known.values())
        return self._digits


def level_digits(level: Level) -> str:
    """Price and amount without point and leading zeros, as the exchange concatenates them."""
    return "".join([format(number, "f").replace(".", "").lstrip("0") for number in level])


def rest_book(market: Market) -> str:
    return f"/0/public/Depth?pair={kraken_pair(market)}&count=100"


def parse_rest_book(body: bytes) -> BookTop:
    """Raise FrameRejectedError, FeedDroppedError, FeedRejectedError."""
    books = list(_result_of(body).values())
    if len(books) != 1:
        raise malformed(f"{len(books)} books instead of one")
    bids, asks = _sides_of(as_fields(books[0]))
    return top_of(bids, asks)


def parse_server_time(body: bytes) -> int:
    """Return a whole second. Raises FrameRejectedError, FeedDroppedError."""
    return count_in(_result_of(body), "unixtime") * MICROSECONDS


def _sides_of(book: Fields) -> tuple[list[Level], list[Level]]:
    return levels_in(book, "bids"), levels_in(book, "asks")


def _result_of(body: bytes) -> Fields:
    fields = exact_fields_of(body)
    errors = as_rows(fields.get("error"))
    if errors:
        raise exchange_error("kraken", ", ".join(map(str, errors)), _FINAL_WORDS)
    return as_fields(fields.get("result"))


def _check_status(fields: Fields) -> None:
    """Raise FeedDroppedError unless the exchange trades: quotes of a halted book cannot be traded."""
    for row in as_rows(fields.get("data")):
        system = text_in(as_fields(row), "system")
        if system != "online":
            raise FeedDroppedError(f"kraken's system status is {system[:50]}")


def _check_answer(fields: Fields) -> None:
    """Raise FeedRejectedError, FeedDroppedError, FrameRejectedError unless it reports that a request succeeded."""
    if "error" in fields:
        raise exchange_error("kraken", str(fields["error"]), _FINAL_WORDS)
    if fields.get("success") is not True:
        raise malformed(f"unknown message: {str(fields)[:100]}")


def leave(market: Market, _keys: Credentials | None) -> list[str]:
    parameters = {"channel": "book", "symbol": [kraken_stream_symbol(market)], "depth": DEPTH}
    return [orjson.dumps({"method": "unsubscribe", "params": parameters}).decode()]


WIRE = WireExchange(
    name="kraken",
    conversation=KrakenBook,
    rest_book=rest_book,
    parse_rest_book=parse_rest_book,
    sharing=StreamSharing(
        re.compile(rb'"symbol":\s*"([^"]+)"'),
        kraken_stream_symbol,
        leave,
        symbols=100,
        symbols_field=("params", "symbol"),
    ),
    server_time=ServerTime("/0/public/Time", parse_server_time, MICROSECONDS),
    detects_loss=True,
)
