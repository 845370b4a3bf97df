"""How often the processes of a group of apps ended by themselves, and why; pure."""

import signal
from collections import deque
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS

MINUTE = 60 * MICROSECONDS
FEWEST = 2
"""Ends in a minute that are reported: one may happen to anybody."""
MOST_KEPT = 1_000


@dataclass(slots=True)
class ProcessEnds:
    count: int = 0
    _ends: deque[tuple[int, str]] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    """Each with its time."""

    def add(self, at: int, why: str) -> None:
        """`at`: microseconds of the steady clock. `why`: a sentence without its full stop."""
        self.count += 1
        self._ends.append((at, why))

    def trouble(self, now: int) -> str:
        """Return that they end again and again, and why the last one did; empty if they do not."""
        recent = [why for at, why in self._ends if now - at < MINUTE]
        return f"restarted {len(recent)} times in the last minute: {recent[-1]}" if len(recent) >= FEWEST else ""


def end_words(exit_code: int | None, noted: str) -> str:
    """Return why a process ended. `noted`: what it said itself, or whoever killed it; empty if nothing."""
    if noted:
        return noted.rstrip(".")
    if exit_code is not None and exit_code < 0:
        return f"its process was killed by {signal.Signals(-exit_code).name}"
    return f"its process ended with exit code {exit_code}"
