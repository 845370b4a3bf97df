"""How old quotes of an imported set are when they arrive, by the exchange's own time, and on which markets that
can be trusted."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tick_sets.rows.arrow_columns import Integers, MarketKey, integers_of, is_of_kind, market_codes
from tick_sets.sets.manifest import Partition
from tick_sets.sets.tick_set import TickSet, read_ticks

Trust = Literal["used", "absent", "ahead", "same"]
"""Whether age counts from the exchange's time, and if not why: there is none; it is ahead of the arrival, so the clocks
of exchange and recorder differ; or it is the only time that the source has."""

COLUMNS = ["kind", "exchange", "symbol", "received_time", "exchange_time"]
QUOTED = ("quote", "fx")
MAX_ROW_GROUPS = 8
"""Row groups read of a whole set at first, evenly over each base and at least one of each: enough for typical delays.
More are read for a market that none of them shows."""
MAX_SAMPLES = 1_000
RESOLUTIONS = (1_000_000, 1_000)
"""Units, in microseconds, that exchanges round their times to."""
_SAME_SHARE = 0.99
_NEVER = 2**63 - 1
_FEW = 1_000
"""Times that nearly always show that a unit is none."""
_Place: TypeAlias = tuple[Partition, int]
"""A row group."""


@dataclass(frozen=True, slots=True)
class FeedDelay:
    """From an exchange's time to the arrival, of one market; microseconds, None if there is no exchange time."""

    exchange: str
    symbol: str
    trust: Trust
    median: int | None = None
    p95: int | None = None
    samples: tuple[int, ...] = ()
    """At most `MAX_SAMPLES`, evenly over their ranks, ascending."""


def feed_delays(tick_set: TickSet) -> tuple[FeedDelay, ...]:
    """Return the delays of every market of quotes of an imported set in the manifest's order, measured once for each
    `tick_set`.

    Bars have none, because their own time is when they began; nor have other sets, whose feeds measured the exchanges'
    clocks and withdrew what was late. Raises ImportRejectedError.
    """
    if tick_set.manifest.origin != "import":
        return ()
    if "feed_delays" not in tick_set.kept:
        tick_set.kept["feed_delays"] = _measured(tick_set)
    found: tuple[FeedDelay, ...] = tick_set.kept["feed_delays"]
    return found


def _measured(tick_set: TickSet) -> tuple[FeedDelay, ...]:
    manifest = tick_set.manifest
    of_bars = manifest.markets_of_bars
    markets = [one for one in manifest.markets if (one.exchange, one.symbol) not in of_bars]
    samples = _Samples()
    read = _sampled_places(tick_set)
    for place in read:
        samples.add(_rows(tick_set, place))
    for base in manifest.bases:
        wanted = {(one.exchange, one.symbol) for one in markets if one.is_fx or one.base == base}
        for place in _places(tick_set, base):
            lacking = wanted - samples.times.keys()
            if not lacking:
                break
            if place not in read and _may_show(tick_set, place, lacking):
                samples.add(_rows(tick_set, place))
    return tuple(samples.delay((one.exchange, one.symbol)) for one in markets)


def trusted_markets(delays: Sequence[FeedDelay]) -> frozenset[MarketKey]:
    """Return the markets whose quotes' age counts from the exchange's time."""
    return frozenset((one.exchange, one.symbol) for one in delays if one.trust == "used")


def seen_times(rows: pa.Table, trusted: Collection[MarketKey]) -> Integers:
    """Return when each row was known to be true, microseconds: a quote or rate of a trusted market at its exchange's
    time, which is never after its arrival; any other row at its arrival. `rows` with COLUMNS."""
    times: Integers = rows["received_time"].to_numpy()
    if not trusted:
        return times
    made = rows["exchange_time"].fill_null(pa.scalar(_NEVER, pa.int64())).to_numpy()
    codes, markets = market_codes(rows)
    is_trusted = np.array([market in trusted for market in markets], dtype=np.bool_)[codes]
    return np.where(is_trusted & is_of_kind(rows, QUOTED), np.minimum(times, made), times)


def _places(tick_set: TickSet, base: str) -> list[_Place]:
    return [(one, number) for one in tick_set.partitions_of(base) for number in range(one.row_groups)]


def _sampled_places(tick_set: TickSet) -> list[_Place]:
    """Return always the same row groups. Rates stand in the log of every base, and count in each."""
    most = max(1, MAX_ROW_GROUPS // len(tick_set.manifest.bases))
    found: list[_Place] = []
    for base in tick_set.manifest.bases:
        places = _places(tick_set, base)
        count = min(most, len(places))
        found += [places[len(places) * step // count] for step in range(count)]
    return found


def _rows(tick_set: TickSet, place: _Place) -> pa.Table:
    partition, number = place
    return read_ticks(tick_set.path(partition), [number], COLUMNS)


def _may_show(tick_set: TickSet, place: _Place, markets: Collection[MarketKey]) -> bool:
    """Return whether a row group may have an exchange's time of one of them, by its statistics: most need not be
    read."""
    partition, number = place
    with pq.ParquetFile(tick_set.path(partition)) as file:
        names, group = file.schema_arrow.names, file.metadata.row_group(number)
    times, exchanges, symbols = (
        group.column(names.index(name)).statistics for name in ("exchange_time", "exchange", "symbol")
    )
    if times is not None and times.null_count == group.num_rows:
        return False
    return any(_spans(exchanges, exchange) and _spans(symbols, symbol) for exchange, symbol in markets)


def _spans(statistics: pq.Statistics | None, word: str) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return str(statistics.min) <= word <= str(statistics.max)


@dataclass(slots=True)
class _Samples:
    """Exchanges' times and arrivals of quotes and rates, per market."""

    times: dict[MarketKey, list[tuple[Integers, Integers]]] = field(default_factory=dict)

    def add(self, rows: pa.Table) -> None:
        is_known = is_of_kind(rows, QUOTED) & rows["exchange_time"].is_valid().to_numpy()
        if not is_known.any():
            return
        made, arrived = integers_of(rows, "exchange_time"), rows["received_time"].to_numpy()
        codes, markets = market_codes(rows)
        is_whole = bool(is_known.all())
        for code in np.flatnonzero(np.bincount(codes if is_whole else codes[is_known])).tolist():
            mine = codes == code if is_whole else is_known & (codes == code)
            self.times.setdefault(markets[code], []).append((made[mine], arrived[mine]))

    def delay(self, key: MarketKey) -> FeedDelay:
        if key not in self.times:
            return FeedDelay(*key, "absent")
        made, arrived = (np.concatenate(parts) for parts in zip(*self.times[key], strict=True))
        delays = np.sort(arrived - made)
        places = np.unique(np.linspace(0, len(delays) - 1, MAX_SAMPLES).astype(np.int64))
        samples = tuple(delays[places].tolist())
        median, p95 = (int(delays[-(-share * len(delays) // 100) - 1]) for share in (50, 95))
        # a rounded time lies ahead by less than its unit, whatever the clocks do
        trust: Trust = "used" if median > -_resolution(made) else "ahead"
        if (delays == 0).mean() >= _SAME_SHARE:
            trust = "same"
        return FeedDelay(*key, trust, median, p95, samples)


def _resolution(times: Integers) -> int:
    few = times[:_FEW]
    return next((unit for unit in RESOLUTIONS if not (few % unit).any() and not (times % unit).any()), 1)
