"""A line at the bottom of a terminal that is drawn again in place, with the printed lines above it."""

import sys
from collections.abc import Callable
from shutil import get_terminal_size
from typing import TextIO

CLEARED = "\r\x1b[K"
"""Goes to the beginning of the line and clears it."""

Echo = Callable[[str], None]


class TerminalLine:
    """Prints lines, and shows one more below them. Call it with a line to print."""

    def __init__(self, stream: TextIO, columns: Callable[[], int] = lambda: get_terminal_size().columns) -> None:
        self._stream = stream
        self._columns = columns
        self._shown = ""

    def __call__(self, line: str) -> None:
        """Print a line above the shown one."""
        self._write(f"{CLEARED if self._shown else ''}{line}\n{self._shown}")

    def show(self, words: str) -> None:
        """Show these words in place of what is shown, as many as fit in one line; "" shows nothing."""
        fitting = words[: max(self._columns() - 1, 0)]
        if fitting != self._shown:
            self._write(f"{CLEARED}{fitting}")
            self._shown = fitting

    def clear(self) -> None:
        """Show nothing any more."""
        self.show("")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def terminal_echo(plain: Echo) -> Echo:
    """Return how lines are printed: with a line of progress if standard output is a terminal, else `plain`."""
    return TerminalLine(sys.stdout) if sys.stdout.isatty() else plain
