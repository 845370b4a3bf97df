"""Data quality per market: row counts, time span and gaps."""

from dataclasses import dataclass, field
from heapq import nlargest

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from market.instruments.markets import Market
from tick_sets.rows.arrow_columns import is_of_kind, places_of_markets
from tick_sets.sets.tick_set import TickSet, batches

MAX_GAPS = 3
ALIVE_KINDS = ("quote", "alive", "fx", "fx_alive")
QUOTED = ("quote", "fx")
WITHDRAWN = ("withdrawn", "fx_withdrawn")
COLUMNS = ["kind", "exchange", "symbol", "received_time"]


@dataclass(frozen=True, slots=True)
class QuoteGap:
    """A time without rows of one market; microseconds UTC."""

    start: int
    end: int

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1_000_000


@dataclass(frozen=True, slots=True)
class MarketQuality:
    """Counts and gaps of one market; times in microseconds UTC, None without rows."""

    exchange: str
    symbol: str
    quotes: int
    withdrawals: int
    first_time: int | None
    last_time: int | None
    holes: int
    """Number of gaps longer than the maximum quote age."""
    silences: tuple[QuoteGap, ...]
    """The longest, longest first."""


@dataclass(slots=True)
class _MarketActivity:
    """Counters of one market, updated row group by row group."""

    quotes: int = 0
    withdrawals: int = 0
    first: int | None = None
    last: int | None = None
    holes: int = 0
    longest: list[QuoteGap] = field(default_factory=list)

    def add(self, times: npt.NDArray[np.int64], max_age: int) -> None:
        """Add `times` of rows that confirm a quote, in the order of the log."""
        if len(times) == 0:
            return
        self.first = int(times[0]) if self.first is None else self.first
        known = times if self.last is None else np.append(self.last, times)
        self.last = int(known[-1])
        gaps = np.diff(known)
        self.holes += int((gaps > max_age).sum())
        for place in np.argsort(gaps)[-MAX_GAPS:]:
            self.longest.append(QuoteGap(int(known[place]), int(known[place + 1])))
        self.longest = nlargest(MAX_GAPS, self.longest, key=lambda one: one.end - one.start)


def quality_of(tick_set: TickSet, max_quote_age: int) -> tuple[MarketQuality, ...]:
    """Return the quality of each market's data, in the manifest's order; `max_quote_age` in microseconds. Memory: one
    row group."""
    manifest = tick_set.manifest
    activity = {(market.exchange, market.symbol): _MarketActivity() for market in manifest.markets}
    fx = {(market.exchange, market.symbol) for market in manifest.markets if market.is_fx}
    for number, base in enumerate(manifest.bases):
        # rates stand in the log of every base: they count once
        counted = {key: one for key, one in activity.items() if number == 0 or key not in fx}
        for rows in batches(tick_set, base, COLUMNS):
            is_quoted, is_withdrawn, is_alive = (is_of_kind(rows, kinds) for kinds in (QUOTED, WITHDRAWN, ALIVE_KINDS))
            times = rows["received_time"].to_numpy()
            for key, places in places_of_markets(rows):
                if key in counted:
                    mine = slice(None) if places is None else places
                    counted[key].quotes += int(is_quoted[mine].sum())
                    counted[key].withdrawals += int(is_withdrawn[mine].sum())
                    counted[key].add(times[mine][is_alive[mine]], max_quote_age)
    return tuple(_quality(market, activity[market.exchange, market.symbol]) for market in manifest.markets)


def _quality(market: Market, activity: _MarketActivity) -> MarketQuality:
    return MarketQuality(
        exchange=market.exchange,
        symbol=market.symbol,
        quotes=activity.quotes,
        withdrawals=activity.withdrawals,
        first_time=activity.first,
        last_time=activity.last,
        holes=activity.holes,
        silences=tuple(activity.longest),
    )


def markets_without_depth(tick_set: TickSet) -> tuple[str, ...]:
    """Return traded markets, as `exchange symbol`, whose first quotes show no level beyond the best."""
    manifest, shallow = tick_set.manifest, []
    for base in manifest.bases:
        rows = next(batches(tick_set, base, ["exchange", "symbol", "bids"]), None)
        deep = set() if rows is None else _deep_markets(rows)
        traded = (market for market in manifest.markets if market.base == base and not market.is_fx)
        shallow += [f"{one.exchange} {one.symbol}" for one in traded if (one.exchange, one.symbol) not in deep]
    return tuple(shallow)


def _deep_markets(rows: pa.Table) -> set[tuple[str, str]]:
    deep = rows.filter(pc.is_valid(rows["bids"])).select(["exchange", "symbol"])
    pairs = deep.cast(pa.schema([(name, pa.string()) for name in deep.column_names])).group_by(deep.column_names)
    found = pairs.aggregate([])
    rows_found = zip(found["exchange"].to_pylist(), found["symbol"].to_pylist(), strict=True)
    return {(str(exchange), str(symbol)) for exchange, symbol in rows_found}
