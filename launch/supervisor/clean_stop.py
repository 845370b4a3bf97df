"""Ctrl-C and SIGTERM in a command that works in Spark: one line, not what every thread and process says to it."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from traceback import clear_frames
from types import FrameType, TracebackType
from typing import Self

from launch.errors import StoppedError, TerminatedError
from market.time_units import MICROSECONDS
from session.clock import wall_now

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED = "stopped before it was done."
IMPATIENCE_SECONDS = 3.0
"""So long a second Ctrl-C does not break off the tidying up that the first one began."""
CLEARED = "\r\x1b[K"
"""Of a terminal's line: a bar may stand there."""


class Stopping:
    """While it lasts, a signal raises KeyboardInterrupt in the main thread, once, and standard error goes into `log`.

    It ends with StoppedError (Ctrl-C) or TerminatedError (SIGTERM), whatever the signal broke on its way. `advice`: one
    more sentence. In another thread than the main one it does nothing: no signal arrives there.
    """

    def __init__(self, log: Path, advice: str = "") -> None:
        self._log = log
        self._advice = advice
        self._number = 0
        self._raised_at = 0
        self._terminal = -1
        self._before: dict[signal.Signals, object] = {}

    def __enter__(self) -> Self:
        if current_thread() is main_thread():
            self._log.parent.mkdir(parents=True, exist_ok=True)
            self._terminal = os.dup(2)
            self._before = {number: signal.signal(number, self._stop) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._before:
            return
        is_stopped = error is not None and (self._number != 0 or isinstance(error, KeyboardInterrupt))
        if is_stopped:
            # what hangs on these frames ends here, where nobody hears it
            clear_frames(trace)
        sys.stderr.flush()
        os.dup2(self._terminal, 2)
        os.close(self._terminal)
        _restore(self._before)
        if is_stopped:
            if sys.stderr.isatty():
                sys.stderr.write(CLEARED)
            kind_of_end = TerminatedError if self._number == signal.SIGTERM else StoppedError
            raise kind_of_end(f"{STOPPED} {self._advice}".strip()) from None

    def _stop(self, number: int, _frame: FrameType | None) -> None:
        if self._number and wall_now() - self._raised_at < IMPATIENCE_SECONDS * MICROSECONDS:
            return
        self._number, self._raised_at = self._number or number, wall_now()
        with self._log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        raise KeyboardInterrupt


@contextmanager
def signals_held_back() -> Iterator[None]:
    """Around what starts a child: a signal kills that, and no child that was there before, and takes effect at the end,
    since a start that is broken off would leave the child behind. Handlers that others set meanwhile go.
    """
    if current_thread() is not main_thread():
        yield
        return
    noted: list[int] = []
    known = _children()

    def note(number: int, _frame: FrameType | None) -> None:
        noted.append(number)
        for child in _children() - known:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    before: dict[signal.Signals, object] = {number: signal.signal(number, note) for number in SIGNALS}
    try:
        yield
    finally:
        _restore(before)
        if noted:
            signal.raise_signal(noted[0])


@contextmanager
def said_to(path: Path) -> Iterator[None]:
    """What a JVM started meanwhile says goes into `path`, to its end: nobody at a terminal asked for it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    terminal = os.dup(2)
    try:
        with path.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        os.dup2(terminal, 2)
        os.close(terminal)


def _children() -> set[int]:
    """Of the main thread. Where the system does not name them they are waited for."""
    with suppress(OSError):
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
    return set()


def _restore(handlers: dict[signal.Signals, object]) -> None:
    for number, handler in handlers.items():
        # None: set by something that is not Python, and cannot be set again
        signal.signal(number, handler if callable(handler) or isinstance(handler, int) else signal.SIG_DFL)
