"""The one clock: integer microseconds UTC, live or replayed. Nothing else in the project reads time or sleeps."""

import asyncio
import mmap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runtime.clock_shift import mapped_shift, shift_in


class Clock(Protocol):
    """Market time. `now` goes back within one process only if somebody sets the clock back; `sleep` waits in market
    seconds."""

    def now(self) -> int: ...

    async def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True)
class SystemClock:
    """The machine's clock."""

    def now(self) -> int:
        return wall_now()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(frozen=True, slots=True)
class ReplayClock:
    """Recorded time, running `speed` times faster than the wall since `wall_start`.

    Every process of a replay gets the same three numbers and so has the same now.
    """

    recording_start: int
    wall_start: int
    speed: float

    def now(self) -> int:
        return self.at(wall_now())

    def at(self, wall: int) -> int:
        """Return the recorded time at that time of the wall clock, microseconds."""
        return self.recording_start + int((wall - self.wall_start) * self.speed)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


def wall_seconds(clock: Clock, market_seconds: float) -> float:
    """How long so much market time lasts on the wall."""
    return market_seconds / clock.speed if isinstance(clock, ReplayClock) else market_seconds


class _Shift:
    """How far the wall clock of this process is set off; None: not at all, as outside regions."""

    mapped: mmap.mmap | None = None


_shift = _Shift()
"""A clock is the one thing that a process has once."""


@contextmanager
def region_clock(path: Path) -> Iterator[None]:
    """Meanwhile this process's wall clock is off by what `path` says at that moment (`keep_shift`). The steady clock
    goes on as it is. Raises OSError, ValueError."""
    with mapped_shift(path) as mapped:
        _shift.mapped = mapped
        try:
            yield
        finally:
            _shift.mapped = None


def wall_now() -> int:
    """Microseconds since the epoch by this machine's clock; in a region by the region's, if that is set off."""
    # read once: at the end of the process other threads may still ask
    now, mapped = time.time_ns() // 1_000, _shift.mapped
    return now if mapped is None else now + shift_in(mapped)


def steady_now() -> int:
    """Monotonic microseconds, for durations. The clock keeps running while a process is suspended."""
    return time.monotonic_ns() // 1_000
