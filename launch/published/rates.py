"""What an app does a second, from what its processes count; pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from market.time_units import MICROSECONDS

Counts = Mapping[str, Any]
"""`cep.apps.resident.app_figures.AppFigures.reported`, with `lag_rows`."""
_TOTALS = ("rows_in", "rows_out", "repeats")


@dataclass(frozen=True, slots=True)
class Look:
    """`at`: microseconds of the steady clock. `counts`: by partition."""

    at: int
    counts: Mapping[int, Counts]


@dataclass(slots=True)
class AppRates:
    """Two looks at an app's processes, one after the other."""

    before: Look | None = None
    newest: Look | None = None
    lost: Counter[str] = field(default_factory=Counter)
    """What processes had counted that have ended."""
    known: dict[int, Counts] = field(default_factory=dict)
    """By partition, what was counted last, also by a process that has not answered since."""
    offsets: dict[int, int] = field(default_factory=dict)
    """By partition, the highest next offset that was seen."""

    def add(self, look: Look) -> None:
        """Take the next look. A process that counts from its beginning again has replaced another one."""
        self.before, self.newest = self.newest, look
        for partition, counts in look.counts.items():
            known = self.known.get(partition)
            if known is not None and known["begun_at"] != counts["begun_at"]:
                self.lost.update({name: known[name] for name in _TOTALS})
            self.known[partition] = counts
            self.offsets[partition] = max(self.offsets.get(partition, 0), counts["offset"])

    @property
    def busy(self) -> float:
        """The share of a core that the app takes, of all partitions together."""
        return self._a_second("busy_us") / MICROSECONDS

    @property
    def lag_rows(self) -> int:
        return 0 if self.newest is None else sum(one["lag_rows"] for one in self.newest.counts.values())

    def reported(self, wall: int) -> dict[str, Any]:
        """Return the figures for people. `wall`: now, microseconds."""
        counts = () if self.newest is None else tuple(self.newest.counts.values())
        totals = {name: sum(one[name] for one in self.known.values()) + self.lost[name] for name in _TOTALS}
        kept, errors = Counter[str](), Counter[str]()
        for one in counts:
            kept.update(one["kept"])
            errors.update(one["errors"])
        saved = [one["snapshot_at"] for one in counts if one["snapshot_at"]]
        behind = [wall - one["last_row_at"] for one in counts if one["last_row_at"] and one["lag_rows"]]
        return {
            **totals,
            "rows_in_per_second": round(self._a_second("rows_in"), 2),
            "rows_per_second": round(self._a_second("rows_out"), 2),
            "streams": self._streams(),
            "errors": dict(errors),
            "lag_rows": self.lag_rows,
            "lag_ms": max(behind, default=0) // 1_000,
            "state_bytes": sum(one["state_bytes"] for one in counts),
            "partial_matches": kept["partial_matches"],
            "keys": kept["keys"],
            "window_rows": kept["window_rows"],
            "table_rows": kept["table_rows"],
            "snapshot_age_ms": (wall - min(saved)) // 1_000 if saved else None,
            "cpu": round(self.busy, 4),
            "offsets": {str(partition): offset for partition, offset in sorted(self.offsets.items())},
        }

    def _a_second(self, name: str) -> float:
        return sum(self._grown(partition, lambda one: one[name]) for partition in self._both) / self._seconds

    def _streams(self) -> dict[str, float]:
        if self.newest is None:
            return {}
        names = sorted({name for one in self.newest.counts.values() for name in one["streams"]})
        grown = {
            name: sum(self._grown(one, lambda counts, of=name: counts["streams"].get(of, 0)) for one in self._both)
            for name in names
        }
        return {name: round(rows / self._seconds, 2) for name, rows in grown.items()}

    def _grown(self, partition: int, count: Any) -> float:
        if self.before is None or self.newest is None:
            return 0.0
        return max(0.0, float(count(self.newest.counts[partition]) - count(self.before.counts[partition])))

    @property
    def _both(self) -> list[int]:
        """Partitions that the same process had in both looks."""
        if self.before is None or self.newest is None:
            return []
        known = self.before.counts
        return [
            partition
            for partition, counts in self.newest.counts.items()
            if partition in known and known[partition]["begun_at"] == counts["begun_at"]
        ]

    @property
    def _seconds(self) -> float:
        if self.before is None or self.newest is None:
            return 1.0
        return max(1, self.newest.at - self.before.at) / MICROSECONDS
