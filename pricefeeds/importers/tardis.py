"""Tardis' CSV files: every row names its exchange and symbol, times are microseconds since 1970 (UTC).

`timestamp` is the exchange's own, `local_timestamp` that of arrival, by which rows are ordered.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pricefeeds.importers.csvcolumns import UNREADABLE, CsvPart, csv_parts, demand_columns, header_names, whole_numbers
from pricefeeds.importers.format import READ_SCHEMA, Chunk, FileOptions, Format
from pricefeeds.importers.rows import refuse
from pricefeeds.importers.symbols import our_exchange, our_symbol

Cells: TypeAlias = "pa.ChunkedArray[Any]"

COMMON = ("exchange", "symbol", "timestamp", "local_timestamp")
QUOTES = (*COMMON, "ask_amount", "ask_price", "bid_price", "bid_amount")


def read_quotes(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """`quotes` and `book_ticker`: the best bid and ask. Raises ImportRefusedError."""
    for part in csv_parts(path):
        demand_columns(path, part.cells.column_names, QUOTES)
        columns = {
            "bid": part.cells["bid_price"],
            "bid_amount": part.cells["bid_amount"],
            "ask": part.cells["ask_price"],
            "ask_amount": part.cells["ask_amount"],
        }
        yield chunk_of(path, part, options, columns)


def chunk_of(path: Path, part: CsvPart, options: FileOptions, columns: dict[str, Cells]) -> Chunk:
    """`columns` of READ_SCHEMA beside what all of Tardis' files have. Raises ImportRefusedError."""
    exchange, symbol = _market_columns(path, part.cells, options)
    exchange_time = whole_numbers(part.cells["timestamp"])
    given: dict[str, Any] = {
        "line": pa.array(part.lines),
        "exchange": exchange,
        "symbol": symbol,
        "received_time": whole_numbers(part.cells["local_timestamp"]),
        "exchange_time": exchange_time,
        "fault": pc.if_else(exchange_time.is_null(), UNREADABLE, pa.scalar(None, pa.string())),
        **columns,
    }
    rows = part.cells.num_rows
    arrays = [given.get(field.name, pa.nulls(rows, field.type)) for field in READ_SCHEMA]
    return Chunk(pa.Table.from_arrays(arrays, schema=READ_SCHEMA), part.cells, part.rejected)


def _market_columns(path: Path, cells: pa.Table, options: FileOptions) -> tuple["pa.StringArray", "pa.StringArray"]:
    """Exchange and symbol of each row, as they are called here."""
    exchanges = _renamed(cells["exchange"], lambda name: options.exchange or our_exchange(name))
    if options.symbol is not None:
        names = [str(name) for name in cells["symbol"].unique().to_pylist()]
        if len(names) > 1:
            refuse(path, None, f"holds {', '.join(names[:3])}; leave --symbol away, or cut the file")
        return exchanges, _renamed(cells["symbol"], lambda _: str(options.symbol))
    exchange_names = [str(name) for name in exchanges.unique().to_pylist()]
    if len(exchange_names) > 1:
        refuse(path, None, f"holds rows of {', '.join(exchange_names[:3])}; cut it by exchange")
    return exchanges, _renamed(cells["symbol"], lambda name: our_symbol(path, exchange_names[0], name))


def _renamed(cells: Cells, name_of: Callable[[str], str]) -> "pa.StringArray":
    coded = cells.combine_chunks().dictionary_encode()
    names = pa.array([name_of(str(name)) for name in coded.dictionary.to_pylist()], pa.string())
    return names.take(coded.indices)


def has_columns(names: tuple[str, ...]) -> Callable[[Path, bytes], bool]:
    """Whether a file's first line has these columns."""

    def fits(_: Path, head: bytes) -> bool:
        return set(names) <= set(header_names(head.partition(b"\n")[0]))

    return fits


TARDIS_QUOTES = Format(
    name="tardis-quotes",
    description="Tardis CSV quotes or book_ticker: best bid and ask with amounts, arrival time in microseconds",
    read=read_quotes,
    fits=has_columns(QUOTES),
)
