"""The effects of Ctrl-C and SIGTERM. In a session, or a command that waits, they set an event, and the session's end
follows (`launch/sessions/shutdown.py`). In a command that uses Spark they end in one line instead of the traces of
every thread and process. From the first import on until either: `launch/commands/main.py`."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import current_thread, main_thread
from traceback import clear_frames
from types import FrameType, TracebackType
from typing import Self, TypeVar

from launch.errors import StoppedError, TerminatedError
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now

Result = TypeVar("Result")

SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED = "stopped before it was done."
CLEAN_UP_SECONDS = 3.0
"""For so long a second Ctrl-C does not interrupt the clean-up that the first one started."""
CLEARED = "\r\x1b[K"
"""Clears the terminal's line, where a progress bar may be."""


def stop_event() -> asyncio.Event:
    """Return an event that Ctrl-C or SIGTERM sets."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    return stopped


async def unless_stopped(work: Coroutine[object, object, Result], stopped: asyncio.Event) -> Result:
    """Return the result of `work`. Raises StoppedError if the user stopped us first."""
    working = asyncio.ensure_future(work)
    stopping = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait([working, stopping], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise StoppedError(STOPPED)
    finally:
        for task in (working, stopping):
            task.cancel()
        await asyncio.gather(working, stopping, return_exceptions=True)


async def stopped_or_after(stopped: asyncio.Event, seconds: float | None) -> None:
    """Wait until the user stops us, at most `seconds`."""
    if seconds is None:
        await stopped.wait()
        return
    with suppress(StoppedError):
        await unless_stopped(SystemClock().sleep(seconds), stopped)


class Stopping:
    """While it lasts, a signal raises KeyboardInterrupt in the main thread, once, and redirects standard error to
    `log`.

    It then ends with StoppedError (Ctrl-C) or TerminatedError (SIGTERM), whatever error the signal caused. `advice`:
    one more sentence. Outside the main thread it does nothing, since no signal arrives there.
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
            # objects of these frames are finalised here, while standard error is redirected
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
        if self._number and wall_now() - self._raised_at < CLEAN_UP_SECONDS * MICROSECONDS:
            return
        self._number, self._raised_at = self._number or number, wall_now()
        with self._log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        raise KeyboardInterrupt


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer signals around the start of a child: a signal kills the new child at once and takes effect at the end,
    since an interrupted start would leave the child behind. Handlers that others set meanwhile are removed.
    """
    if current_thread() is not main_thread():
        yield
        return
    received: list[int] = []
    known = _children()

    def receive(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        for child in _children() - known:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    before: dict[signal.Signals, object] = {number: signal.signal(number, receive) for number in SIGNALS}
    try:
        yield
    finally:
        _restore(before)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def stderr_to(path: Path) -> Iterator[None]:
    """Redirect standard error to `path`, also of a JVM that is started meanwhile."""
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
    """Return children of the main thread; empty if the system does not list them."""
    with suppress(OSError):
        return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
    return set()


def _restore(handlers: dict[signal.Signals, object]) -> None:
    for number, handler in handlers.items():
        # None: set outside Python, and cannot be restored
        signal.signal(number, handler if callable(handler) or isinstance(handler, int) else signal.SIG_DFL)
