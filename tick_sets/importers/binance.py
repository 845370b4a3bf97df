"""Binance's public data (data.binance.vision): CSV in a zip, with a header or without one, by day or month.

Spot's times are milliseconds until 2024 and microseconds from 2025 on; the unit is detected from their size.
COIN-M amounts are contracts; they are converted to base amounts when rows are checked, as for any format.
"""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from tick_sets.errors import reject
from tick_sets.mapped.bars import BAR_ASSUMPTION
from tick_sets.mapped.columns import Column, chunk_of_market
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.mapped.times import Epochs
from tick_sets.rows.csv_columns import FilePart, csv_parts, demand_columns
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import Chunk, FileOptions, Format
from tick_sets.rows.number_cells import whole_numbers
from tick_sets.rows.symbol_names import named_market, our_symbol

TRADES = ("id", "price", "qty", "quote_qty", "time", "is_buyer_maker")
TRADES_OF_SPOT = (*TRADES, "is_best_match")
AGGREGATES = ("agg_trade_id", "price", "quantity", "first_trade_id", "last_trade_id", "transact_time", "is_buyer_maker")
AGGREGATES_OF_SPOT = (*AGGREGATES, "is_best_match")
_OPEN = ("open_time", "open", "high", "low", "close", "volume", "close_time", "quote_volume")
KLINES = (*_OPEN, "count", "taker_buy_volume", "taker_buy_quote_volume", "ignore")
TICKERS = ("update_id", "best_bid_price", "best_bid_qty", "best_ask_price", "best_ask_qty", "transaction_time")
TICKERS_WITH_EVENTS = (*TICKERS, "event_time")

_IN_NAME = re.compile(r"^([A-Z0-9]+(?:_[A-Z0-9]+)?)-")


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return each print's price with the assumed half-spread; its id is the sequence. Raises ImportRejectedError."""
    return _prints(path, options, (TRADES, TRADES_OF_SPOT), ("id", "qty", "time"))


