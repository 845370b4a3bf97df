"""How long a start is waited for: as long as what is missing works. A busy machine is slow; nothing is thrown away."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field

import psutil

from launch.errors import LaunchError
from launch.supervisor.process_groups import group_members
from market.time_units import MICROSECONDS
from session.clock import SystemClock, steady_now
from store.errors import StoreUnavailableError
from streams.errors import StreamUnavailableError

IDLE_SECONDS = 300.0
"""A part that is not ready and does next to nothing for so long is given up: it waits for what does not come."""
WORK_SHARE = 0.01
"""Of a core. One that only asks again and again for what is not there uses less."""
MOST_ENDS = 8
"""A part that ended so often without having been ready will not get there either."""
LONGEST_GAP = 60 * MICROSECONDS
"""Between two looks. Of a longer one no more is counted: the machine slept, or this process was stopped, and neither
says anything of a part."""
PROBE_IDLE_SECONDS = 120.0
"""As above, for one that has to be asked whether it works."""
PROBE_PAUSE_SECONDS = 0.1
NOT_YET = (StoreUnavailableError, StreamUnavailableError)


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
class StartTimeouts:
    """What the missing parts of a start have done since it began; `used` gives a process group's processor seconds."""

    idle_seconds: float
    restarts: Mapping[str, int]
    """Of each part, as the supervisor counts them."""
    used: Callable[[int], float] = processor_seconds
    _before: dict[str, int] = field(init=False)
    _seen: dict[str, _Seen] = field(default_factory=dict)
    _looked_at: int | None = None

    def __post_init__(self) -> None:
        self._before = dict(self.restarts)

    def check(self, missing: Mapping[str, int | None], now: int, may_idle: Collection[str] = ()) -> str | None:
        """Why the start is to be given up, or None. `missing`: name → process group, None where none runs; `now` by a
        clock that nobody sets; `may_idle`: those who wait for what is not ours."""
        self._leave_out_gap(now)
        for name in set(self._seen) - set(missing):
            del self._seen[name]
        idle = [name for name, group in missing.items() if self._is_idle(name, group, now) and name not in may_idle]
        if idle:
            return f"not ready, and idle for {self.idle_seconds:.0f} s: {', '.join(idle)}"
        ended = [name for name in missing if self._ends(name) >= MOST_ENDS]
        return f"ended {MOST_ENDS} times before it was ready: {', '.join(ended)}" if ended else None

    def _leave_out_gap(self, now: int) -> None:
        gap = 0 if self._looked_at is None else max(0, now - self._looked_at - LONGEST_GAP)
        self._looked_at = now
        for seen in self._seen.values():
            seen.at += gap

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


async def until_it_works(
    attempt: Callable[[], Awaitable[None]],
    name: str,
    group: int,
    idle_seconds: float = PROBE_IDLE_SECONDS,
    pause_seconds: float = PROBE_PAUSE_SECONDS,
) -> None:
    """Ask again for as long as the part works on it. Raises LaunchError once it is idle, and what says that trying
    again changes nothing."""
    patience = StartTimeouts(idle_seconds, {})
    while True:
        try:
            return await attempt()
        except NOT_YET as error:
            why = patience.check({name: group}, steady_now())
            if why is not None:
                raise LaunchError(f"{why} ({error})") from error
        await SystemClock().sleep(pause_seconds)
