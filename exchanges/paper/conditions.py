"""Conditions of a paper fill: the latency of orders, and the maximum age of quotes."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class FillConditions:
    """Fill conditions other than the median latency."""

    latency_spread: float = 0.0
    """Standard deviation of the latency's logarithm: 0 is always the median, with 0.5 two of three orders take
    between 0.6 and 1.65 times as long."""
    seed: int = 1
    """Seed of the latencies: the same order has the same latency in every run."""
    max_quote_age: Callable[[], int] | None = None
    """Maximum age of a quote in microseconds since it was renewed; None: quotes never become stale."""

    def latency_seconds(self, median_ms: float, client_order_id: str) -> float:
        """Return the latency from the decision to the match, in market time."""
        if self.latency_spread == 0:
            return median_ms / 1_000
        # not for secrets: the same seed must give the same latency
        step = Random(f"{self.seed}:{client_order_id}").gauss(0, self.latency_spread)  # noqa: S311
        return median_ms * math.exp(step) / 1_000

    def is_stale(self, age: int) -> bool:
        """`age` in microseconds since the quote was received or renewed."""
        return self.max_quote_age is not None and age > self.max_quote_age()
