"""What one unit of each asset and currency was worth at regular moments of a recording: what inventory is marked with.

An asset is marked at the median over its markets of the middle between best bid and ask, in the settlement currency at
FX mid: one price for the same thing wherever it lies, or a gap between two exchanges would count as a profit or a loss
of whoever holds something there.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from datasets.ticksets.manifest import Manifest, Partition
from datasets.ticksets.tick_set import TickSet, batches, read_opening, read_ticks
from market.instruments.markets import Market
from market.money import BoundedDecimal, decimal_of
from market.time_units import MICROSECONDS

INTERVALS = (86_400 * MICROSECONDS, 3_600 * MICROSECONDS, 60 * MICROSECONDS)
"""A day, an hour, a minute."""
MIN_INTERVALS = 30
"""Fewer returns say nothing of how they vary."""
COLUMNS = ["kind", "exchange", "symbol", "received_time", "bid_price", "ask_price"]
QUOTED = ("quote", "fx")
TWO = Decimal(2)

Mids = dict[tuple[str, str], Decimal]
"""(exchange, symbol) → the middle between bid and ask."""


@dataclass(frozen=True, slots=True)
class Marks:
    """`worth`: asset or currency → settlement value of one unit at each of `times`; None before its first quote.

    `times`, microseconds UTC: the set's beginning, then one each `interval`, then the last row. `interval` is the
    longest of a day, an hour and a minute of which the recording holds 30 or more; None where it holds fewer minutes.
    """

    interval: int | None
    times: tuple[int, ...]
    opening: dict[str, BoundedDecimal]
    """By the first quote of each market."""
    worth: dict[str, tuple[BoundedDecimal | None, ...]]


def marks_of(tick_set: TickSet) -> Marks:
    """Reads the row groups that the moments lie in, nothing of the others. Raises ImportRejectedError."""
    manifest = tick_set.manifest
    start, end = manifest.start_time, manifest.end_time
    interval = next((one for one in INTERVALS if (end - start) // one >= MIN_INTERVALS), None)
    between = () if interval is None else range(start + interval, end, interval)
    times = (start, *between, end)
    first = _first_mids(tick_set)
    opening = worth_of(manifest, first)
    mids: list[Mids] = [{} for _ in times]
    for base in manifest.bases:
        _see_mids(tick_set, base, times, mids)
    valued = [opening, *(worth_of(manifest, known) for known in mids[1:])]
    names = sorted({name for one in valued for name in one})
    return Marks(interval, times, opening, {name: tuple(one.get(name) for one in valued) for name in names})


def worth_of(manifest: Manifest, mids: Mapping[tuple[str, str], Decimal]) -> dict[str, Decimal]:
    """Of each asset and currency that these mids say anything of."""
    settlement = manifest.settlement_currency
    worth = {settlement: Decimal(1)}
    for market in manifest.markets:
        mid = mids.get((market.exchange, market.symbol))
        if market.is_fx and mid is not None:
            if market.quote_currency == settlement:
                worth.setdefault(market.base, mid)
            elif market.base == settlement:
                worth.setdefault(market.quote_currency, 1 / mid)
    settled: dict[str, list[Decimal]] = {}
    for market in manifest.markets:
        mid, rate = mids.get((market.exchange, market.symbol)), worth.get(market.quote_currency)
        if not market.is_fx and mid is not None and rate is not None:
            settled.setdefault(market.base, []).append(mid * rate)
    return worth | {base: median(prices) for base, prices in settled.items()}


def _first_mids(tick_set: TickSet) -> Mids:
    """Of each market's first quote; read until each has one."""
    found: Mids = {}
    for base in tick_set.manifest.bases:
        wanted = [one for one in tick_set.manifest.markets if one.is_fx or one.base == base]
        for rows in batches(tick_set, base, COLUMNS):
            for market in wanted:
                if (market.exchange, market.symbol) not in found and len(shown := _shown(rows, market)):
                    found[market.exchange, market.symbol] = _mid(shown, 0)
            if all((market.exchange, market.symbol) in found for market in wanted):
                break
    return found


def _see_mids(tick_set: TickSet, base: str, times: Sequence[int], mids: Sequence[Mids]) -> None:
    """Add to each of `mids` what the log of one base had shown last at its time; `times` ascend."""
    markets = [one for one in tick_set.manifest.markets if one.is_fx or one.base == base]
    places = list(_places(tick_set, base))
    since = [first for first, _, _ in places]
    moments = sorted((max(bisect_right(since, time) - 1, 0), number) for number, time in enumerate(times))
    for place, its_moments in groupby(moments, key=itemgetter(0)):
        numbers = [number for _, number in its_moments]
        rows = _known_rows(tick_set, *places[place][1:])
        for market in markets:
            shown = _shown(rows, market)
            # a feed's rows never go back in time; a log whose clock was set back is read as if it had stood still
            seen = np.maximum.accumulate(shown["received_time"].to_numpy())
            for number, after in zip(numbers, seen.searchsorted([times[one] for one in numbers], "right"), strict=True):
                if after:
                    mids[number][market.exchange, market.symbol] = _mid(shown, int(after) - 1)


def _places(tick_set: TickSet, base: str) -> Iterator[tuple[int, Partition, int]]:
    """Of each row group: its earliest time, which never falls, its file and its number there."""
    latest = 0
    for partition in tick_set.partitions_of(base):
        with pq.ParquetFile(tick_set.path(partition)) as file:
            column = file.schema_arrow.names.index("received_time")
            for number in range(partition.row_groups):
                statistics = file.metadata.row_group(number).column(column).statistics
                least = latest if statistics is None else int(str(statistics.min))
                latest = max(latest, least)
                yield latest, partition, number


def _known_rows(tick_set: TickSet, partition: Partition, number: int) -> pa.Table:
    """A row group, behind what was known where it begins."""
    opening = read_opening(tick_set.opening_path(partition), number).select(COLUMNS)
    return pa.concat_tables([opening, read_ticks(tick_set.path(partition), [number], COLUMNS)]).unify_dictionaries()


def _shown(rows: pa.Table, market: Market) -> pa.Table:
    """The quotes of one market."""
    own = (("kind", list(QUOTED)), ("exchange", [market.exchange]), ("symbol", [market.symbol]))
    for column, words in own:
        rows = rows.filter(pc.is_in(rows[column], pa.array(words)))
    return rows


def _mid(shown: pa.Table, row: int) -> Decimal:
    bid, ask = shown["bid_price"][row].as_py(), shown["ask_price"][row].as_py()
    return (decimal_of(bid or 0.0) + decimal_of(ask or 0.0)) / TWO
