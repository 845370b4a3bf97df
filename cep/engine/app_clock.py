"""The clock of an app: the time of its log, which never goes back."""

import heapq
from collections.abc import Callable


class AppClock:
    """Moves with the log's rows. Calls come in the order of their times, and of when they were asked for."""

    def __init__(self) -> None:
        self.now = 0
        self._calls: list[tuple[int, int, Callable[[], None]]] = []
        self._asked = 0

    def call_at(self, due: int, call: Callable[[], None]) -> None:
        self._asked += 1
        heapq.heappush(self._calls, (due, self._asked, call))

    def advance(self, at: int) -> None:
        """To `at`, with all calls that are due until then. They see the new time, as in Siddhi, which sets its clock
        first."""
        self.now = max(self.now, at)
        while self._calls and self._calls[0][0] <= self.now:
            heapq.heappop(self._calls)[2]()

    @property
    def next_due(self) -> int | None:
        return self._calls[0][0] if self._calls else None
