"""Answers that an app gives to requests of others: the request waits until a row of the app is its answer."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from cep.apps.ends.sink_ends import AnswerTarget
from cep.apps.formats.row_formats import RowWriter
from cep.apps.transports.ports import OutgoingRow, RowsRefusedError


@dataclass(frozen=True, slots=True)
class HttpReply:
    body: bytes
    media_type: str


@dataclass(slots=True)
class WaitingRequests:
    """Those of one source; they wait in the process that took them. `seconds`: how long at most."""

    seconds: float
    _waiting: dict[str, asyncio.Future[HttpReply]] = field(default_factory=dict)

    def begin(self) -> str:
        """Return the id of a request, by which a row answers it."""
        name = uuid4().hex
        self._waiting[name] = asyncio.get_running_loop().create_future()
        return name

    async def reply(self, name: str) -> HttpReply | None:
        """Return the answer; None if none comes in time."""
        try:
            async with asyncio.timeout(self.seconds):
                return await self._waiting[name]
        except TimeoutError:
            return None

    def end(self, name: str) -> None:
        self._waiting.pop(name, None)

    def answer(self, name: str, reply: HttpReply) -> None:
        """Raise RowsRefusedError if nobody waits for it."""
        waiting = self._waiting.get(name)
        if waiting is None or waiting.done():
            raise RowsRefusedError("nobody waits for the answer any more")
        waiting.set_result(reply)


class AnswerSender:
    """A `SinkSender` of answers; its destinations are the requests."""

    most_rows = 1
    linger_seconds = 0.0

    def __init__(self, target: AnswerTarget, writer: RowWriter, requests: WaitingRequests) -> None:
        self._target, self._writer, self._requests = target, writer, requests

    def destination(self, values: Mapping[str, Any]) -> str:
        try:
            return self._target.message.filled(values)
        except ValueError as error:
            raise RowsRefusedError(f"the row answers no request: {error}") from None

    def server(self, destination: str) -> str:
        return self._target.source

    def shown(self, destination: str) -> str:
        return f"request {destination}"

    async def close(self) -> None:
        pass

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        for row in rows:
            try:
                reply = HttpReply(self._writer.write(row.values), self._writer.media_type)
            except ValueError as error:
                raise RowsRefusedError(str(error)) from None
            self._requests.answer(self.destination(row.values), reply)
