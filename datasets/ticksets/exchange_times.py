"""How old quotes of an imported set are when they arrive, by the exchange's own time, and where that can be trusted."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from datasets.rows.arrow_columns import Integers, MarketKey, places_of_markets
from datasets.ticksets.tick_set import TickSet, read_ticks

Trust = Literal["used", "absent", "ahead", "same"]
"""Whether age counts from the exchange's time, and if not why: there is none, it is ahead of the arrival, so the clocks
of exchange and recorder differ, or it is the only time that the source has."""

COLUMNS = ["kind", "exchange", "symbol", "received_time", "exchange_time"]
QUOTED = ("quote", "fx")
MAX_ROW_GROUPS = 8
"""Row groups read of a whole set, evenly over each base: enough for typical delays."""
MAX_SAMPLES = 1_000
_SAME_SHARE = 0.99


@dataclass(frozen=True, slots=True)
class FeedDelay:
    """From an exchange's time to the arrival, of one market; microseconds, None where there is no exchange time."""

    exchange: str
    symbol: str
    trust: Trust
    median: int | None = None
    p95: int | None = None
    samples: tuple[int, ...] = ()
    """At most `MAX_SAMPLES`, evenly over their ranks, ascending."""


def feed_delays(tick_set: TickSet) -> tuple[FeedDelay, ...]:
    """Of every market of an imported set in the manifest's order; none of others, whose feeds measured the exchanges'
    clocks and withdrew what was late. Raises ImportRejectedError."""
    if tick_set.manifest.origin != "import":
        return ()
    found: dict[MarketKey, list[Integers]] = {}
    for rows in _sampled(tick_set):
        quoted = rows.filter(pc.is_in(rows["kind"], pa.array(QUOTED))).drop_null()
        delays = quoted["received_time"].to_numpy() - quoted["exchange_time"].to_numpy()
        for key, places in places_of_markets(quoted):
            found.setdefault(key, []).append(delays if places is None else delays[places])
    keys = ((market.exchange, market.symbol) for market in tick_set.manifest.markets)
    return tuple(_delay(key, found.get(key, [])) for key in keys)


def trusted_markets(delays: Sequence[FeedDelay]) -> frozenset[MarketKey]:
    """Those whose quotes' age counts from the exchange's time."""
    return frozenset((one.exchange, one.symbol) for one in delays if one.trust == "used")


def seen_times(rows: pa.Table, trusted: Collection[MarketKey]) -> Integers:
    """When each row was known to be true, microseconds: a quote or rate of a trusted market at its exchange's time,
    which never lies behind its arrival; any other row at its arrival. `rows` with COLUMNS."""
    times: Integers = rows["received_time"].to_numpy()
    if not trusted:
        return times
    made = pc.min_element_wise(rows["received_time"], rows["exchange_time"]).to_numpy()
    is_quoted: Integers = pc.is_in(rows["kind"], pa.array(QUOTED)).to_numpy()
    seen = times.copy()
    for key, places in places_of_markets(rows):
        if key in trusted:
            mine = np.arange(len(rows)) if places is None else places
            mine = mine[is_quoted[mine]]
            seen[mine] = made[mine]
    return seen


def _sampled(tick_set: TickSet) -> Iterator[pa.Table]:
    """Always the same row groups. Rates stand in the log of every base, and count in each."""
    most = max(1, MAX_ROW_GROUPS // len(tick_set.manifest.bases))
    for base in tick_set.manifest.bases:
        partitions = tick_set.partitions_of(base)
        places = [(partition, number) for partition in partitions for number in range(partition.row_groups)]
        count = min(most, len(places))
        for step in range(count):
            partition, number = places[len(places) * step // count]
            yield read_ticks(tick_set.path(partition), [number], COLUMNS)


def _delay(key: MarketKey, found: Sequence[Integers]) -> FeedDelay:
    delays = np.sort(np.concatenate(found)) if found else np.array([], dtype=np.int64)
    if not len(delays):
        return FeedDelay(*key, "absent")
    places = np.unique(np.linspace(0, len(delays) - 1, MAX_SAMPLES).astype(np.int64))
    samples = tuple(delays[places].tolist())
    median, p95 = (int(delays[-(-share * len(delays) // 100) - 1]) for share in (50, 95))
    trust: Trust = "used" if median >= 0 else "ahead"
    if (delays == 0).mean() >= _SAME_SHARE:
        trust = "same"
    return FeedDelay(*key, trust, median, p95, samples)
