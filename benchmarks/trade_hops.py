"""Where the time of trades goes, hop by hop: one line for each wait between two steps that are noted. Pure."""

import statistics
from collections.abc import Iterator, Sequence

from benchmarks.percentiles import percentiles_text
from market.trade.arbitrages import Arbitrage

FIRST = 10
"""A session's first trades are its slowest: what they alone load is paid for by them."""


def hop_lines(arbitrages: Sequence[Arbitrage]) -> list[str]:
    """Return lines of p50 / p95 / p99 in milliseconds, and how the first ten trades compare with the rest."""
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
    first, rest = (list(_between(some, "detected", "sent")) for some in (ordered[:FIRST], ordered[FIRST:]))
    if first and rest:
        ratio = statistics.median(first) / statistics.median(rest)
        lines.append(f"opportunity to both sent, median of the first {FIRST} : of the rest {ratio:.2f}")
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
