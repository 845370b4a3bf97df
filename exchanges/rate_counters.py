"""How exchanges count requests: a sliding window, or a counter that decays. Pure; microseconds."""

import math
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from market.time_units import MICROSECONDS

SLOTS = 10
"""Slots of a window that is stored: what was used within one counts as used at its last moment."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`window`: at most `maximum` in any `seconds`. `counter`: at most `maximum` at once, which decay in `seconds`."""

    how: Literal["window", "counter"]
    maximum: int
    seconds: Fraction

    def share_of(self, share: Fraction) -> "Limit":
        """Return a share of the limit, at least one request. All shares together are within the limit."""
        maximum = max(1, int(self.maximum * share))
        # a share that was rounded down decays at its share's rate, no faster
        seconds = self.seconds if self.how == "window" else Fraction(maximum) * self.seconds / (self.maximum * share)
        return Limit(self.how, maximum, seconds)

    def as_counter(self, at_once: Fraction) -> "Limit":
        """Return a window as a decaying counter within the same limit, of which `at_once` may be used at a time.

        A process that starts with an empty count, not knowing earlier use, exceeds the window by that much at most.
        """
        if self.how == "counter":
            return self
        maximum = max(1, int(self.maximum * at_once))
        return Limit("counter", maximum, Fraction(maximum) * self.seconds / max(1, self.maximum - maximum))

    def spread(self, at_once: int) -> "Limit":
        """Return the counter that spreads a window: refilled at the window's own rate, with at most `at_once` saved up.

        It alone would allow `at_once` more than the window; both are to be kept.
        """
        return Limit("counter", at_once, Fraction(at_once) * self.seconds / self.maximum)


def window(maximum: int, seconds: int) -> Limit:
    return Limit("window", maximum, Fraction(seconds))


def counter(maximum: int, a_second: str) -> Limit:
    """Full at `maximum`; decays by `a_second` each second."""
    return Limit("counter", maximum, maximum / Fraction(a_second))


@dataclass(slots=True)
class Used:
    """What was used of one limit."""

    limit: Limit
    _times: deque[tuple[int, int]] = field(default_factory=deque)
    """Uses of a window: (time, weight), oldest first."""
    _level: Fraction = Fraction(0)
    """For a counter: its level at `_at`; for a window: the sum of `_times`."""
    _at: int = 0

    def level(self, now: int) -> Fraction:
        """Return the used weight."""
        if self.limit.how == "counter":
            gone = Fraction(max(0, now - self._at), MICROSECONDS) * self.limit.maximum / self.limit.seconds
            return max(Fraction(0), self._level - gone)
        while self._times and now - self._times[0][0] >= self.limit.seconds * MICROSECONDS:
            self._level -= self._times.popleft()[1]
        return self._level

    def add(self, weight: int, now: int) -> None:
        """Count `weight`, even beyond the limit."""
        if weight == 0:
            return
        self._level, self._at = self.level(now) + weight, now
        if self.limit.how == "window":
            self._times.append((now, weight))

    def rows(self, now: int) -> list[tuple[int, int]]:
        """Return the uses in few rows, for another process to `add`: (milliseconds ago, weight), oldest first.

        Never longer ago than it was, so that nothing can be used twice.
        """
        level = self.level(now)
        if self.limit.how == "counter":
            # a partly decayed counter was at a whole number some time ago
            whole = math.ceil(level)
            return [(int((whole - level) * self.limit.seconds / self.limit.maximum * 1_000), whole)] if whole else []
        rows: dict[int, tuple[int, int]] = {}
        length = int(self.limit.seconds * MICROSECONDS)
        for when, weight in self._times:
            slot = (now - when) * SLOTS // length
            rows[slot] = (now - when) // 1_000, weight + rows.get(slot, (0, 0))[1]
        return list(rows.values())

    def left(self, now: int) -> Fraction:
        """Below zero if more was used than allowed."""
        return self.limit.maximum - self.level(now)

    def seconds_until(self, weight: int, now: int) -> float:
        """Seconds until `weight` fits; a weight above the limit fits into an empty one."""
        lacking = min(weight, self.limit.maximum) - self.left(now)
        if lacking <= 0:
            return 0.0
        if self.limit.how == "counter":
            return float(lacking * self.limit.seconds / self.limit.maximum)
        for when, freed in self._times:
            lacking -= freed
            if lacking <= 0:
                return float(when / MICROSECONDS + self.limit.seconds - Fraction(now, MICROSECONDS))
        return float(self.limit.seconds)
