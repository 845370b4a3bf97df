"""Durations of opportunities: from runs of sightings to rows."""

from bisect import bisect_right
from collections.abc import Sequence

from market.prices.episodes import EpisodeRun, MarketPair
from ui.live.opportunity_census import Census
from ui.rows.opportunity import LifeBinRow, LifeRow, LifetimesRow, PairLifeRow

DEFINITION = (
    "An episode is a run of opportunities of one directed pair of markets (buy here, sell there), each seen before the "
    "previous one had expired. Its duration is from the first sighting to the last, which is a minimum: its end is "
    "only seen by the next quote that does not pay. An episode that was seen once has a duration of 0 ms."
)
EDGES_MS = (0, 1, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000)
MICROSECONDS_PER_MS = 1_000


def lifetimes_row(census: Census, runs: Sequence[EpisodeRun]) -> LifetimesRow:
    """Return the durations. `runs` are the wanted ones of the census; the pairs with most of them come first."""
    by_pair: dict[MarketPair, list[EpisodeRun]] = {}
    for run in runs:
        by_pair.setdefault(run.pair, []).append(run)
    pairs = sorted(by_pair.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return LifetimesRow(
        definition=DEFINITION,
        alive=census.alive,
        all=_life_row(runs),
        histogram=_histogram(runs),
        pairs=[_pair_row(pair, theirs) for pair, theirs in pairs],
    )


def _histogram(runs: Sequence[EpisodeRun]) -> list[LifeBinRow]:
    counts = [0] * len(EDGES_MS)
    for run in runs:
        counts[bisect_right(EDGES_MS, (run.end - run.start) / MICROSECONDS_PER_MS) - 1] += 1
    ends: list[float | None] = [*EDGES_MS[1:], None]
    return [
        LifeBinRow(from_ms=start, to_ms=end, runs=count)
        for start, end, count in zip(EDGES_MS, ends, counts, strict=True)
    ]


def _life_row(runs: Sequence[EpisodeRun]) -> LifeRow:
    durations = sorted((run.end - run.start) / MICROSECONDS_PER_MS for run in runs)
    return LifeRow(
        runs=len(runs),
        once=sum(run.samples == 1 for run in runs),
        p50_ms=_quantile(durations, 0.5),
        p90_ms=_quantile(durations, 0.9),
        p99_ms=_quantile(durations, 0.99),
        longest_ms=durations[-1] if durations else None,
    )


def _pair_row(pair: MarketPair, runs: Sequence[EpisodeRun]) -> PairLifeRow:
    base, buy_exchange, buy_symbol, sell_exchange, sell_symbol = pair
    return PairLifeRow(
        **_life_row(runs),
        base=base,
        buy_exchange=buy_exchange,
        buy_symbol=buy_symbol,
        sell_exchange=sell_exchange,
        sell_symbol=sell_symbol,
        best_bps=round(max(run.best_net_bps for run in runs), 4),
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """Return the smallest value that `share` of them do not exceed; None of an empty sequence."""
    if not ordered:
        return None
    rank = -int(-share * len(ordered) // 1) - 1
    return ordered[max(0, min(len(ordered) - 1, rank))]
