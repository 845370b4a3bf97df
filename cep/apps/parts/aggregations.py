"""Aggregations: values for every second, minute, … year of the calendar (UTC) and for each group. As in Siddhi 5.1."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cep.apps.parts.aggregators import Aggregator
from cep.apps.parts.app_context import PartContext, Stateful
from cep.apps.parts.calendar import bucket_start
from cep.apps.parts.chunks import CURRENT, Chunk, Row
from cep.apps.parts.selector import SelectorPlan

Time = Callable[[Row, int], Any]
"""Finds the bucket of a row and the time at which it came, milliseconds; None: in none."""
DAY = 86_400_000
KEPT: Mapping[str, int] = {
    "sec": 120_000,
    "min": DAY,
    "hour": 30 * DAY,
    "day": 366 * DAY,
    "week": 366 * DAY,
}
"""For how long buckets are kept, milliseconds; those of months and years always."""
PURGE = 900_000
"""How often old ones are removed."""


@dataclass(slots=True)
class Bucket:
    """One group in one bucket, with the last row of it by its time."""

    aggregators: list[Aggregator]
    row: Row
    at: int
    time: int

    def add(self, row: Row, at: int, time: int, arguments: Row) -> None:
        if time >= self.time:
            self.row, self.at, self.time = row, at, time
        for aggregator, argument in zip(self.aggregators, arguments, strict=True):
            aggregator.add(argument)


class Aggregation(Stateful):
    """The buckets of one aggregation."""

    def __init__(
        self, context: PartContext, selection: SelectorPlan, time_of: Time, durations: tuple[str, ...]
    ) -> None:
        self._context, self._selection, self._time_of = context, selection, time_of
        self._buckets: dict[str, dict[int, dict[Hashable, Bucket]]] = {duration: {} for duration in durations}
        context.keep(self, self._on_time)
        context.wake_at(context.now + PURGE)

    @property
    def durations(self) -> tuple[str, ...]:
        return tuple(self._buckets)

    @property
    def group_count(self) -> int:
        """How many there are in all buckets."""
        return sum(len(groups) for buckets in self._buckets.values() for groups in buckets.values())

    def receive(self, chunk: Chunk) -> None:
        for kind, at, row in chunk:
            time = self._time_of(row, at) if kind is CURRENT else None
            if time is None:
                continue
            key = None if self._selection.group is None else self._selection.group(row, at)
            arguments = self._selection.arguments(row, at)
            for duration, buckets in self._buckets.items():
                groups = buckets.setdefault(bucket_start(duration, time), {})
                bucket = groups.get(key)
                if bucket is None:
                    bucket = groups[key] = Bucket([one.make() for one in self._selection.kinds], row, at, time)
                bucket.add(row, at, time, arguments)

    def rows(self, duration: str, since: int, until: int) -> Iterable[Row]:
        """Those of buckets that begin from `since` on and before `until`: when, and the selected values."""
        for start, groups in self._buckets[duration].items():
            if since <= start < until:
                for bucket in groups.values():
                    values = [one.value for one in bucket.aggregators]
                    yield (start, *self._selection.outputs(bucket.row, bucket.at, values))

    def _on_time(self, _due: int, _what: object) -> None:
        now = self._context.now
        self._context.wake_at(now + PURGE)
        for duration, buckets in self._buckets.items():
            kept = KEPT.get(duration)
            if kept is not None:
                for start in [one for one in buckets if one < now - kept]:
                    del buckets[start]

    def state(self) -> object:
        return [
            (duration, start, key, bucket.row, bucket.at, bucket.time, [one.state() for one in bucket.aggregators])
            for duration, buckets in self._buckets.items()
            for start, groups in buckets.items()
            for key, bucket in groups.items()
        ]

    def restore(self, state: Any) -> None:
        for duration, start, key, row, at, time, of_aggregators in state:
            aggregators = [one.make() for one in self._selection.kinds]
            for aggregator, of_one in zip(aggregators, of_aggregators, strict=True):
                aggregator.restore(of_one)
            self._buckets[duration].setdefault(start, {})[key] = Bucket(aggregators, row, at, time)
