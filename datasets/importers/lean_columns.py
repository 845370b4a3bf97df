"""LEAN's minute bars by whole columns: quotes with bid and ask, and trades, of coins and of currencies.

Times are milliseconds since midnight of the day in the file's name: of UTC for coins, five hours behind it, all year
long, for currencies (LEAN's own market-hours database says so of FXCM). A bar is known at its end.
"""

import re
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from datasets.importers.lean import BAR_MICROSECONDS, DAY_MILLISECONDS, midnight_of
from datasets.mapped.mapped_bars import BAR_ASSUMPTION
from datasets.mapped.mapped_columns import chunk_of_market, headerless_parts
from datasets.mapped.mapped_prints import half_spread_of, print_columns
from datasets.mapped.mapped_symbols import OneTicker
from datasets.rows.csv_columns import FilePart, whole_numbers
from datasets.rows.import_format import Chunk, FileOptions, Format
from datasets.rows.quote_rows import reject
from datasets.rows.symbol_names import is_currency_pair, named_market

QUOTES = (
    *("milliseconds", "bid_open", "bid_high", "bid_low", "bid_close", "bid_size"),
    *("ask_open", "ask_high", "ask_low", "ask_close", "ask_size"),
)
TRADES = ("milliseconds", "open", "high", "low", "close", "volume")
FX_UTC_OFFSET_HOURS = -5

_MEMBER = re.compile(r"\d{8}_(.+)_(minute|second|tick)_(quote|trade)\.csv$")


def read_quotes(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """The closing bid and ask of each minute. Raises ImportRejectedError."""
    exchange, symbol = named_market(path, options)
    _check_member(path, symbol)
    for part in headerless_parts(path, QUOTES):
        given = {
            "bid": part.cells["bid_close"],
            "bid_amount": part.cells["bid_size"],
            "ask": part.cells["ask_close"],
            "ask_amount": part.cells["ask_size"],
        }
        yield _chunk(path, part, (exchange, symbol), given)


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """The last price of each minute with the assumed half-spread. Raises ImportRejectedError."""
    exchange, symbol = named_market(path, options)
    half_spread = half_spread_of(path, options)
    _check_member(path, symbol)
    for part in headerless_parts(path, TRADES):
        prices = print_columns(part.cells["close"], part.cells["volume"], half_spread)
        yield _chunk(path, part, (exchange, symbol), prices)


def _chunk(path: Path, part: FilePart, market: tuple[str, str], given: dict[str, Any]) -> Chunk:
    midnight = midnight_of(path, FX_UTC_OFFSET_HOURS if is_currency_pair(*market) else 0)
    numbers = whole_numbers(part.cells["milliseconds"])
    milliseconds = numbers.fill_null(pa.scalar(-1, pa.int64())).to_numpy()
    is_of_day = (milliseconds >= 0) & (milliseconds < DAY_MILLISECONDS)
    times = midnight + milliseconds * 1_000 + BAR_MICROSECONDS
    received = pa.array(times, pa.int64(), mask=np.logical_not(is_of_day))
    return chunk_of_market(part, market, {"received_time": received} | given)


def _check_member(path: Path, symbol: str) -> None:
    """The zip's one member names ticker and resolution. Raises ImportRejectedError where it names others."""
    if not zipfile.is_zipfile(path):
        return
    try:
        with zipfile.ZipFile(path) as archive:
            found = [_MEMBER.search(name) for name in archive.namelist()]
    except zipfile.BadZipFile as error:
        reject(path, None, f"is not a valid zip file; it is damaged or was cut off ({error})")
    except NotImplementedError as error:
        reject(path, None, f"is a zip file that cannot be unpacked ({error})")
    if len(found) != 1 or found[0] is None:
        return
    if found[0][2] != "minute":
        reject(path, None, f"is of resolution {found[0][2]}; bars of a minute are read")
    OneTicker(path, symbol).check(found[0][1], line=None)


def _fits(name_end: str, columns: tuple[str, ...]) -> Callable[[Path, bytes], bool]:
    def fits(path: Path, head: bytes) -> bool:
        return path.name.endswith(name_end) and head.partition(b"\n")[0].count(b",") == len(columns) - 1

    return fits


LEAN_FORMATS = (
    Format(
        name="lean-quotes",
        description="LEAN zip of minute quote bars (coins in UTC, currencies in UTC-05); its day is in its name",
        read=read_quotes,
        fits=_fits("_quote.zip", QUOTES),
        needs=("exchange", "symbol"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
    Format(
        name="lean-trades",
        description="LEAN zip of minute trade bars (coins in UTC, currencies in UTC-05); its day is in its name",
        read=read_trades,
        fits=_fits("_trade.zip", TRADES),
        needs=("exchange", "symbol", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
)
