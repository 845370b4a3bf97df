"""The spacing of a tick set's quotes in time, which of its markets are bars, and what bars leave unknown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from backtest.replay_profiles import profile_of
from market.instruments.markets import Market
from tick_sets.sets.manifest import Manifest
from tick_sets.sets.tick_set import TickSet, is_of_market, read_ticks

QUOTED = ("quote", "fx")
SHOWN = ("bid_price", "ask_price", "bid_amount", "ask_amount")
COLUMNS = ["kind", "exchange", "symbol", "received_time", *SHOWN]
MAX_ROW_GROUPS = 24
"""Row groups read of a whole set, evenly over each base: enough for the typical gap."""
MIN_GAPS = 20
"""Gaps needed before the spacing of a market that is not of bars counts."""
LONGEST_AGE_MS = 86_400_000

Microseconds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MarketSpacing:
    """Time between two quotes of one market that differ, microseconds; None if there are fewer than two."""

    exchange: str
    symbol: str
    is_fx: bool
    is_of_bars: bool
    gaps: int
    """How many were measured."""
    median: int | None
    p95: int | None


def markets_of_bars(manifest: Manifest) -> frozenset[tuple[str, str]]:
    """Return (exchange, symbol) of the markets whose quotes are the ends of bars."""
    profile = profile_of(manifest)
    if profile is not None:
        recorded = (one.market for one in profile.recorded if one.source == "lean")
        return frozenset((market.exchange, market.symbol) for market in recorded)
    return manifest.markets_of_bars


def is_of_bars(manifest: Manifest) -> bool:
    """Return whether anything that is traded in it is known by bars alone."""
    of_bars = markets_of_bars(manifest)
    return any((market.exchange, market.symbol) in of_bars for market in manifest.markets if not market.is_fx)


def spacing_of(tick_set: TickSet) -> tuple[MarketSpacing, ...]:
    """Return the spacing of every market, in the manifest's order. Raises ImportRejectedError if the set cannot be
    read."""
    manifest = tick_set.manifest
    of_bars = markets_of_bars(manifest)
    gaps: dict[tuple[str, str], list[Microseconds]] = {(one.exchange, one.symbol): [] for one in manifest.markets}
    for number, base in enumerate(manifest.bases):
        # rates stand in the log of every base: they count once
        counted = [one for one in manifest.markets if one.base == base or (one.is_fx and number == 0)]
        for rows in _sampled(tick_set, base, max(1, MAX_ROW_GROUPS // len(manifest.bases))):
            quoted = rows.filter(pc.is_in(rows["kind"], pa.array(QUOTED)))
            for market in counted:
                gaps[market.exchange, market.symbol].append(_gaps(quoted, market))
    return tuple(
        _spacing(one, (one.exchange, one.symbol) in of_bars, gaps[one.exchange, one.symbol]) for one in manifest.markets
    )


def default_quote_age_ms(spacings: Sequence[MarketSpacing], usual_ms: int) -> int:
    """Return the default maximum quote age: `usual_ms`, or twice the median spacing of the slowest traded market if
    that is more, so that one late or missing row does not end a quote. FX rates do not count: daily ones would let
    quotes of an exchange grow a day old."""
    medians = [
        one.median
        for one in spacings
        if not one.is_fx and one.median is not None and (one.is_of_bars or one.gaps >= MIN_GAPS)
    ]
    return min(max(usual_ms, -(-2 * max(medians, default=0) // 1_000)), LONGEST_AGE_MS)


def resolves(spacings: Sequence[MarketSpacing], microseconds: int) -> bool:
    """Return whether the data show what happens so much later: what was quoted between two bars is unknown."""
    bars = [one for one in spacings if one.is_of_bars and not one.is_fx]
    return all(one.median is not None and microseconds >= one.median for one in bars)


def coarsest_bar(spacings: Sequence[MarketSpacing]) -> int | None:
    """Return the widest median spacing of a traded market of bars, microseconds; None without one."""
    return max((one.median or 0 for one in spacings if one.is_of_bars and not one.is_fx), default=None)


def bars_words(spacings: Sequence[MarketSpacing]) -> str | None:
    """Return the caveat of a result from bars; None if it is from quotes."""
    coarsest = coarsest_bar(spacings)
    if coarsest is None:
        return None
    return (
        f"from bars, one each {seconds_words(coarsest)}: a fill is at a bar's last price, which may be as old; what "
        "was quoted between two bars, and what a latency below their spacing costs, is unknown"
    )


def age_words(age_ms: int, spacings: Sequence[MarketSpacing]) -> str:
    """Return the maximum quote age, and the spacing of the slowest market."""
    medians = [one.median for one in spacings if not one.is_fx and one.median is not None]
    beside = f"; the slowest market quotes each {seconds_words(max(medians))} (median)" if medians else ""
    return f"a quote holds for {seconds_words(age_ms * 1_000)} unless a newer one comes{beside}"


def rate_words(age_ms: int, spacings: Sequence[MarketSpacing]) -> tuple[str, ...]:
    """Return warnings about rates that arrive less often than the maximum quote age: in between nothing is
    converted."""
    return tuple(
        f"{one.exchange} {one.symbol} comes each {seconds_words(one.median)} (median), but a rate may be "
        f"{seconds_words(age_ms * 1_000)} old: in between nothing is converted; raise max_quote_age_ms"
        for one in spacings
        if one.is_fx and one.median is not None and one.median > age_ms * 1_000
    )


def seconds_words(microseconds: int) -> str:
    return f"{microseconds / 1_000_000:,.3f}".rstrip("0").rstrip(".") + " s"


def _sampled(tick_set: TickSet, base: str, most: int) -> Iterator[pa.Table]:
    """Return at most so many row groups of one base, evenly spread; always the same ones."""
    places = [
        (partition, number) for partition in tick_set.partitions_of(base) for number in range(partition.row_groups)
    ]
    count = min(most, len(places))
    for step in range(count):
        partition, number = places[len(places) * step // count]
        yield read_ticks(tick_set.path(partition), [number], COLUMNS)


def _gaps(quoted: pa.Table, market: Market) -> Microseconds:
    """Return the gaps between those quotes of a market that differ from the one before."""
    rows = quoted.filter(is_of_market(quoted, market)).combine_chunks()
    if len(rows) < 2:
        return np.array([], dtype=np.int64)
    is_new = np.ones(len(rows), dtype=np.bool_)
    is_new[1:] = False
    for name in SHOWN:
        shown = rows[name]
        differs = pc.fill_null(pc.not_equal(shown.slice(1), shown.slice(0, len(rows) - 1)), pa.scalar(False))
        is_new[1:] |= np.asarray(differs)
    times: Microseconds = rows["received_time"].to_numpy()[is_new]
    return np.diff(times)


def _spacing(market: Market, of_bars: bool, found: Sequence[Microseconds]) -> MarketSpacing:
    gaps = np.sort(np.concatenate(found)) if found else np.array([], dtype=np.int64)
    return MarketSpacing(
        exchange=market.exchange,
        symbol=market.symbol,
        is_fx=market.is_fx,
        is_of_bars=of_bars,
        gaps=len(gaps),
        median=_rank(gaps, 50),
        p95=_rank(gaps, 95),
    )


def _rank(ordered: Microseconds, share: int) -> int | None:
    """Return the least value that is not exceeded by `share` percent of them (nearest rank)."""
    return int(ordered[-(-share * len(ordered) // 100) - 1]) if len(ordered) else None
