"""Durations of each stage, counted in buckets of fixed size."""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Literal, get_args

from market.prices.opportunities import OpportunityLeg
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES, Arbitrage
from runtime.recent_names import RecentNames

Stage = Literal["received_to_detected", "detected_to_reserved", "reserved_to_sent", "sent_to_filled"]
STAGES: tuple[Stage, ...] = get_args(Stage)
TIMES_OF: dict[Stage, tuple[str, str]] = {
    "received_to_detected": ("event", "detected"),
    "detected_to_reserved": ("detected", "reserved"),
    "reserved_to_sent": ("reserved", "sent"),
    "sent_to_filled": ("sent", "filled"),
}
"""The two of an arbitrage's `times` that a stage lies between."""
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper ends of the buckets, seconds; one more bucket holds what took longer."""
REMEMBERED_ARBITRAGES = 20_000


class LatencyHistogram:
    """Counts since the process started."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.seconds = 0.0

    def observe(self, microseconds: int) -> None:
        """Count a duration. Negative ones, as when two machines' clocks differ, count as 0."""
        seconds = max(0, microseconds) / MICROSECONDS
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def count(self) -> int:
        return sum(self.counts)

    def quantile(self, share: float) -> float | None:
        """Return the quantile in seconds, estimated as if durations were spread evenly within a bucket. None without
        counts; at most the last bound."""
        wanted, before = share * self.count, 0
        for place, count in enumerate(self.counts):
            if count and before + count >= wanted:
                if place == len(BOUNDS):
                    break
                low = BOUNDS[place - 1] if place else 0.0
                return low + (BOUNDS[place] - low) * (wanted - before) / count
            before += count
        return BOUNDS[-1] if self.count else None


class TradeLatencies:
    """Latencies of arbitrages that have ended, each counted once. The moving average's orders have no such stages."""

    def __init__(self) -> None:
        self.stages: dict[Stage, LatencyHistogram] = {stage: LatencyHistogram() for stage in STAGES}
        self.arrivals: dict[str, LatencyHistogram] = {}
        """Exchange → delay from its own timestamp to ours, corrected by its clock's known offset."""
        self._counted = RecentNames(REMEMBERED_ARBITRAGES)

    def record(self, arbitrage: Arbitrage, offsets: Mapping[tuple[str, str], int | None]) -> None:
        """Count the stages of an arbitrage. `offsets`: (exchange, symbol) → how far its clock is ahead of ours,
        microseconds."""
        if arbitrage.state not in FINAL_STATES or arbitrage.strategy != "arbitrage":
            return
        if not self._counted.is_new(arbitrage.arbitrage_id):
            return
        for stage, (begin, end) in TIMES_OF.items():
            if begin in arbitrage.times and end in arbitrage.times:
                self.stages[stage].observe(arbitrage.times[end] - arbitrage.times[begin])
        for leg in (arbitrage.opportunity.buy, arbitrage.opportunity.sell):
            self._record_arrival(leg, offsets)

    def _record_arrival(self, leg: OpportunityLeg, offsets: Mapping[tuple[str, str], int | None]) -> None:
        if leg.exchange_time is None or leg.received_time is None:
            return
        ahead = offsets.get((leg.exchange, leg.symbol)) or 0
        arrival = self.arrivals.setdefault(leg.exchange, LatencyHistogram())
        arrival.observe(leg.received_time - leg.exchange_time + ahead)
