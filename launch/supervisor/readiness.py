"""Decides when a start has failed: a slow process that still works is waited for, an idle one is not."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from launch.errors import LaunchError
from launch.setup.data_dir import ready_file
from launch.supervisor.process_groups import group_members
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, steady_now
from store.errors import StoreUnavailableError
from streams.errors import StreamUnavailableError

IDLE_SECONDS = 300.0
"""A process that is not ready and uses almost no CPU for so long counts as dead."""
WORK_SHARE = 0.01
"""Share of a core. A process that only retries a connection uses less."""
MAX_ENDS = 8
"""A process that ended so often without being ready counts as dead."""
LONGEST_GAP = 60 * MICROSECONDS
"""Longest gap counted between two checks: after a longer one the machine was suspended, or this process was stopped."""
PROBE_IDLE_SECONDS = 120.0
"""As above, for a process with a probe."""
PROBE_PAUSE_SECONDS = 0.1
READY_PAUSE_SECONDS = 0.05
NOT_YET = (StoreUnavailableError, StreamUnavailableError)


def processor_seconds(group: int) -> float:
    """Return the CPU time of all living processes of a group."""
    seconds = 0.0
    for process in group_members(group):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += times.user + times.system
    return seconds


@dataclass(slots=True)
class _Activity:
    """The last activity of a process: its group, CPU seconds and the time, microseconds."""

    group: int | None
    used: float
    at: int


@dataclass(slots=True)
class StartTimeouts:
    """Tracks the missing processes of a start; `used` gives a process group's CPU seconds."""

    idle_seconds: float
    restarts: Mapping[str, int]
    """Restarts of each process, as the supervisor counts them."""
    used: Callable[[int], float] = processor_seconds
    _before: dict[str, int] = field(init=False)
    _activity: dict[str, _Activity] = field(default_factory=dict)
    _checked_at: int | None = None

    def __post_init__(self) -> None:
        self._before = dict(self.restarts)

    def check(self, missing: Mapping[str, int | None], now: int, may_idle: Collection[str] = ()) -> str | None:
        """Return the reason why the start has failed, or None. `missing`: name → process group, None if none runs;
        `now` by the monotonic clock; `may_idle`: processes that wait for an exchange."""
        self._skip_gap(now)
        for name in set(self._activity) - set(missing):
            del self._activity[name]
        idle = [name for name, group in missing.items() if self._is_idle(name, group, now) and name not in may_idle]
        if idle:
            return f"not ready, and idle for {self.idle_seconds:.0f} s: {', '.join(idle)}"
        ended = [name for name in missing if self._ends(name) >= MAX_ENDS]
        return f"ended {MAX_ENDS} times before it was ready: {', '.join(ended)}" if ended else None

    def _skip_gap(self, now: int) -> None:
        gap = 0 if self._checked_at is None else max(0, now - self._checked_at - LONGEST_GAP)
        self._checked_at = now
        for seen in self._activity.values():
            seen.at += gap

    def _is_idle(self, name: str, group: int | None, now: int) -> bool:
        used = 0.0 if group is None else self.used(group)
        seen = self._activity.setdefault(name, _Activity(group, used, now))
        minimum = WORK_SHARE * self.idle_seconds
        if group != seen.group or used - seen.used >= minimum:
            self._activity[name] = _Activity(group, used, now)
            return False
        return now - seen.at > self.idle_seconds * MICROSECONDS

    def _ends(self, name: str) -> int:
        return self.restarts.get(name, 0) - self._before.get(name, 0)


async def until_ready(home: Path, names: tuple[str, ...], pause_seconds: float = READY_PAUSE_SECONDS) -> None:
    """Wait until these processes of the session have reported ready."""
    while not all(ready_file(home, name).exists() for name in names):
        await SystemClock().sleep(pause_seconds)


async def until_it_works(
    attempt: Callable[[], Awaitable[None]],
    name: str,
    group: int,
    idle_seconds: float = PROBE_IDLE_SECONDS,
    pause_seconds: float = PROBE_PAUSE_SECONDS,
) -> None:
    """Repeat `attempt` for as long as the process works. Raises LaunchError once it is idle, and passes on permanent
    errors of `attempt`."""
    timeouts = StartTimeouts(idle_seconds, {})
    while True:
        try:
            return await attempt()
        except NOT_YET as error:
            why = timeouts.check({name: group}, steady_now())
            if why is not None:
                raise LaunchError(f"{why} ({error})") from error
        await SystemClock().sleep(pause_seconds)