def read_aggregates(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the prints of one order at one price as one. Raises ImportRejectedError."""
    return _prints(path, options, (AGGREGATES, AGGREGATES_OF_SPOT), ("agg_trade_id", "quantity", "transact_time"))


def _prints(
    path: Path, options: FileOptions, forms: tuple[tuple[str, ...], ...], names: tuple[str, str, str]
) -> Iterator[Chunk]:
    """Return the prints; `names` are those of the columns of id, amount and time."""
    market, half_spread, epochs = _market(path, options), half_spread_of(path, options), Epochs(path)
    for part in _parts(path, forms):
        times = epochs.microseconds(part.cells[names[2]], part.lines)
        prices = print_columns(part.cells["price"], part.cells[names[1]], half_spread)
        given = {"received_time": times, "exchange_time": times, "sequence": whole_numbers(part.cells[names[0]])}
        yield chunk_of_market(part, market, given | prices)


def read_klines(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the close of each bar, at its end. Raises ImportRejectedError."""
    market, half_spread, epochs = _market(path, options), half_spread_of(path, options), Epochs(path)
    for part in _parts(path, (KLINES,)):
        # the file has a bar's last moment, one unit before its end
        ends = pc.add(epochs.microseconds(part.cells["close_time"], part.lines), pa.scalar(epochs.factor, pa.int64()))
        prices = print_columns(part.cells["close"], part.cells["volume"], half_spread)
        yield chunk_of_market(part, market, {"received_time": ends} | prices)


def read_tickers(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Read `bookTicker`: the best bid and ask; its update id is the sequence. Raises ImportRejectedError."""
    market, epochs = _market(path, options), Epochs(path)
    for part in _parts(path, (TICKERS, TICKERS_WITH_EVENTS)):
        times = epochs.microseconds(part.cells["transaction_time"], part.lines)
        given: dict[str, Column] = {
            "received_time": times,
            "exchange_time": times,
            "sequence": whole_numbers(part.cells["update_id"]),
        }
        for side in ("bid", "ask"):
            given[side] = part.cells[f"best_{side}_price"]
            given[f"{side}_amount"] = part.cells[f"best_{side}_qty"]
        yield chunk_of_market(part, market, given)


def _parts(path: Path, forms: tuple[tuple[str, ...], ...]) -> Iterator[FilePart]:
    """Return the parts of a file in one of `forms`, by its number of columns. Raises ImportRejectedError."""
    _check_sum(path)
    first = head_of(path).partition(b"\n")[0]
    width = first.count(b",") + 1
    columns = next((form for form in forms if len(form) == width), forms[0])
    if first[:1].isdigit() or not first.strip():
        for part in csv_parts(path, columns):
            if not part.cells.num_rows and part.rejected:
                reject(path, part.rejected[0].line, f"has {width} columns, not those of {','.join(columns)}")
            yield part
        return
    for part in csv_parts(path):
        demand_columns(path, part.cells.column_names, forms[0])
        yield part


def _market(path: Path, options: FileOptions) -> tuple[str, str]:
    """Return exchange and symbol; the symbol is in the file name, as in BTCUSDT-trades-2024-01.zip. Raises
    ImportRejectedError."""
    named = _IN_NAME.match(path.name)
    if options.symbol is None and options.exchange is not None and named is not None:
        return options.exchange, our_symbol(path, options.exchange, named[1])
    return named_market(path, options)


def _check_sum(path: Path) -> None:
    """Raise ImportRejectedError if a CHECKSUM file beside it has another checksum."""
    beside = path.with_name(path.name + ".CHECKSUM")
    if not beside.is_file():
        return
    try:
        expected = beside.read_text(encoding="ascii", errors="replace").split()
    except OSError as error:
        reject(beside, None, f"cannot be read ({error.strerror or error})")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if not expected or expected[0].lower() != found:
        reject(path, None, f"does not match {beside.name}; download it again")


_N, _I, _T, _FLAG = r"[0-9]+(\.[0-9]+)?", r"[0-9]+", r"[0-9]{13,16}", r"([Tt]rue|[Ff]alse)"


def _looks_like(header: str, *cells: str) -> Callable[[Path, bytes], bool]:
    """Return a test for CSV files; `header`: how a first line of names begins; `cells`: patterns of a row without
    one."""
    pattern = re.compile(f"({header}|{','.join(cells)}(,{_FLAG})?\r?(\n|$))".encode())
    return lambda _, head: pattern.match(head) is not None


BINANCE_FORMATS = (
    Format(
        name="binance-trades",
        description="Binance public data, trades (spot, USD-M, COIN-M): CSV or zip, the symbol from the file's name",
        read=read_trades,
        fits=_looks_like("id,price,qty", _I, _N, _N, _N, _T, _FLAG),
        needs=("exchange", "half_spread_bps"),
        assumptions=("prints are known at the exchange's own time",),
    ),
    Format(
        name="binance-aggtrades",
        description="Binance public data, aggTrades (spot, USD-M, COIN-M): CSV or zip, the symbol from the file's name",
        read=read_aggregates,
        fits=_looks_like("agg_trade_id,", _I, _N, _N, _I, _I, _T, _FLAG),
        needs=("exchange", "half_spread_bps"),
        assumptions=("prints are known at the exchange's own time",),
    ),
    Format(
        name="binance-klines",
        description="Binance public data, klines (spot, USD-M, COIN-M): CSV or zip, the symbol from the file's name",
        read=read_klines,
        fits=_looks_like("open_time,", _T, _N, _N, _N, _N, _N, _T, _N, _I, _N, _N, _N),
        needs=("exchange", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
    Format(
        name="binance-bookticker",
        description="Binance public data, bookTicker (USD-M, COIN-M): best bid and ask, CSV or zip",
        read=read_tickers,
        fits=_looks_like("update_id,", _I, _N, _N, _N, _N, _T, _T),
        needs=("exchange",),
        assumptions=("quotes are known at the exchange's own time",),
    ),
)
