"""Hyperliquid's books as hftbacktest records them: each `l2Book` message is a whole book, 20 levels a side."""

from collections.abc import Iterator
from pathlib import Path

from market.prices.order_book import top_of
from tick_sets.errors import reject
from tick_sets.importers.hftbacktest_lines import raw_messages
from tick_sets.mapped.books import LevelPlace, book_row, faulty_row
from tick_sets.mapped.symbols import OneTicker
from tick_sets.rows.csv_columns import UNREADABLE
from tick_sets.rows.import_format import Chunk, FileOptions, ReadRow, chunks_of
from tick_sets.rows.quote_rows import level_of
from tick_sets.rows.symbol_names import named_market


def read_books(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read the channel l2Book; messages of other channels are ignored. Raises ImportRejectedError."""
    return chunks_of(_rows(path, *named_market(path, options)))


def _rows(path: Path, exchange: str, symbol: str) -> Iterator[ReadRow]:
    # it names the coin alone, and quotes all of them in USDC
    ticker = OneTicker(path, symbol.partition("/")[0])
    is_empty = True
    for raw in raw_messages(path):
        place = LevelPlace(raw.line, (exchange, symbol), raw.received_time, raw.text)
        if raw.is_damaged:
            yield faulty_row(place, UNREADABLE)
            continue
        if raw.message.get("channel") != "l2Book":
            continue
        is_empty = False
        data = raw.message.get("data")
        if not isinstance(data, dict) or "coin" not in data:
            reject(path, raw.line, "its message lacks data with the coin")
        ticker.check(data["coin"], raw.line)
        try:
            exchange_time = int(data["time"]) * 1_000
            bids, asks = ([level_of(one["px"], one["sz"]) for one in side] for side in data["levels"])
        except (ValueError, KeyError, TypeError):
            yield faulty_row(place, UNREADABLE)
            continue
        yield book_row(place, top_of(bids, asks), exchange_time)
    if is_empty:
        reject(path, None, "contains no l2Book message")
