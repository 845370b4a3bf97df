"""The percentiles that benchmarks print."""

import statistics
from collections.abc import Sequence

PERCENTILES = (50, 95, 99)


def percentiles(figures: Sequence[float]) -> list[float]:
    """Return those of `PERCENTILES`; none for fewer than two figures."""
    if len(figures) < 2:
        return []
    cuts = statistics.quantiles(figures, n=100, method="inclusive")
    return [cuts[percentile - 1] for percentile in PERCENTILES]


def percentiles_text(figures: Sequence[float], digits: int) -> str:
    """Return them with that many digits after the point; a dash if there are none."""
    return " / ".join(f"{figure:.{digits}f}" for figure in percentiles(figures)) or "–"
