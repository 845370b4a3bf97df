"""A watch over the row that an app computes: it ends an app whose one row takes too long, or grows too much on the way.

The system's timer of CPU time interrupts Python between two steps of its code, so a row costs nothing more. Code that
is not Python's, and does not come back, is beyond it: `worker_watch.py` ends the process then.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from cep.hosts.hosted_app import HostedApp
from cep.parts.app_limits import AppLimitError

LOOK_SECONDS = 0.25
"""CPU of this process between two looks."""


class EventWatch:
    """`app`: the one that runs now, or ran last; None before any has."""

    def __init__(self, app: Callable[[], HostedApp | None]) -> None:
        self._app = app
        self._row: tuple[HostedApp, int] | None = None
        self._looks = 0

    def look(self) -> None:
        """Raises AppLimitError where the row of the look before takes too long, or the app keeps too much."""
        app = self._app()
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


@contextmanager
def watched(watch: EventWatch) -> Iterator[None]:
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
