"""The line of one chart: mids and their moving average, sampled, of fixed size."""

from collections import deque
from typing import NamedTuple

AVERAGED_MIDS = 10
SAMPLE_MICROSECONDS = 250_000
KEPT_POINTS = 720
"""Three minutes at four points a second."""


class PricePoint(NamedTuple):
    """The newest mid within one sample, and the mean of the last ten mids at that moment. Doubles: for drawing only."""

    time: int
    mid: float
    mean_mid: float


class PriceSeries:
    """One point per 250 ms of market time in which a quote came; the newest point changes until its 250 ms are over."""

    __slots__ = ("_mids", "_points")

    def __init__(self) -> None:
        self._mids: deque[float] = deque(maxlen=AVERAGED_MIDS)
        self._points: deque[PricePoint] = deque(maxlen=KEPT_POINTS)

    def add(self, received_time: int, mid: float) -> PricePoint:
        """Add a quote and return the point that it belongs to; the average counts every quote, drawn or not."""
        self._mids.append(mid)
        start = received_time - received_time % SAMPLE_MICROSECONDS
        if self._points:
            start = max(start, self._points[-1].time)
            if self._points[-1].time == start:
                self._points.pop()
        point = PricePoint(start, mid, sum(self._mids) / len(self._mids))
        self._points.append(point)
        return point

    @property
    def newest(self) -> PricePoint | None:
        return self._points[-1] if self._points else None

    def points(self) -> tuple[PricePoint, ...]:
        return tuple(self._points)
