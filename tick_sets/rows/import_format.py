"""The port of the importers: a format lists its options and reads one file into rows, chunk by chunk."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from tick_sets.rows.quote_rows import LARGEST

Need = Literal["exchange", "symbol", "half_spread_bps", "mapping"]

_READ: list["pa.Field[Any]"] = [
    # in the file (of its one member, if it is packed), from 1
    pa.field("line", pa.int64()),
    # as ours are named: `coinbaseexchange`, `BTC/USD`
    pa.field("exchange", pa.string()),
    pa.field("symbol", pa.string()),
    pa.field("received_time", pa.int64()),
    pa.field("exchange_time", pa.int64()),
    pa.field("sequence", pa.int64()),
    pa.field("bid", pa.string()),
    pa.field("bid_amount", pa.string()),
    pa.field("ask", pa.string()),
    pa.field("ask_amount", pa.string()),
    pa.field("bids", pa.string()),
    pa.field("asks", pa.string()),
    pa.field("fault", pa.string()),
]
READ_SCHEMA = pa.schema(_READ)
"""The rows that a format reads, in the order of the file: times in microseconds UTC; prices and amounts as in the file,
"" if a side has none; levels as text of the log (`message_format.levels_text`), null if there is only the best one;
`sequence` null or 0 if the source has no numbers; `fault` the reason why a row cannot be used, if the format itself
finds one. The rows are checked later by `market.prices.quotes.rejection_of`, so a format need not do that."""

CHUNK_ROWS = 65_536
OTHER_MARKET = "other_market"
"""The fault of a row of another market than the one that the user named, in a file that has several."""


class RejectedRow(NamedTuple):
    """A row that is no usable quote: `line` in its file, the reason, and the row itself."""

    line: int
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of one file. `originals`: the columns as the file has them, row by row those of `rows`."""

    rows: pa.Table
    originals: pa.Table
    rejected: tuple[RejectedRow, ...] = ()
    """Lines that could not even become a row."""
    other_rows: int = 0
    """How many rows were not asked for, and so are left out."""


class ReadRow(NamedTuple):
    """A row of READ_SCHEMA, and the `text` that it was in the file, for formats that are read row by row."""

    line: int
    exchange: str
    symbol: str
    received_time: int | None
    bid: str
    bid_amount: str
    ask: str
    ask_amount: str
    text: str
    exchange_time: int | None = None
    sequence: int = 0
    bids: str | None = None
    asks: str | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class FileOptions:
    """The user's options for the files, used by the formats that need them."""

    exchange: str | None = None
    symbol: str | None = None
    """As ours are named: BTC/USD, BTC/USDT:USDT."""
    half_spread_bps: Decimal | None = None
    """For prints and bars, which have no bid and ask: how far bid and ask are below and above the price."""
    mapping: Path | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """One format of third-party files. `read` raises ImportRejectedError for a file that is none of its form."""

    name: str
    description: str
    """One line, for `arbitrage import --list`."""
    read: Callable[[Path, FileOptions], Iterator[Chunk]]
    fits: Callable[[Path, bytes], bool]
    """Does the file look like this format, by its name and its first bytes (unpacked)?"""
    needs: tuple[Need, ...] = ()
    is_of_bars: bool = False
    """A new bar takes the place of the older ones of all markets at its moment (they are withdrawn first)."""
    assumptions: tuple[str, ...] = ()
    """Assumptions that a backtest's report states for such data."""


def chunks_of(rows: Iterable[ReadRow], size: int = CHUNK_ROWS) -> Iterator[Chunk]:
    """Return rows that were read one by one, as chunks."""
    remaining = map(_within_bounds, rows)
    while taken := list(islice(remaining, size)):
        columns = dict(zip(ReadRow._fields, zip(*taken, strict=True), strict=True))
        texts = pa.table({"text": pa.array(columns.pop("text"), pa.string())})
        arrays = [pa.array(columns[field.name], field.type) for field in READ_SCHEMA]
        yield Chunk(pa.Table.from_arrays(arrays, schema=READ_SCHEMA), texts)


def chunks_with(rejected_rows: list[RejectedRow], rows: Iterable[ReadRow], size: int) -> Iterator[Chunk]:
    """Return the same; reading `rows` fills `rejected_rows`, which are taken out, also those after the last row."""
    for chunk in chunks_of(rows, size):
        yield Chunk(chunk.rows, chunk.originals, tuple(rejected_rows))
        rejected_rows.clear()
    if rejected_rows:
        yield Chunk(READ_SCHEMA.empty_table(), pa.table({"text": pa.array([], pa.string())}), tuple(rejected_rows))


def _within_bounds(row: ReadRow) -> ReadRow:
    """Return the row, as unreadable if one of its numbers is too large for a column."""
    numbers = row.received_time, row.exchange_time, row.sequence
    if all(number is None or -LARGEST <= number <= LARGEST for number in numbers):
        return row
    return row._replace(received_time=None, exchange_time=None, sequence=0, fault="unreadable")
