"""The door of the part that runs published stream apps: a Unix socket in the session's data folder, as those see it who
ask.

A request is a JSON object on a line, `{"do": …}`; so is an answer, `{"is": …}` or `{"error", "kind"}`. After `follow`
lines come until one of the two closes. The folder is the owner's alone, so whoever reaches the socket may ask.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from runtime.socket_path import short_path

SOCKET = "apps.sock"
MOST_BYTES_OF_LINE = 32 * 1024**2
"""Of a request or an answer."""
ANSWER_SECONDS = 10.0
MOST_ROWS = 500
"""That one request for the newest rows gives; so many of each stream are kept."""

Refusal = Literal["unknown", "not_running", "mistake", "not_allowed", "failed"]
"""`unknown`: no such app or stream; `mistake`: in the query or the row; `failed`: the app could not do it."""
Values = Mapping[str, Any]


class AppDoorSilentError(ConnectionError):
    """There is no answer yet: the part, the process or the app is being started, or the app has had no row. Try again
    in a moment; one sentence."""


class AppDoorRefusedError(ValueError):
    """It was not done, and trying again does not help; one sentence. `line`, `column`: of a mistake in a query."""

    def __init__(self, problem: str, kind: Refusal, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.kind, self.line, self.column = kind, line, column


@dataclass(frozen=True, slots=True)
class AppRowSeen:
    """`id`: as in the topic `apps`, or one that follows from the log in the same way. `time`: milliseconds UTC."""

    id: str
    time: int
    values: Values


@dataclass(frozen=True, slots=True)
class AppAnswer:
    """`columns`: name and type of each. `as_of`: offset and time (milliseconds) of the last row of the log that the app
    had taken, for each partition of it."""

    columns: tuple[tuple[str, str], ...]
    rows: Sequence[Sequence[Any]]
    as_of: Sequence[Values]


@dataclass(frozen=True, slots=True)
class AppDoor:
    """`home`: the data folder of the session, or of the region.

    Every method raises AppDoorSilentError, AppDoorRefusedError.
    """

    home: Path

    async def status(self, app: str) -> Values:
        """Return what the app does at this moment; docs/apps/running.md lists the figures."""
        found: Values = await self._ask({"do": "status", "app": app})
        return found

    async def all_status(self) -> Mapping[str, Values]:
        """Return the status of each app that runs, by name."""
        found: Mapping[str, Values] = await self._ask({"do": "status"})
        return found

    async def rows(self, app: str, stream: str, last: int) -> list[AppRowSeen]:
        """Return the newest rows of any stream of the app, oldest first, at most `MOST_ROWS`."""
        found = await self._ask({"do": "rows", "app": app, "stream": stream, "last": last})
        return [AppRowSeen(**row) for row in found]

    async def query(self, app: str, query: str, values: Values | None = None, *, may_write: bool = False) -> AppAnswer:
        """Ask tables, named windows and aggregations of the running app. `values`: of names in the query."""
        request = {"do": "query", "app": app, "query": query, "values": values or {}, "may_write": may_write}
        found = await self._ask(request)
        columns = tuple((str(name), str(kind)) for name, kind in found["columns"])
        return AppAnswer(columns, found["rows"], found["as_of"])

    async def inject(self, app: str, stream: str, values: Values) -> Values:
        """Send a row into a plain stream of the app; returns the `partition` of its log, once Kafka has it."""
        found: Values = await self._ask({"do": "inject", "app": app, "stream": stream, "values": values})
        return found

    async def replay(self, app: str, stream: str, values: Values, row: str) -> Values:
        """Give the app a row of the error store again, with the id `row` that it had; returns as `inject`."""
        request = {"do": "replay", "app": app, "stream": stream, "values": values, "row": row}
        found: Values = await self._ask(request)
        return found

    async def savepoint(self, app: str) -> Values:
        """Keep what the running app has kept as a savepoint in the data folder; return its name (`savepoint`) and its
        `bytes`."""
        found: Values = await self._ask({"do": "savepoint", "app": app})
        return found

    async def savepoints(self, app: str) -> list[str]:
        """Return the names of the app's savepoints in the data folder, newest first; of one that does not run too."""
        found: list[str] = await self._ask({"do": "savepoints", "app": app})
        return found

    async def fits(self, app: str, text: str) -> Mapping[str, Sequence[str]]:
        """Return which parts of the app, as it runs or ran last in the session, another text would go on with (`fit`),
        which begin `empty`, and which would be `dropped`."""
        found: Mapping[str, Sequence[str]] = await self._ask({"do": "fits", "app": app, "text": text})
        return found

    async def follow(self, app: str, stream: str) -> AsyncGenerator[AppRowSeen]:
        """Yield the stream's rows as they come, until the caller closes it. AppDoorSilentError: the part has ended."""
        reader, writer = await self._opened({"do": "follow", "app": app, "stream": stream})
        try:
            _answer(await _line(reader, ANSWER_SECONDS))
            while True:
                yield AppRowSeen(**_answer(await _line(reader, None)))
        finally:
            writer.close()

    async def _ask(self, request: Values) -> Any:
        reader, writer = await self._opened(request)
        try:
            return _answer(await _line(reader, ANSWER_SECONDS))
        finally:
            writer.close()

    async def _opened(self, request: Values) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            with short_path(self.home, SOCKET) as path:
                reader, writer = await asyncio.open_unix_connection(path, limit=MOST_BYTES_OF_LINE)
        except OSError as error:
            raise AppDoorSilentError(f"the part that runs apps is not there ({error.strerror or error}).") from error
        writer.write(json.dumps(request).encode() + b"\n")
        return reader, writer


def refusal_of(answer: Values, problem: str) -> AppDoorSilentError | AppDoorRefusedError:
    """Return the error of an answer, as it is to be raised: `silent` is the kind of what has no answer yet."""
    if answer["kind"] == "silent":
        return AppDoorSilentError(problem)
    return AppDoorRefusedError(problem, answer["kind"], answer.get("line"), answer.get("column"))


async def _line(reader: asyncio.StreamReader, seconds: float | None) -> bytes:
    try:
        async with asyncio.timeout(seconds):
            line = await reader.readline()
    except (OSError, ValueError) as error:
        # TimeoutError among them; ValueError: the line is too long
        raise AppDoorSilentError(f"the part that runs apps does not answer ({str(error) or 'too slow'}).") from error
    if not line.endswith(b"\n"):
        raise AppDoorSilentError("the part that runs apps has ended; try again in a moment.")
    return line


def _answer(line: bytes) -> Any:
    answer = json.loads(line)
    if "error" in answer:
        raise refusal_of(answer, answer["error"])
    return answer["is"]
