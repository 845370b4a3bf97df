"""Token buckets: rate limits by caller."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from market.time_units import MICROSECONDS
from runtime.clock import steady_now
from session.access_terms import RateTerms

MAX_BUCKETS = 10_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: int


class Rates:
    """One bucket for each name, full at first. Beyond `MAX_BUCKETS` the longest unused is dropped; it is full by then,
    unless ten thousand other callers came meanwhile."""

    def __init__(self, terms: RateTerms, now: Callable[[], int] = steady_now) -> None:
        self._terms = terms
        self._now = now
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, name: str) -> float:
        """Take a token. Return 0, or the seconds until there is one if none is left."""
        bucket = self._filled(name)
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return 0.0
        return (1 - bucket.tokens) / self._terms.per_second

    def _filled(self, name: str) -> _Bucket:
        now = self._now()
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = _Bucket(self._terms.burst, now)
            if len(self._buckets) > MAX_BUCKETS:
                self._buckets.popitem(last=False)
        gained = (now - bucket.filled_at) / MICROSECONDS * self._terms.per_second
        bucket.tokens = min(float(self._terms.burst), bucket.tokens + gained)
        bucket.filled_at = now
        self._buckets.move_to_end(name)
        return bucket
