"""LEAN's minute, hour and daily bars by whole columns: quotes with bid and ask, and trades, of coins and of currencies.

Minutes have milliseconds since midnight of the day in the file's name; hours and days stand in one file of all days,
`btcusd_trade.zip`, with times as `20180101 08:00` (the formats' own readme in LEAN's `Data/crypto`). All are of UTC for
coins, five hours behind it, all year long, for currencies (LEAN's own market-hours database says so of FXCM). A bar is
known at its end.
"""

import re
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from market.time_units import MICROSECONDS
from tick_sets.errors import reject
from tick_sets.importers.lean import BAR_MICROSECONDS, DAY_MILLISECONDS, midnight_of
from tick_sets.mapped.bars import BAR_ASSUMPTION, BarEnds
from tick_sets.mapped.columns import chunk_of_market, headerless_parts
from tick_sets.mapped.prints import half_spread_of, print_columns
from tick_sets.mapped.symbols import OneTicker
from tick_sets.mapped.times import text_times
from tick_sets.rows.arrow_columns import MarketKey
from tick_sets.rows.csv_columns import FilePart
from tick_sets.rows.file_blocks import head_of
from tick_sets.rows.import_format import Chunk, FileOptions, Format
from tick_sets.rows.number_cells import whole_numbers
from tick_sets.rows.symbol_names import is_currency_pair, named_market

TIME = "time"
QUOTES = (
    *(TIME, "bid_open", "bid_high", "bid_low", "bid_close", "bid_size"),
    *("ask_open", "ask_high", "ask_low", "ask_close", "ask_size"),
)
TRADES = (TIME, "open", "high", "low", "close", "volume")
FX_UTC_OFFSET_HOURS = -5

_HOURS = timezone(timedelta(hours=FX_UTC_OFFSET_HOURS))
_LENGTHS = {"hour": 3_600 * MICROSECONDS, "daily": 86_400 * MICROSECONDS}
"""By the folder that LEAN keeps a file in."""
_MOMENT = re.compile(rb"\d{8} \d{2}:\d{2},")
_MEMBER = re.compile(r"\d{8}_(.+)_(minute|second|tick)_(quote|trade)\.csv$")


def read_quotes(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the closing bid and ask of each bar. Raises ImportRejectedError."""
    exchange, symbol = named_market(path, options)
    times = _times_of(path, (exchange, symbol))
    for part in headerless_parts(path, QUOTES):
        given = {
            "bid": part.cells["bid_close"],
            "bid_amount": part.cells["bid_size"],
            "ask": part.cells["ask_close"],
            "ask_amount": part.cells["ask_size"],
        }
        yield chunk_of_market(part, (exchange, symbol), {"received_time": times(part)} | given)


def read_trades(path: Path, options: FileOptions) -> Iterator[Chunk]:
    """Return the last price of each bar with the assumed half-spread. Raises ImportRejectedError."""
    exchange, symbol = named_market(path, options)
    half_spread = half_spread_of(path, options)
    times = _times_of(path, (exchange, symbol))
    for part in headerless_parts(path, TRADES):
        prices = print_columns(part.cells["close"], part.cells["volume"], half_spread)
        yield chunk_of_market(part, (exchange, symbol), {"received_time": times(part)} | prices)


def _times_of(path: Path, market: MarketKey) -> Callable[[FilePart], Any]:
    """Return how to read the end of each bar, microseconds UTC. Raises ImportRejectedError, also while reading."""
    is_currency = is_currency_pair(*market)
    if not path.name[:8].isdigit() and _MOMENT.match(head_of(path)):
        _check_ticker(path, market[1])
        ends, zone = BarEnds(path, _LENGTHS.get(path.absolute().parent.name)), _HOURS if is_currency else UTC
        return lambda part: ends.after(text_times(part.cells[TIME], zone, "%Y%m%d %H:%M").times)
    _check_member(path, market[1])
    midnight = midnight_of(path, FX_UTC_OFFSET_HOURS if is_currency else 0)
    return lambda part: _minute_ends(part, midnight)


def _minute_ends(part: FilePart, midnight: int) -> "pa.Int64Array":
    numbers = whole_numbers(part.cells[TIME])
    milliseconds = numbers.fill_null(pa.scalar(-1, pa.int64())).to_numpy()
    is_of_day = (milliseconds >= 0) & (milliseconds < DAY_MILLISECONDS)
    times = midnight + milliseconds * 1_000 + BAR_MICROSECONDS
    return pa.array(times, pa.int64(), mask=np.logical_not(is_of_day))


def _check_ticker(path: Path, symbol: str) -> None:
    """Check the ticker that a file of all days names. Raises ImportRejectedError if it is another one."""
    ticker = path.name.partition("_")[0].partition(".")[0]
    OneTicker(path, symbol).check(ticker, line=None)


def _check_member(path: Path, symbol: str) -> None:
    """Check the zip's one member, which names ticker and resolution. Raises ImportRejectedError if it names others."""
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
        reject(path, None, f"is of resolution {found[0][2]}; bars of a minute, an hour or a day are read")
    OneTicker(path, symbol).check(found[0][1], line=None)


def _fits(name_end: str, columns: tuple[str, ...]) -> Callable[[Path, bytes], bool]:
    def fits(path: Path, head: bytes) -> bool:
        return path.name.endswith(name_end) and head.partition(b"\n")[0].count(b",") == len(columns) - 1

    return fits


LEAN_FORMATS = (
    Format(
        name="lean-quotes",
        description="LEAN zip of minute, hour or daily quote bars (coins in UTC, currencies in UTC-05)",
        read=read_quotes,
        fits=_fits("_quote.zip", QUOTES),
        needs=("exchange", "symbol"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
    Format(
        name="lean-trades",
        description="LEAN zip of minute, hour or daily trade bars (coins in UTC, currencies in UTC-05)",
        read=read_trades,
        fits=_fits("_trade.zip", TRADES),
        needs=("exchange", "symbol", "half_spread_bps"),
        is_of_bars=True,
        assumptions=(BAR_ASSUMPTION,),
    ),
)
