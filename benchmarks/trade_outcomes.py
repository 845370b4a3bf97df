"""Latencies of the steps of trades, and how many did not close: two ways of trading side by side. Pure."""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from launch.sessions.summary import Latencies, latencies_of, percentiles
from market.trade.arbitrages import Arbitrage

FEWEST = 300
"""Below this number of trades the slowest one of a hundred means nothing."""
POINTS = 3.0
"""How much more of the session's trades may fail, in percentage points."""
STEPS = {
    "opportunity": "tick to opportunity traded",
    "detected_to_sent": "opportunity to both sent",
    "sent": "tick to both sent",
    "filled": "tick to both ended",
}
"""Fields of `Latencies`."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Outcomes of all arbitrages that were begun."""

    states: Mapping[str, int]
    """State at the end, or that it is open → number."""
    by_more: int
    """Number of closed ones that needed an order beyond the first two."""

    @property
    def begun(self) -> int:
        return sum(self.states.values())

    @property
    def failed(self) -> int:
        """Number of those that did not close, for any reason."""
        return self.begun - self.states.get("closed", 0)

    @property
    def failed_percent(self) -> float:
        """NaN if nothing was begun."""
        return 100 * self.failed / self.begun if self.begun else float("nan")


def outcomes_of(arbitrages: Sequence[Arbitrage]) -> Outcomes:
    by_more = sum(one.state == "closed" and len(one.legs) > 2 for one in arbitrages)
    return Outcomes(Counter(one.state for one in arbitrages), by_more)


def latencies(arbitrages: Sequence[Arbitrage]) -> Latencies:
    """Return the latencies of the opportunities that were traded."""
    times = [one.times for one in arbitrages]
    return latencies_of(arbitrages, [(row["detected"] - row["event"]) / 1_000 for row in times], {})


def figures(milliseconds: Sequence[float]) -> str:
    """Return their number, and percentiles if there are enough."""
    count = f"{len(milliseconds):9}"
    shares = percentiles(milliseconds) if len(milliseconds) >= FEWEST else None
    if shares is not None:
        return count + "".join(f"{figure:9.1f}" for figure in shares.values())
    if not milliseconds:
        return count
    return f"{count}   too few; mean {statistics.fmean(milliseconds):.1f}, slowest {max(milliseconds):.1f}"


def side_by_side(session: Sequence[Arbitrage], storeless: Sequence[Arbitrage]) -> list[str]:
    """Return the lines to print."""
    sides = {"session": session, "without store": storeless}
    measured = {name: latencies(arbitrages) for name, arbitrages in sides.items()}
    lines = [f"{'ms':28}{'':14}{'trades':>9}{'p50':>9}{'p95':>9}{'p99':>9}"]
    for step, title in STEPS.items():
        lines += [f"{title:28}{name:14}{figures(getattr(one, step))}" for name, one in measured.items()]
    outcomes = {name: outcomes_of(arbitrages) for name, arbitrages in sides.items()}
    return [*lines, *(_ends(name, one) for name, one in outcomes.items()), _difference(*outcomes.values())]


def _ends(name: str, outcomes: Outcomes) -> str:
    states = ", ".join(f"{count} {state}" for state, count in sorted(outcomes.states.items())) or "none"
    closed = f"; {outcomes.by_more} closed with a third order" if outcomes.by_more else ""
    return f"{name:14}{outcomes.begun} begun: {states}{closed}; not closed {outcomes.failed_percent:.1f} %"


def _difference(session: Outcomes, storeless: Outcomes) -> str:
    if not session.begun or not storeless.begun:
        return "not closed, session less without store: not known, since one of them began nothing"
    points = session.failed_percent - storeless.failed_percent
    verdict = "held" if points <= POINTS else "NOT HELD"
    return f"not closed, session less without store: {points:+.1f} points (at most {POINTS:+.1f}: {verdict})"
