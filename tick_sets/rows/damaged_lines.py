"""Unreadable lines of a file: a few are counted and skipped; a file with mostly such lines is rejected."""

from pathlib import Path

from tick_sets.errors import reject

MIN_DAMAGED = 1_000
"""So many damaged lines are rejected at once if they are half of all so far; a large file need not be read whole."""


class DamagedLines:
    """The damaged lines of one file. `lines`: all lines read so far."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._first: tuple[int, str] | None = None
        self._damaged = 0
        self.lines = 0

    def note(self, line: int, why: str) -> None:
        """Count a line that cannot be read. Raises as `check` does."""
        self._damaged += 1
        self._first = self._first or (line, why)
        if self._damaged >= MIN_DAMAGED:
            self.check()

    def check(self) -> None:
        """Raise ImportRejectedError, naming the first, if half of the lines so far, or more, cannot be read."""
        if self._first is not None and 2 * self._damaged >= self.lines:
            line, why = self._first
            reject(self._path, line, f"{why}; {self._damaged} of {self.lines} lines cannot be read")
