"""Tardis' CSV files: every row names its exchange and symbol, times are microseconds since 1970 (UTC).

`timestamp` is the exchange's own, `local_timestamp` that of arrival, by which rows are ordered.
"""

import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from market.instruments.contracts import kind_of
from market.prices.quotes import MAX_LEVELS
from tick_sets.errors import reject
from tick_sets.mapped.columns import Column, chunk_of_columns
from tick_sets.mapped.file import LevelColumns
from tick_sets.mapped.levels import level_columns, names_of_levels
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.rows.arrow_columns import distinct, renamed
from tick_sets.rows.csv_columns import UNREADABLE, FilePart, csv_parts, demand_columns, header_names
from tick_sets.rows.import_format import Chunk, FileOptions, Format
from tick_sets.rows.number_cells import whole_numbers
from tick_sets.rows.symbol_names import our_exchange, our_symbol

Cells: TypeAlias = "pa.ChunkedArray[Any]"

COMMON = ("exchange", "symbol", "timestamp", "local_timestamp")
TRADES = (*COMMON, "id", "side", "price", "amount")
OF_CONTRACTS = frozenset(
    {
        *("bitmex", "bybit", "deribit", "okex-futures", "okex-swap", "cryptofacilities", "bitfinex-derivatives", "ftx"),
        *("huobi-dm", "huobi-dm-swap", "huobi-dm-linear-swap", "phemex", "delta", "dydx", "dydx-v4", "woo-x"),
        *("gate-io-futures", "kucoin-futures", "bitget-futures", "hyperliquid", "coinbase-international"),
        *("crypto-com-derivatives", "ascendex-derivatives", "bitnomial"),
    }
)
"""Tardis' names of exchanges whose symbols do not say what a contract is on and settled in."""
SNAPSHOT = ("asks[0].price", "asks[0].amount", "bids[0].price", "bids[0].amount")
QUOTES = (*COMMON, "ask_amount", "ask_price", "bid_price", "bid_amount")


ONE_EACH = "rows of one exchange a file"


def read_quotes(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read `quotes` and `book_ticker`: the best bid and ask. Raises ImportRejectedError."""
    for part in csv_parts(path):
        demand_columns(path, part.cells.column_names, QUOTES)
        columns = {
            "bid": part.cells["bid_price"],
            "bid_amount": part.cells["bid_amount"],
            "ask": part.cells["ask_price"],
            "ask_amount": part.cells["ask_amount"],
        }
        yield chunk_of(path, part, options, columns)


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return each print's price with the assumed half-spread; ids are not used, because those of some exchanges do not
    grow. Raises ImportRejectedError."""
    half_spread = half_spread_of(path, options)
    for part in csv_parts(path):
        demand_columns(path, part.cells.column_names, TRADES)
        yield chunk_of(path, part, options, print_columns(part.cells["price"], part.cells["amount"], half_spread))


def read_snapshots(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read `book_snapshot_5` and `_25`: whole books. Raises ImportRejectedError."""
    for part in csv_parts(path):
        names = part.cells.column_names
        demand_columns(path, names, (*COMMON, *SNAPSHOT))
        count = sum(1 for number in range(MAX_LEVELS) if f"asks[{number}].price" in names)
        levels = LevelColumns(
            bid="bids[{level}].price",
            bid_amount="bids[{level}].amount",
            ask="asks[{level}].price",
            ask_amount="asks[{level}].amount",
            count=count,
        )
        demand_columns(path, names, tuple(names_of_levels(levels)))
        yield chunk_of(path, part, options, level_columns(part.cells, levels))


def chunk_of(path: Path, part: FilePart, options: FileOptions, columns: dict[str, Column]) -> Chunk:
    """Return a chunk; `columns` of READ_SCHEMA beside what all of Tardis' files have. Raises ImportRejectedError."""
    exchange, symbol = market_columns(path, part.cells, options)
    exchange_time = whole_numbers(part.cells["timestamp"])
    given: dict[str, Column] = {
        "exchange": exchange,
        "symbol": symbol,
        "received_time": whole_numbers(part.cells["local_timestamp"]),
        "exchange_time": exchange_time,
        "fault": pc.if_else(exchange_time.is_null(), UNREADABLE, pa.scalar(None, pa.string())),
        **columns,
    }
    return chunk_of_columns(part, given)


def market_columns(path: Path, cells: pa.Table, options: FileOptions) -> tuple["pa.StringArray", "pa.StringArray"]:
    """Return exchange and symbol of each row, by our names. Raises ImportRejectedError."""
    unclear = sorted(OF_CONTRACTS & set(distinct(cells["exchange"])))
    if unclear and kind_of(options.symbol or "") == "spot":
        reject(path, None, f"is of contracts on {unclear[0]}; say which, as in --symbol BTC/USDT:USDT")
    exchanges = renamed(cells["exchange"], lambda name: options.exchange or our_exchange(name))
    if options.symbol is not None:
        names = distinct(cells["symbol"])
        if len(names) > 1:
            reject(path, None, f"holds {', '.join(names[:3])}; omit --symbol, or cut the file")
        return exchanges, renamed(cells["symbol"], lambda _: str(options.symbol))
    exchange_names = distinct(exchanges)
    if len(exchange_names) > 1:
        reject(path, None, f"holds rows of {', '.join(exchange_names[:3])}; {cutting_words(path, cells)}")
    return exchanges, renamed(cells["symbol"], lambda name: our_symbol(path, exchange_names[0], name))


def cutting_words(path: Path, cells: pa.Table) -> str:
    """Return how to cut a file of several exchanges down to one; the file does not always use our names."""
    exchange_name, place = str(cells["exchange"][0].as_py()), cells.column_names.index("exchange") + 1
    # the line is for a shell, and the name is whatever the file says
    name = exchange_name if exchange_name.isascii() and exchange_name.replace("-", "").isalnum() else "NAME"
    source, file = shlex.quote(str(path)), shlex.quote(str(path.with_name(f"{name}-{path.name}")))
    cut = f"awk -F, 'NR==1 || ${place}==\"{name}\"'"
    line = f"zcat {source} | {cut} | gzip > {file}" if path.suffix == ".gz" else f"{cut} {source} > {file}"
    return f"import one exchange a file, each cut as here: {line}"


def has_columns(names: tuple[str, ...]) -> Callable[[Path, bytes], bool]:
    """Return a test whether a file's first line has these columns."""

    def fits(_: Path, head: bytes) -> bool:
        return set(names) <= set(header_names(head.partition(b"\n")[0]))

    return fits


TARDIS_TOPS = (
    Format(
        name="tardis-quotes",
        description=f"Tardis CSV quotes or book_ticker: best bid and ask, arrival time in microseconds; {ONE_EACH}",
        read=read_quotes,
        fits=has_columns(QUOTES),
    ),
    Format(
        name="tardis-trades",
        description=f"Tardis CSV trades: a print a row, arrival time in microseconds; {ONE_EACH}",
        read=read_trades,
        fits=has_columns(TRADES),
        needs=("half_spread_bps",),
    ),
    Format(
        name="tardis-snapshots",
        description=f"Tardis CSV book_snapshot_5 and book_snapshot_25: up to ten levels a side are kept; {ONE_EACH}",
        read=read_snapshots,
        fits=has_columns((*COMMON, *SNAPSHOT)),
    ),
)
