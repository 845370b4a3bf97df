"""The event queue of a backtest in market time: events run one after the other, simultaneous ones in the order in which
they were scheduled. The bots' coroutines run on it as they do live, without waiting for wall time."""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeVar

from market.time_units import MICROSECONDS

Answer = TypeVar("Answer")
Work = Coroutine["_Until", None, object]


@dataclass(frozen=True, slots=True)
class _Until:
    """Yielded by a coroutine to resume at `time`, microseconds."""

    time: int

    def __await__(self) -> Generator["_Until", None, None]:
        yield self


class EventQueue:
    """A `runtime.clock.Clock` with the pending events."""

    def __init__(self) -> None:
        self._now = 0
        self._planned = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []

    def now(self) -> int:
        return self._now

    @property
    def next_event(self) -> int | None:
        """Return when the next pending event is; None without one."""
        return self._heap[0][0] if self._heap else None

    async def sleep(self, seconds: float) -> None:
        await _Until(self._now + round(seconds * MICROSECONDS))

    def schedule(self, time: int, act: Callable[[], None]) -> None:
        """Schedule `act`; a time in the past runs at once, after the current event."""
        heappush(self._heap, (max(time, self._now), self._planned, act))
        self._planned += 1

    def start(self, work: Work, then: Callable[[], None]) -> None:
        """Run `work` to its first sleep; call `then` once it has ended."""
        try:
            wake = work.send(None)
        except StopIteration:
            then()
            return
        self.schedule(wake.time, lambda: self.start(work, then))

    def advance(self, time: int) -> None:
        """Run all events up to `time`, and set the clock to it."""
        while self._heap and self._heap[0][0] <= time:
            self._now, _, act = heappop(self._heap)
            act()
        self._now = max(self._now, time)

    def finish(self) -> None:
        """Run all pending events."""
        while self._heap:
            self.advance(self._heap[0][0])


def run_to_end(work: Coroutine[object, None, Answer]) -> Answer:
    """Return the result of a coroutine that never waits. Raises RuntimeError if it does."""
    try:
        work.send(None)
    except StopIteration as ended:
        answer: Answer = ended.value
        return answer
    work.close()
    raise RuntimeError("a coroutine that must not wait in a backtest has waited")
