"""A worker process as its host sees it: what it is asked, over a pair of sockets, and what it answers."""

import asyncio
import pickle
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from multiprocessing.context import ForkServerProcess
from typing import Any

import orjson

from cep.apps.errors import AppFailedError
from cep.apps.resident.kernel import PlacedApp
from cep.apps.resident.worker_desk import LENGTH_BYTES, Asked, framed
from runtime.app_door import AppDoorRefusedError, AppDoorSilentError, refusal_of

MOST_ROWS_WAITING = 10_000
"""For one who follows; older ones are left out for him."""
END_SECONDS = 5.0
RESTARTED = "the process of the app is being started again; try again in a moment"


class WorkerLink:
    """`process`: started, and still loading perhaps; what it is asked waits for it. To be opened before it is used."""

    def __init__(self, process: ForkServerProcess, connection: socket.socket) -> None:
        self.process = process
        self._connection = connection
        self._reader = asyncio.StreamReader()
        self._writer: asyncio.StreamWriter | None = None
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._following: dict[int, asyncio.Queue[Mapping[str, Any] | None]] = {}

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(sock=self._connection)

    async def serve(self) -> None:
        """Take answers until the process has gone; then nothing of it is waited for any more."""
        try:
            while True:
                size = int.from_bytes(await self._reader.readexactly(LENGTH_BYTES))
                self._take(orjson.loads(await self._reader.readexactly(size)))
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            if self._writer is not None:
                self._writer.close()
                self._writer = None
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(AppDoorSilentError(f"{RESTARTED}."))
            for queue in self._following.values():
                _put(queue, None)

    async def begin(self, place: int, placed: PlacedApp) -> None:
        """Raise AppFailedError, AppDoorSilentError."""
        try:
            await self._ask("begin", place=place, placed=placed)
        except AppDoorRefusedError as error:
            raise AppFailedError(str(error)) from error

    async def leave(self, place: int) -> int | None:
        """Return the app's next offset; None if it does not run there. Raises AppDoorSilentError."""
        found: int | None = await self._ask("leave", place=place)
        return found

    async def status(self) -> Mapping[str, Any]:
        """Return the figures of its apps by place. Raises AppDoorSilentError."""
        found: Mapping[str, Any] = await self._ask("status")
        return found

    async def rows(self, place: int, stream: str, last: int) -> list[Mapping[str, Any]]:
        """Raise AppDoorSilentError, AppDoorRefusedError."""
        found: list[Mapping[str, Any]] = await self._ask("rows", place=place, text=stream, last=last)
        return found

    async def query(self, place: int, query: str, values: Mapping[str, Any], *, may_write: bool) -> Mapping[str, Any]:
        """Raise AppDoorSilentError, AppDoorRefusedError."""
        fields = {"text": query, "values": values, "may_write": may_write}
        found: Mapping[str, Any] = await self._ask("query", place=place, **fields)
        return found

    async def follow(self, place: int, stream: str) -> AsyncGenerator[Mapping[str, Any]]:
        """Yield rows as they come, until the process ends. Raises AppDoorSilentError, AppDoorRefusedError."""
        queue = asyncio.Queue[Mapping[str, Any] | None](MOST_ROWS_WAITING)
        number = self._number + 1
        self._following[number] = queue
        try:
            await self._ask("follow", place=place, text=stream)
            while (row := await queue.get()) is not None:
                yield row
        finally:
            del self._following[number]
            with suppress(AppDoorSilentError):
                await self._ask("unfollow", last=number)

    async def _ask(self, do: str, **fields: Any) -> Any:
        self._number += 1
        number, writer = self._number, self._writer
        if writer is None:
            raise AppDoorSilentError(f"{RESTARTED}.")
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            writer.write(framed(pickle.dumps(Asked(number, do, **fields))))
            found = await answer
        finally:
            del self._waiting[number]
        if "error" in found:
            raise refusal_of(found, f"{found['error']}.")
        return found["is"]

    def _take(self, answer: Mapping[str, Any]) -> None:
        number = answer["number"]
        if "row" not in answer:
            waiting = self._waiting.get(number)
            if waiting is not None and not waiting.done():
                waiting.set_result(answer)
            return
        queue = self._following.get(number)
        if queue is not None:
            _put(queue, answer["row"])


def _put(queue: asyncio.Queue[Mapping[str, Any] | None], row: Mapping[str, Any] | None) -> None:
    """Leave out the oldest row if there is no place."""
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(row)
