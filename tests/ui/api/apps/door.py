"""What runs apps, as the dashboard sees it: a door that answers with what a test gives it, and notes what was asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from runtime.app_door import SOCKET
from runtime.socket_path import short_path
from session.session import Session

Asked = dict[str, Any]
Answer = Callable[[Asked], Any]


@asynccontextmanager
async def door_of(session: Session, answer: Answer) -> AsyncIterator[list[Asked]]:
    """Answer while it lasts. `answer`: returns what is, of `follow` a list of rows; raises LookupError for a
    refusal."""
    asked: list[Asked] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(json.loads(await reader.readline()))
        try:
            found = answer(asked[-1])
            lines = [{"is": {}}, *({"is": row} for row in found)] if asked[-1]["do"] == "follow" else [{"is": found}]
        except LookupError as error:
            lines = [{"error": str(error.args[0]), "kind": error.args[1]}]
        for line in lines:
            writer.write(json.dumps(line).encode() + b"\n")
        await writer.drain()
        writer.close()

    with short_path(session.home, SOCKET) as path:
        server = await asyncio.start_unix_server(serve, path)
    async with server:
        yield asked
