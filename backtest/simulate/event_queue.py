"""What happens when, in the market time of a backtest: one event after the other, those of one moment in the order in
which they were planned. Coroutines of the bots run on it as they do live, but nothing ever waits for the wall."""

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TypeVar

from market.time_units import MICROSECONDS

Answer = TypeVar("Answer")
Work = Coroutine["_Until", None, object]


@dataclass(frozen=True, slots=True)
class _Until:
    """Yielded by a coroutine that goes on at `time`, microseconds."""

    time: int

    def __await__(self) -> Generator["_Until", None, None]:
        yield self


class EventQueue:
    """A `session.clock.Clock`, and the events to come."""

    def __init__(self) -> None:
        self._now = 0
        self._planned = 0
        self._heap: list[tuple[int, int, Callable[[], None]]] = []

    def now(self) -> int:
        return self._now

    async def sleep(self, seconds: float) -> None:
        await _Until(self._now + round(seconds * MICROSECONDS))

    def plan(self, time: int, act: Callable[[], None]) -> None:
        """What lies in the past happens at once, after what is happening."""
        heappush(self._heap, (max(time, self._now), self._planned, act))
        self._planned += 1

    def start(self, work: Work, then: Callable[[], None]) -> None:
        """Run it to where it sleeps first; `then` once it has ended."""
        try:
            wake = work.send(None)
        except StopIteration:
            then()
            return
        self.plan(wake.time, lambda: self.start(work, then))

    def advance(self, time: int) -> None:
        """Let everything happen that is planned up to `time`, which is now then."""
        while self._heap and self._heap[0][0] <= time:
            self._now, _, act = heappop(self._heap)
            act()
        self._now = max(self._now, time)

    def finish(self) -> None:
        """Let everything happen that is planned."""
        while self._heap:
            self.advance(self._heap[0][0])


def run_to_end(work: Coroutine[object, None, Answer]) -> Answer:
    """What a coroutine returns that never waits. Raises RuntimeError where it does."""
    try:
        work.send(None)
    except StopIteration as ended:
        answer: Answer = ended.value
        return answer
    work.close()
    raise RuntimeError("a step that must not wait in a backtest has waited")
