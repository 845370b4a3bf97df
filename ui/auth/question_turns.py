"""Questions whose answer holds much in memory: one is answered at a time, few wait, and none for long."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MOST_WAITING = 4


class QuestionsBusyError(Exception):
    """So many questions wait, or this one took so long, that nobody would wait for the answer."""


class QuestionTurns:
    """Runs on one event loop."""

    def __init__(self, seconds: float) -> None:
        """`seconds`: how long one may take, its turn included."""
        self._seconds = seconds
        self._asking = asyncio.Lock()
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Answer within. Raises QuestionsBusyError."""
        if self._waiting > MOST_WAITING:
            raise QuestionsBusyError("Others ask the same at the moment: try again in some seconds.")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._seconds), self._asking:
                yield
        except TimeoutError:
            raise QuestionsBusyError(f"It took longer than {self._seconds:g} s: try again in a moment.") from None
        finally:
            self._waiting -= 1
