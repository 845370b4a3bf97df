"""Aggregations: values for every second, minute, … year of the calendar and for each group. As in Siddhi 5.1, but that
each bucket is computed of its rows, and not of the shorter ones: so any of them may be forgotten at any time."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from cep.apps.parts.aggregators import Aggregator
from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.calendar import bucket_start
from cep.apps.parts.chunks import CURRENT, Chunk, Row
from cep.apps.parts.selector import SelectorPlan

Time = Callable[[Row, int], Any]
"""Finds the bucket of a row and the time at which it came, milliseconds; None: in none."""
BucketKey = tuple[str, int, Hashable]
"""Duration, when it begins, group."""
BucketListener = Callable[[BucketKey, "Bucket | None"], None]
"""Takes what a bucket is by now; None: it is gone."""
DAY = 86_400_000
KEPT: Mapping[str, int] = {
    "sec": 120_000,
    "min": DAY,
    "hour": 30 * DAY,
    "day": 366 * DAY,
    "week": 366 * DAY,
}
"""For how long buckets are kept if the text does not say, milliseconds; those of months and years always."""
PURGE = 900_000
"""How often old ones are removed."""


@dataclass(frozen=True, slots=True)
class CalendarTerms:
    """`durations`: those that are kept; `retention`: for how long, None: always; `purge`: how often what is older is
    removed, None: never. Milliseconds. `zone`: of the calendar; None: UTC."""

    durations: tuple[str, ...]
    retention: Mapping[str, int | None] = field(default_factory=dict)
    purge: int | None = PURGE
    zone: ZoneInfo | None = None

    def kept_for(self, duration: str) -> int | None:
        return self.retention[duration] if duration in self.retention else KEPT.get(duration)


@dataclass(slots=True)
class Bucket:
    """One group in one bucket, with the last row of it by its time. `number`: in the order of their first rows;
    `group`: as its first row has it, since equal values may be written differently."""

    number: int
    group: Hashable
    aggregators: list[Aggregator]
    row: Row
    at: int
    time: int

    def add(self, row: Row, at: int, time: int, arguments: Row) -> None:
        if time >= self.time:
            self.row, self.at, self.time = row, at, time
        for aggregator, argument in zip(self.aggregators, arguments, strict=True):
            aggregator.add(argument)

    def state(self) -> tuple[Any, ...]:
        return self.number, self.row, self.at, self.time, [one.state() for one in self.aggregators]


class Aggregation(Stateful):
    """The buckets of one aggregation."""

    def __init__(self, context: PartContext, selection: SelectorPlan, time_of: Time, terms: CalendarTerms) -> None:
        self._context, self._selection, self._time_of, self._terms = context, selection, time_of, terms
        self._buckets: dict[str, dict[int, dict[Hashable, Bucket]]] = {one: {} for one in terms.durations}
        self._number = 0
        self._listener: BucketListener | None = None
        context.keep(self, self._on_time)
        self._purge_later()

    @property
    def terms(self) -> CalendarTerms:
        return self._terms

    @property
    def group_count(self) -> int:
        """How many there are in all buckets."""
        return sum(len(groups) for buckets in self._buckets.values() for groups in buckets.values())

    def listen(self, listener: BucketListener) -> None:
        """Call `listener` with each bucket that changed, once for the rows that come together; there is one at
        most."""
        self._listener = listener

    def receive(self, chunk: Chunk) -> None:
        changed: dict[BucketKey, Bucket] = {}
        for kind, at, row in chunk:
            time = self._time_of(row, at) if kind is CURRENT else None
            if time is None:
                continue
            key = None if self._selection.group is None else self._selection.group(row, at)
            arguments = self._selection.arguments(row, at)
            for duration, buckets in self._buckets.items():
                start = bucket_start(duration, time, self._terms.zone)
                groups = buckets.setdefault(start, {})
                bucket = groups.get(key)
                if bucket is None:
                    self._number += 1
                    aggregators = [one.make() for one in self._selection.kinds]
                    bucket = groups[key] = Bucket(self._number, key, aggregators, row, at, time)
                bucket.add(row, at, time, arguments)
                if self._listener is not None:
                    changed[duration, start, bucket.group] = bucket
        if self._listener is not None:
            for of_bucket, bucket in changed.items():
                self._listener(of_bucket, bucket)

    def rows(self, duration: str, since: int, until: int) -> Iterable[Row]:
        """Those of buckets that begin from `since` on and before `until`: when, and the selected values."""
        for start, groups in self._buckets[duration].items():
            if since <= start < until:
                for bucket in groups.values():
                    values = [one.value for one in bucket.aggregators]
                    yield (start, *self._selection.outputs(bucket.row, bucket.at, values))

    def clear(self) -> None:
        """Forget all buckets; no listener hears of it."""
        for buckets in self._buckets.values():
            buckets.clear()
        self._number = 0

    def fill(self, key: BucketKey, state: Any) -> None:
        """Fill in a bucket that was there before, in the order of their numbers; no listener hears of it. Raises
        ValueError if the aggregation had other durations or aggregators."""
        duration, start, group = key
        if duration not in self._buckets:
            return
        number, row, at, time, of_aggregators = state
        aggregators = [one.make() for one in self._selection.kinds]
        for aggregator, of_one in zip(aggregators, of_aggregators, strict=True):
            aggregator.restore(of_one)
        self._number = max(self._number, number)
        self._buckets[duration].setdefault(start, {})[group] = Bucket(number, group, aggregators, row, at, time)

    def _purge_later(self) -> None:
        if self._terms.purge is not None:
            self._context.wake_at(self._context.now + self._terms.purge)

    def _on_time(self, _due: int, _what: object) -> None:
        now = self._context.now
        self._purge_later()
        for duration, buckets in self._buckets.items():
            kept = self._terms.kept_for(duration)
            if kept is not None:
                for start in [one for one in buckets if one < now - kept]:
                    gone = buckets.pop(start)
                    if self._listener is not None:
                        for group in gone:
                            self._listener((duration, start, group), None)

    def state(self) -> object:
        buckets = [
            (duration, start, key, bucket.state())
            for duration, buckets in self._buckets.items()
            for start, groups in buckets.items()
            for key, bucket in groups.items()
        ]
        return self._number, buckets

    def restore(self, state: Any) -> None:
        number, buckets = state
        for duration, start, key, of_bucket in buckets:
            self.fill((duration, start, key), of_bucket)
        self._number = number
