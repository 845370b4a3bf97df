"""What stands between an order to a local paper account and its fill: how long it travels, which quotes still count."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class FillConditions:
    """Beside the median latency."""

    latency_spread: float = 0.0
    """Standard deviation of the latency's logarithm: 0 is always the median, 0.5 means two of three orders travel
    between 0.6 and 1.65 times as long."""
    seed: int = 1
    """Of the latencies: the same order travels equally long whenever and by whomever it is sent."""
    max_quote_age: Callable[[], int] | None = None
    """Microseconds after which nothing fills against a quote that its feed has not renewed; None: quotes never age."""

    def latency_seconds(self, median_ms: float, client_order_id: str) -> float:
        """From the decision to the match, in market time."""
        if self.latency_spread == 0:
            return median_ms / 1_000
        # not for secrets: the same seed must give the same numbers
        step = Random(f"{self.seed}:{client_order_id}").gauss(0, self.latency_spread)  # noqa: S311
        return median_ms * math.exp(step) / 1_000

    def is_stale(self, age: int) -> bool:
        """`age` in microseconds since the quote came or was renewed."""
        return self.max_quote_age is not None and age > self.max_quote_age()
