"""The clock of an app: the time of its log, which never goes back."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

Call = Callable[[], None]


class AppClock:
    """Moves with the log's rows.

    Each part that waits has a clock of its own by `part`. When a row moves the time past several waits, the parts are
    called in the order in which they asked for their clocks, each with all of its times that are due, as in Siddhi: not
    in the order of those times. They see the new time.
    """

    def __init__(self) -> None:
        self.now = 0
        self._waits: list[tuple[int, int, int, Call]] = []
        """Due, number, rank of the part, call."""
        self._number = 0
        self._ranks = 0

    def part(self) -> "PartClock":
        self._ranks += 1
        return PartClock(self, self._ranks)

    def wait(self, due: int, rank: int, call: Call) -> None:
        self._number += 1
        heapq.heappush(self._waits, (due, self._number, rank, call))

    def advance(self, at: int) -> None:
        """To `at`, with all calls that are due until then."""
        self.now = max(self.now, at)
        if self._waits and self._waits[0][0] <= self.now:
            self._call_due()

    def _call_due(self) -> None:
        calls: list[tuple[int, int, int, Call]] = []
        self._collect(calls, 0)
        while calls:
            rank, _, _, call = heapq.heappop(calls)
            call()
            self._collect(calls, rank)

    def _collect(self, calls: list[tuple[int, int, int, Call]], rank: int) -> None:
        """What is due of parts that are not over yet; what an earlier part waits for now
        is due with the next row."""
        too_late = []
        while self._waits and self._waits[0][0] <= self.now:
            wait = heapq.heappop(self._waits)
            if wait[2] < rank:
                too_late.append(wait)
            else:
                heapq.heappush(calls, (wait[2], wait[0], wait[1], wait[3]))
        for wait in too_late:
            heapq.heappush(self._waits, wait)


@dataclass(frozen=True, slots=True)
class PartClock:
    """The clock as one part of a query has it."""

    app: AppClock
    rank: int

    @property
    def now(self) -> int:
        return self.app.now

    def call_at(self, due: int, call: Call) -> None:
        """`call` once the clock has reached `due`, before the row that moves it there."""
        self.app.wait(due, self.rank, call)
