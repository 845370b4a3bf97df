"""What the metrics were at each look of the last day, in bounded memory: of each series what changed, and when."""

from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import isnan, nan

from prometheus_client import Metric

from ui.desk.alert_rules import LOOK_SECONDS, SeriesKey

DAY_LOOKS = 86_400 // LOOK_SECONDS
FEWEST_LOOKS = 3_600 // LOOK_SECONDS
MOST_POINTS = 1_000_000
"""Of all series together, twelve bytes each; with more the day is cut down to what fits."""
NOT_FOR_RULES = ("arbitrage_http_", "arbitrage_session_info")
"""What requests did grows by each route, and never ends."""
RULED_KINDS = ("gauge", "counter")


@dataclass(frozen=True, slots=True)
class MetricInfo:
    """What a metric is, as `/metrics` says."""

    name: str
    kind: str
    what: str


@dataclass(slots=True)
class _Runs:
    """Values that began at looks of these numbers; NaN: not known from then on."""

    looks: "array[int]" = field(default_factory=lambda: array("I"))
    values: "array[float]" = field(default_factory=lambda: array("d"))

    def add(self, look: int, value: float) -> int:
        """Return by how many points it grew."""
        if self.values and (self.values[-1] == value or (self.is_unknown and isnan(value))):
            return 0
        self.looks.append(look)
        self.values.append(value)
        return 1

    @property
    def is_unknown(self) -> bool:
        return isnan(self.values[-1])

    def forget(self, first: int) -> int:
        """Forget what ended before the look `first`; return how many points that were."""
        gone = bisect_right(self.looks, first) - 1
        if gone <= 0:
            return 0
        del self.looks[:gone], self.values[:gone]
        return gone

    def copy(self) -> "_Runs":
        return _Runs(self.looks[:], self.values[:])

    def between(self, first: int, end: int) -> Iterator[float | None]:
        at = bisect_right(self.looks, first) - 1
        for look in range(first, end):
            while at + 1 < len(self.looks) and self.looks[at + 1] <= look:
                at += 1
            value = nan if at < 0 else self.values[at]
            yield None if isnan(value) else value


class MetricHistory:
    """One look is added at a time; times in microseconds UTC."""

    def __init__(self, most_points: int = MOST_POINTS) -> None:
        self._most_points = most_points
        self._times: deque[int] = deque(maxlen=DAY_LOOKS)
        self._next = 0
        """Number of the next look."""
        self._series: dict[SeriesKey, _Runs] = {}
        self._points = 0
        self.metrics: dict[str, MetricInfo] = {}
        """By the name of their samples."""

    def look(self, families: Iterable[Metric], now: int) -> None:
        """Add what the metrics say at `now`."""
        seen: dict[SeriesKey, float] = {}
        for family in families:
            if family.type not in RULED_KINDS or family.name.startswith(NOT_FOR_RULES):
                continue
            name = f"{family.name}_total" if family.type == "counter" else family.name
            self.metrics[name] = MetricInfo(name, family.type, family.documentation)
            for sample in family.samples:
                seen[name, tuple(sample.labels.items())] = float(sample.value)
        for key in self._series.keys() | seen.keys():
            runs = self._series.setdefault(key, _Runs())
            self._points += runs.add(self._next, seen.get(key, nan))
        self._next += 1
        self._times.append(now)
        self._forget()

    @property
    def looks(self) -> int:
        """How many of the newest are known."""
        return len(self._times)

    @property
    def looks_ever(self) -> int:
        """How many there were, those that are forgotten included."""
        return self._next

    @property
    def times(self) -> list[int]:
        """Return when the looks were that are known, the oldest first."""
        return list(self._times)

    def known(self, metric: str) -> dict[SeriesKey, float]:
        """Return its series that are known now, by their labels."""
        keys = sorted(key for key, runs in self._series.items() if key[0] == metric and not runs.is_unknown)
        return {key: self._series[key].values[-1] for key in keys}

    def keys(self, wanted: Callable[[SeriesKey], bool]) -> list[SeriesKey]:
        """Return the series that are wanted."""
        return sorted(filter(wanted, self._series))

    def of(self, keys: Iterable[SeriesKey]) -> "MetricHistory":
        """Return what is known of these series, for another thread: later looks change nothing in it."""
        made = MetricHistory()
        made._next, made._times = self._next, self._times.copy()
        made._series = {key: self._series[key].copy() for key in keys}
        return made

    def samples(self, keys: Iterable[SeriesKey], looks: int) -> dict[SeriesKey, list[float | None]]:
        """Return the samples of series at the newest `looks`."""
        first = self._next - min(looks, len(self._times))
        return {key: list(self._series[key].between(first, self._next)) for key in keys}

    def _forget(self) -> None:
        """Forget what is older than a day, or than there is room for, and series of which nothing is known."""
        self._forget_before(self._next - len(self._times))
        while self._points > self._most_points and len(self._times) > FEWEST_LOOKS:
            for _ in range(max(1, len(self._times) // 4)):
                self._times.popleft()
            self._forget_before(self._next - len(self._times))

    def _forget_before(self, first: int) -> None:
        for runs in self._series.values():
            self._points -= runs.forget(first)
        unknown = [key for key, runs in self._series.items() if len(runs.values) == 1 and runs.is_unknown]
        for key in unknown:
            del self._series[key]
            self._points -= 1
