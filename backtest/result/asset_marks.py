"""Marks: the value of one unit of each asset and currency at regular moments of a recording.

The mark of an asset is the median mid price over its markets, in the settlement currency at FX mid. It is the same on
every exchange: otherwise a gap between two exchanges would count as a profit or a loss of the inventory held there.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate, groupby
from operator import itemgetter
from statistics import median

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from market.instruments.markets import Market
from market.money import BoundedDecimal, decimal_of
from market.time_units import MICROSECONDS
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.tick_set import RowGroup, TickSet, batches, is_of_market, read_opening, read_ticks, row_groups

INTERVALS = (86_400 * MICROSECONDS, 3_600 * MICROSECONDS, 60 * MICROSECONDS)
"""A day, an hour, a minute."""
MIN_INTERVALS = 30
"""With fewer returns their spread means little."""
COLUMNS = ["kind", "exchange", "symbol", "received_time", "bid_price", "ask_price"]
QUOTED = ("quote", "fx")
TWO = Decimal(2)

Mids = dict[tuple[str, str], Decimal]
"""(exchange, symbol) → the middle between bid and ask."""


@dataclass(frozen=True, slots=True)
class Marks:
    """`worth`: asset or currency → settlement value of one unit at each of `times`; None before its first quote.

    `times`, microseconds UTC: the set's beginning, then one each `interval`, then the last row. `interval` is the
    longest of a day, an hour and a minute of which the recording holds 30 or more; None if it holds fewer minutes.
    """

    interval: int | None
    times: tuple[int, ...]
    opening: dict[str, BoundedDecimal]
    """Values by the first quote of each market."""
    worth: dict[str, tuple[BoundedDecimal | None, ...]]


def marks_of(tick_set: TickSet) -> Marks:
    """Read only the row groups of the sampled moments. Raises ImportRejectedError."""
    manifest = tick_set.manifest
    start, end = manifest.start_time, manifest.end_time
    interval = next((one for one in INTERVALS if (end - start) // one >= MIN_INTERVALS), None)
    between = () if interval is None else range(start + interval, end, interval)
    times = (start, *between, end)
    opening = opening_marks(tick_set)
    mids: list[Mids] = [{} for _ in times]
    for base in manifest.bases:
        _see_mids(tick_set, base, times, mids)
    valued = [opening, *(worth_of(manifest, known) for known in mids[1:])]
    names = sorted({name for one in valued for name in one})
    return Marks(interval, times, opening, {name: tuple(one.get(name) for one in valued) for name in names})


def opening_marks(tick_set: TickSet) -> dict[str, Decimal]:
    """Return the values by the first quote of each market. Raises ImportRejectedError."""
    return worth_of(tick_set.manifest, _first_mids(tick_set))


def worth_of(manifest: Manifest, mids: Mapping[tuple[str, str], Decimal]) -> dict[str, Decimal]:
    """Return the value of each asset and currency that these mids price."""
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
    """Return the mid of each market's first quote; reads rows until each market has one."""
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
    """Add to each of `mids` the mids that the log of one base last showed at its time; `times` ascend."""
    markets = [one for one in tick_set.manifest.markets if one.is_fx or one.base == base]
    groups = list(row_groups(tick_set, base))
    since = list(accumulate((group.since for group in groups), max))
    moments = sorted((max(bisect_right(since, time) - 1, 0), number) for number, time in enumerate(times))
    for place, its_moments in groupby(moments, key=itemgetter(0)):
        numbers = [number for _, number in its_moments]
        rows = _known_rows(tick_set, groups[place])
        for market in markets:
            shown = _shown(rows, market)
            # a feed's rows never go back in time; a log whose clock was set back is read as if it had stood still
            seen = np.maximum.accumulate(shown["received_time"].to_numpy())
            for number, after in zip(numbers, seen.searchsorted([times[one] for one in numbers], "right"), strict=True):
                if after:
                    mids[number][market.exchange, market.symbol] = _mid(shown, int(after) - 1)


def _known_rows(tick_set: TickSet, group: RowGroup) -> pa.Table:
    """Return what was known at the start of a row group, then its own rows."""
    opening = read_opening(tick_set.opening_path(group.partition), group.number).select(COLUMNS)
    own = read_ticks(tick_set.path(group.partition), [group.number], COLUMNS)
    return pa.concat_tables([opening, own]).unify_dictionaries()


def _shown(rows: pa.Table, market: Market) -> pa.Table:
    """Return the quotes of one market."""
    own = rows.filter(is_of_market(rows, market))
    return own.filter(pc.is_in(own["kind"], pa.array(QUOTED)))


def _mid(shown: pa.Table, row: int) -> Decimal:
    bid, ask = shown["bid_price"][row].as_py(), shown["ask_price"][row].as_py()
    return (decimal_of(bid or 0.0) + decimal_of(ask or 0.0)) / TWO
