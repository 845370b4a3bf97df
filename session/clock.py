"""The one clock: integer microseconds UTC, live or replayed. Nothing else in the project reads time or sleeps."""

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol


class Clock(Protocol):
    """Market time. `now` never goes back within one process; `sleep` waits in market seconds."""

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
        """The recorded time at that time of the wall clock, microseconds."""
        return self.recording_start + int((wall - self.wall_start) * self.speed)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds / self.speed)


def wall_seconds(clock: Clock, market_seconds: float) -> float:
    """How long so much market time lasts on the wall."""
    return market_seconds / clock.speed if isinstance(clock, ReplayClock) else market_seconds


def wall_now() -> int:
    """Microseconds since the epoch by this machine's clock."""
    return time.time_ns() // 1_000


def steady_now() -> int:
    """Monotonic microseconds, for durations. The clock keeps running while a process is suspended."""
    return time.monotonic_ns() // 1_000
