"""Where the time of trades goes, hop by hop: one line for each wait between two steps that are noted. Pure."""

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.percentiles import percentiles_text
from market.trade.arbitrages import Arbitrage

FIRST = 10
"""A session's first trades are its slowest: what they alone load is paid for by them."""
COMPARED = (
    ("tick to opportunity", "event", "detected"),
    ("opportunity to reserved", "detected", "reserved"),
    ("opportunity to both sent", "detected", "sent"),
    ("both sent to the end", "sent", "ended"),
)
"""Title, step, following step."""
LEAST_MS = 0.1
"""Medians below it are compared as if they were so long."""


def hop_lines(arbitrages: Sequence[Arbitrage]) -> list[str]:
    """Return lines of p50 / p95 / p99 in milliseconds, and how the first ten trades compare with the rest: medians, and
    how many needed a further order."""
    hops = {
        "tick to opportunity": list(_between(arbitrages, "event", "detected")),
        "opportunity to reserved, both legs granted": list(_between(arbitrages, "detected", "reserved")),
        "granted to sent, each of the two": list(_of_legs(arbitrages, "granted", "sent", is_further=False)),
        "sent to its end, each of the two": list(_of_legs(arbitrages, "sent", "done", is_further=False)),
        "granted to sent, further orders": list(_of_legs(arbitrages, "granted", "sent", is_further=True)),
        "sent to its end, further orders": list(_of_legs(arbitrages, "sent", "done", is_further=True)),
    }
    lines = [f"{name:44}{percentiles_text(figures, 1):>28}  of {len(figures)}" for name, figures in hops.items()]
    ordered = sorted(arbitrages, key=lambda one: one.times.get("detected", 0))
    return lines + _first_and_rest(ordered[:FIRST], ordered[FIRST:])


def _first_and_rest(first: Sequence[Arbitrage], rest: Sequence[Arbitrage]) -> list[str]:
    if not rest:
        return []
    lines = []
    for title, step, following in COMPARED:
        early, late = (list(_between(some, step, following)) for some in (first, rest))
        if early and late:
            medians = statistics.median(early), statistics.median(late)
            ratio = medians[0] / max(medians[1], LEAST_MS)
            lines.append(
                f"{title}, median of the first {FIRST} and of the rest {medians[0]:.1f}, {medians[1]:.1f}: {ratio:.2f}"
            )
    further = [sum(len(one.legs) > 2 for one in some) for some in (first, rest)]
    lines.append(f"with a further order: {further[0]} of the first {len(first)}, {further[1]} of the other {len(rest)}")
    return lines


def _between(arbitrages: Sequence[Arbitrage], step: str, following: str) -> Iterator[float]:
    for one in arbitrages:
        if step in one.times and following in one.times:
            yield (one.times[following] - one.times[step]) / 1_000


def _of_legs(arbitrages: Sequence[Arbitrage], step: str, following: str, *, is_further: bool) -> Iterator[float]:
    for one in arbitrages:
        for leg in one.legs[2:] if is_further else one.legs[:2]:
            if step in leg.times and following in leg.times:
                yield (leg.times[following] - leg.times[step]) / 1_000
