"""Questions about texts of stream apps. A process of its own answers them, one after the other: what somebody types
must not stop the live rows that this process carries, however much there is to compile.
"""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from runtime.clock import SystemClock
from session.session import Session

ANSWER_SECONDS = 8.0
"""A text of the largest size takes half of that on a busy machine."""
START_SECONDS = 60.0
"""For the first answer of a process, which has to read its modules."""
IDLE_SECONDS = 300.0
"""After so long without a question the process ends, and its memory is free."""
MOST_WAITING = 60
MOST_OF_ONE = 5
"""Of those that wait, of one caller."""
MOST_BYTES = 16 * 1024**2
"""Of an answer."""
Row = dict[str, Any]


class TextsBusyError(Exception):
    """So many questions wait that another would only wait longer; try again in a moment."""


class TextTimeError(Exception):
    """The question was not answered in time; try again later, or ask less."""


class AppMistakesError(Exception):
    """The text is no app. `mistakes`: rows with line, column and message."""

    def __init__(self, mistakes: list[Row]) -> None:
        first, more = mistakes[0], len(mistakes) - 1
        rest = "" if not more else f", and {more} more mistake{'s' if more > 1 else ''}"
        super().__init__(f"line {first['line']}, column {first['column']}: {first['message']}{rest}")
        self.mistakes = mistakes


class AppTexts:
    """The process that knows the language. It is started by the first question, and again if it had to be ended."""

    def __init__(self, session: Session, command: tuple[str, ...]) -> None:
        """`session`: whose host would run the texts. `command`: of the process, with the session's configuration."""
        self._home, self._command = session.home, command
        self._host = {"mode": session.mode, "region": session.place.region}
        self._process: asyncio.subprocess.Process | None = None
        self._is_warm = False
        self._turn = asyncio.Lock()
        self._waiting: Counter[str] = Counter()
        """How many questions wait or are answered, by who asked."""
        self._own_turns: dict[str, asyncio.Lock] = {}
        self._idle: asyncio.Task[None] | None = None

    async def check(self, text: str, name: str = "", cases: str | None = None, who: str = "") -> Row:
        """Return `mistakes`, and of a text without any its `name`, `version` and the results of its `cases`. Raises
        TextTimeError, TextsBusyError: nobody knows then whether it has mistakes."""
        answer = await self._answer({"do": "check", "text": text, "name": name, "cases": cases}, who)
        found: Row = answer.get("is", answer)
        return found

    async def explain(self, text: str, name: str = "", who: str = "") -> Row:
        """Return what the app is made of. Raises AppMistakesError, TextTimeError, TextsBusyError."""
        answer = await self._answer({"do": "explain", "text": text, "name": name}, who)
        if "is" not in answer:
            raise AppMistakesError(answer["mistakes"])
        found: Row = answer["is"]
        return found

    async def difference(self, before: str, after: str, names: tuple[str, str], who: str = "") -> str:
        """Return the unified diff, empty if the texts are equal. Raises TextTimeError, TextsBusyError."""
        answer = await self._answer({"do": "diff", "before": before, "after": after, "names": names}, who)
        return str(answer["is"])

    async def close(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        await self._end()

    async def _answer(self, request: Mapping[str, object], who: str) -> Row:
        """`who`: has one place among all that wait, however many questions it asks at a time."""
        if self._waiting[who] >= MOST_OF_ONE or self._waiting.total() >= MOST_WAITING:
            raise TextsBusyError
        self._waiting[who] += 1
        own_turn = self._own_turns.setdefault(who, asyncio.Lock())
        try:
            async with own_turn, self._turn:
                return await self._asked(request)
        finally:
            self._waiting[who] -= 1
            if not self._waiting[who]:
                del self._waiting[who], self._own_turns[who]

    async def _asked(self, request: Mapping[str, object]) -> Row:
        process = await self._running()
        seconds = ANSWER_SECONDS if self._is_warm else START_SECONDS
        try:
            async with asyncio.timeout(seconds):
                line = await self._line(process, request)
        except (OSError, ValueError):
            # TimeoutError among them; ValueError: the answer is too long
            line = b""
        except asyncio.CancelledError:
            # its answer would be taken for that of the next question
            await self._end()
            raise
        if not line.endswith(b"\n"):
            await self._end()
            raise TextTimeError
        self._is_warm = True
        self._rest()
        found: Row = json.loads(line)
        return found

    async def _line(self, process: asyncio.subprocess.Process, request: Mapping[str, object]) -> bytes:
        if process.stdin is None or process.stdout is None:
            return b""
        process.stdin.write(json.dumps({**self._host, **request}).encode() + b"\n")
        await process.stdin.drain()
        return await process.stdout.readline()

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            self._is_warm = False
            pipe = asyncio.subprocess.PIPE
            environment = os.environ | {"ARBITRAGE_HOME": str(self._home)}
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=pipe, stdout=pipe, env=environment, limit=MOST_BYTES
            )
        return self._process

    def _rest(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._idle = asyncio.create_task(self._end_if_idle())

    async def _end_if_idle(self) -> None:
        await SystemClock().sleep(IDLE_SECONDS)
        async with self._turn:
            await self._end()

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
