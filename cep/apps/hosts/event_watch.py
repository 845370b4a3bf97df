"""A watch over the row that an app computes: it ends an app whose one row takes too long, or grows too much on the way.

The system's timer of CPU time interrupts Python between two steps of its code, so a row costs nothing more. Code that
is not Python's, and does not come back, is beyond it: `worker_watch.py` ends the process then.
"""

import resource
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Protocol

import psutil

from cep.apps.hosts.hosted_app import HostedApp
from cep.apps.parts.app_limits import AppLimitError, AppLimits

LOOK_SECONDS = 0.25
"""CPU of this process between two looks."""


class Watch(Protocol):
    def look(self) -> None:
        """Raise AppLimitError if what runs has to end."""
        ...


class EventWatch:
    """`app`: the one that runs now, or ran last; None before any has."""

    def __init__(self, app: Callable[[], HostedApp | None]) -> None:
        self._app = app
        self._row: tuple[HostedApp, int] | None = None
        self._looks = 0

    def look(self) -> None:
        """Raise AppLimitError if the row of the look before takes too long, or the app keeps too much;
        QuestionRefusedError if an on-demand query takes too long."""
        app = self._app()
        if app is not None and app.question is not None:
            app.question.look()
            return
        row = None if app is None or app.busy_with is None else (app, app.busy_with)
        if app is None or row is None or row != self._row:
            self._row, self._looks = row, 0
            return
        self._looks += 1
        app.check_limits()
        most = app.limits.event_seconds
        if self._looks * LOOK_SECONDS >= most:
            self._looks = 0
            raise AppLimitError(f"it took more than {most:g} s of CPU with all that comes of it (event.seconds)")


class CaseWatch:
    """Watches an app's cases, which run in the process of the command: CPU of each event, and memory of the process."""

    def __init__(self, limits: AppLimits) -> None:
        self._limits = limits
        self._process = psutil.Process()
        self._looks = 0

    def begin(self) -> None:
        """To be called before each event."""
        self._looks = 0

    def look(self) -> None:
        """Raise AppLimitError if the event takes too long, or the process too much memory."""
        self._looks += 1
        if self._process.memory_info().rss > self._limits.worker_bytes:
            raise AppLimitError(memory_problem(self._limits))
        if self._looks * LOOK_SECONDS >= self._limits.event_seconds:
            seconds = self._limits.event_seconds
            raise AppLimitError(f"it took more than {seconds:g} s of CPU with all that comes of it (event.seconds)")


def memory_problem(limits: AppLimits) -> str:
    return f"it took more than {limits.worker_bytes:,} bytes of memory (worker_bytes)"


@contextmanager
def bounded_memory(most: int) -> Iterator[None]:
    """While it lasts, this process gets so many bytes of address space more, and beyond that a MemoryError: one step of
    Python's code may take gigabytes, before any watch looks."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    allowed = psutil.Process().memory_info().vms + most
    known = [one for one in (allowed, *before) if one != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_AS, (min(known), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """While it lasts, the watch looks. Elsewhere than in a process's first thread it does not: no signal gets there."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        watch.look()

    before = signal.signal(signal.SIGPROF, interrupted)
    signal.siginterrupt(signal.SIGPROF, False)
    signal.setitimer(signal.ITIMER_PROF, LOOK_SECONDS, LOOK_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
