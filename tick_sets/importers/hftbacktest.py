"""Raw Binance streams as hftbacktest records them: gzip, one line `<local nanoseconds> <raw JSON message>`.

Only `bookTicker` messages are read: the best bid and ask with the displayed amounts. The recorder's clock is taken
as it stands; in the known recording it runs 1.27 s behind the exchange's, so that `exchange_time` lies ahead.
"""

import gzip
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from market.instruments.markets import Market
from market.prices.quotes import Quote
from tick_sets.errors import reject
from tick_sets.rows.quote_rows import LastLevel, QuoteRows, Rejections


@dataclass(frozen=True, slots=True)
class TickerSource:
    """The exchange's own symbol, which all messages of a file must have."""

    symbol: str


def book_tickers(path: Path, market: Market, source: TickerSource, rejections: Rejections) -> Iterator[Quote]:
    """Return quotes in file order; `sequence` is the exchange's update id `u`. Raises ImportRejectedError."""
    rows = QuoteRows(market, rejections)
    bids, asks = LastLevel(), LastLevel()
    is_empty = True
    for number, received_time, message in _messages(path):
        if not str(message.get("stream", "")).endswith("@bookTicker"):
            continue
        is_empty = False
        ticker = message.get("data")
        if not isinstance(ticker, dict) or not {"u", "s", "b", "B", "a", "A"} <= ticker.keys():
            reject(path, number, "a bookTicker message lacks one of u, s, b, B, a, A")
        if ticker["s"] != source.symbol:
            reject(path, number, f"is about {ticker['s']}, while {source.symbol} is expected in this folder")
        try:
            bid, ask = bids.level(ticker["b"], ticker["B"]), asks.level(ticker["a"], ticker["A"])
            exchange_time = _exchange_time(ticker)
            sequence = int(ticker["u"])
        except (ValueError, TypeError):
            rows.count_unreadable()
            continue
        quote = rows.quote(bid, ask, received_time, exchange_time, sequence)
        if quote is not None:
            yield quote
    if is_empty:
        reject(path, None, "contains no bookTicker message")


def _messages(path: Path) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """Return (line number, microseconds received, message) of every line. Raises ImportRejectedError."""
    for number, line in _lines(path):
        stamp, _, text = line.partition(b" ")
        if not stamp.isdigit():
            reject(path, number, "does not begin with the time in nanoseconds")
        try:
            message = orjson.loads(text)
        except orjson.JSONDecodeError:
            reject(path, number, "is not JSON behind the time")
        if not isinstance(message, dict):
            reject(path, number, "is not a JSON object behind the time")
        yield number, int(stamp) // 1_000, message


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with gzip.open(path) as file:
            for number, line in enumerate(file, start=1):
                yield number, line
    except EOFError:
        reject(path, number + 1, "the gzip data end too early; the file is truncated")
    except (gzip.BadGzipFile, zlib.error):
        reject(path, number + 1, "is not valid gzip data")
    except OSError as error:
        reject(path, None, f"cannot be read ({error.strerror or error})")


def _exchange_time(ticker: Mapping[str, Any]) -> int | None:
    """Return the exchange's time in microseconds; spot's bookTicker has none."""
    return int(ticker["E"]) * 1_000 if "E" in ticker else None
