"""Who does the work on pieces of a tick set, or on sets of a sweep: this process, its forks (`forked_workers`), or
Spark's workers. The result is the same."""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

Found = TypeVar("Found")
Report = Callable[[float], None]
"""Called with the share that is done, 0 to 1."""
Work = Callable[[Iterable[int]], Iterable[Found]]
"""Numbers of pieces → what came of them."""

MOST_ROWS_HERE = 20_000_000
"""Rows up to which one core is done before a JVM, its session and their workers are ready for work on all cores."""
PIECES_HERE = 8
"""As many reports of progress; a cut costs next to nothing."""


class WorkersStoppedError(Exception):
    """The workers are gone, or one of them failed; the message is one sentence without its end."""


class Workers(Protocol):
    """Runs the same work over every piece."""

    @property
    def pieces(self) -> int:
        """Return into how many pieces to cut a tick set."""
        ...

    @property
    def shares_memory(self) -> bool:
        """Return whether they have what this process has read."""
        ...

    def run(self, work: Work[Found], count: int, report: Report) -> list[Found]:
        """Return what came of the pieces 0 to `count` - 1, in their order. Raises WorkersStoppedError."""
        ...


def report_nothing(_: float) -> None:
    """Report nothing."""


class ThisProcess:
    """Searches piece after piece here, without Spark and its JVM."""

    shares_memory = True

    @property
    def pieces(self) -> int:
        return PIECES_HERE

    def run(self, work: Work[Found], count: int, report: Report) -> list[Found]:
        found: list[Found] = []
        for number in range(count):
            found += work((number,))
            report((number + 1) / count)
        return found
