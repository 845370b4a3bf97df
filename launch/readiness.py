"""How long a start is waited for: as long as what is missing works. A busy machine is slow; nothing is thrown away."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import psutil

from launch.children import group_members
from market.clock import MICROSECONDS

IDLE_SECONDS = 300.0
"""A part that is not ready and does next to nothing for so long is given up: it waits for what does not come."""
WORK_SHARE = 0.01
"""Of a core. One that only asks again and again for what is not there uses less."""
MOST_ENDS = 8
"""A part that ended so often without having been ready will not get there either."""


def processor_seconds(group: int) -> float:
    """Of all living processes of a group so far."""
    seconds = 0.0
    for process in group_members(group):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        seconds += times.user + times.system
    return seconds


@dataclass(slots=True)
class _Seen:
    """One part when it last was seen to work: its group, processor seconds then, and the time, microseconds."""

    group: int | None
    used: float
    at: int


@dataclass(slots=True)
class Patience:
    """What the missing parts of a start have done since it began; `used` gives a process group's processor seconds."""

    idle_seconds: float
    restarts: Mapping[str, int]
    """Of each part, as the supervisor counts them."""
    used: Callable[[int], float] = processor_seconds
    _before: dict[str, int] = field(init=False)
    _seen: dict[str, _Seen] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._before = dict(self.restarts)

    def check(self, missing: Mapping[str, int | None], now: int) -> str | None:
        """Why the start is to be given up, or None. `missing`: name → process group, None where none runs."""
        for name in set(self._seen) - set(missing):
            del self._seen[name]
        idle = [name for name, group in missing.items() if self._is_idle(name, group, now)]
        if idle:
            return f"not ready, and idle for {self.idle_seconds:.0f} s: {', '.join(idle)}"
        ended = [name for name in missing if self._ends(name) >= MOST_ENDS]
        return f"ended {MOST_ENDS} times before it was ready: {', '.join(ended)}" if ended else None

    def _is_idle(self, name: str, group: int | None, now: int) -> bool:
        used = 0.0 if group is None else self.used(group)
        seen = self._seen.setdefault(name, _Seen(group, used, now))
        wanted = WORK_SHARE * self.idle_seconds
        if group != seen.group or used - seen.used >= wanted:
            self._seen[name] = _Seen(group, used, now)
            return False
        return now - seen.at > self.idle_seconds * MICROSECONDS

    def _ends(self, name: str) -> int:
        return self.restarts.get(name, 0) - self._before.get(name, 0)
