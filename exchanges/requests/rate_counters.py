"""How exchanges count requests: so many in any stretch of time, or a counter that runs down. Pure; microseconds."""

import math
from collections import deque
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal

from market.time_units import MICROSECONDS

SLOTS = 10
"""Of a window that is handed on: what was used within one counts as used at the last moment of it."""


@dataclass(frozen=True, slots=True)
class Limit:
    """`window`: at most `most` in any `seconds`. `counter`: at most `most` at once, which run down in `seconds`."""

    how: Literal["window", "counter"]
    most: int
    seconds: Fraction

    def part(self, share: Fraction) -> "Limit":
        """So much of it for one of several, at least one request. What all have together is no more than the whole."""
        most = max(1, int(self.most * share))
        # a part that was rounded down runs down as fast as its share says, no faster
        seconds = self.seconds if self.how == "window" else Fraction(most) * self.seconds / (self.most * share)
        return Limit(self.how, most, seconds)

    def steady(self, at_once: Fraction) -> "Limit":
        """No more than it allows, of which `at_once` may be used at a time: a window as a counter that runs down.

        Whoever begins with an empty count, where what was used before is not known, exceeds the window by so little.
        """
        if self.how == "counter":
            return self
        most = max(1, int(self.most * at_once))
        return Limit("counter", most, Fraction(most) * self.seconds / max(1, self.most - most))


def window(most: int, seconds: int) -> Limit:
    return Limit("window", most, Fraction(seconds))


def counter(most: int, a_second: str) -> Limit:
    """Full at `most`; so much of it goes `a_second`."""
    return Limit("counter", most, most / Fraction(a_second))


@dataclass(slots=True)
class Used:
    """What was used of one limit."""

    limit: Limit
    _times: deque[tuple[int, int]] = field(default_factory=deque)
    """Of a window: (when, how much), oldest first."""
    _level: Fraction = Fraction(0)
    """Of a counter: how high it stood at `_at`; of a window: the sum of `_times`."""
    _at: int = 0

    def level(self, now: int) -> Fraction:
        """How much is used."""
        if self.limit.how == "counter":
            gone = Fraction(max(0, now - self._at), MICROSECONDS) * self.limit.most / self.limit.seconds
            return max(Fraction(0), self._level - gone)
        while self._times and now - self._times[0][0] >= self.limit.seconds * MICROSECONDS:
            self._level -= self._times.popleft()[1]
        return self._level

    def add(self, weight: int, now: int) -> None:
        """Whether it fits or not."""
        if weight == 0:
            return
        self._level, self._at = self.level(now) + weight, now
        if self.limit.how == "window":
            self._times.append((now, weight))

    def rows(self, now: int) -> list[tuple[int, int]]:
        """In few numbers, for whoever goes on counting to `add`: (how many ms ago, how much), oldest first.

        Never longer ago than it was, so that nothing is to be had twice.
        """
        level = self.level(now)
        if self.limit.how == "counter":
            # one that has run down in part stood at a whole number some time ago
            whole = math.ceil(level)
            return [(int((whole - level) * self.limit.seconds / self.limit.most * 1_000), whole)] if whole else []
        rows: dict[int, tuple[int, int]] = {}
        length = int(self.limit.seconds * MICROSECONDS)
        for when, weight in self._times:
            slot = (now - when) * SLOTS // length
            rows[slot] = (now - when) // 1_000, weight + rows.get(slot, (0, 0))[1]
        return list(rows.values())

    def left(self, now: int) -> Fraction:
        """Below zero where more was used than there is."""
        return self.limit.most - self.level(now)

    def seconds_until(self, weight: int, now: int) -> float:
        """Until so much is left; what is more than the whole limit fits into an empty one."""
        lacking = min(weight, self.limit.most) - self.left(now)
        if lacking <= 0:
            return 0.0
        if self.limit.how == "counter":
            return float(lacking * self.limit.seconds / self.limit.most)
        for when, freed in self._times:
            lacking -= freed
            if lacking <= 0:
                return float(when / MICROSECONDS + self.limit.seconds - Fraction(now, MICROSECONDS))
        return float(self.limit.seconds)
