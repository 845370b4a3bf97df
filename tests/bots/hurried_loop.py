"""An event loop whose time is skipped if nothing happens in it: seconds of a test cost none, and none is missed."""

import asyncio
import selectors
from collections.abc import Callable

START = 1_700_000_000_000_000
"""Microseconds."""

Events = list[tuple[selectors.SelectorKey, int]]


class _Skipping(selectors.SelectSelector):
    """Does not wait if only time would end the waiting."""

    def __init__(self, skip: Callable[[float], None]) -> None:
        super().__init__()
        self._skip = skip

    def select(self, timeout: float | None = None) -> Events:
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self._skip(timeout)
        return ready


class HurriedLoop(asyncio.SelectorEventLoop):
    """Its seconds pass when all its tasks wait for them."""

    def __init__(self) -> None:
        self._seconds = 0.0
        super().__init__(_Skipping(self._skip))

    def time(self) -> float:
        return self._seconds

    def _skip(self, seconds: float) -> None:
        self._seconds += seconds


class LoopClock:
    """The clock of the running loop, in microseconds."""

    def now(self) -> int:
        return START + round(asyncio.get_running_loop().time() * 1_000_000)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
