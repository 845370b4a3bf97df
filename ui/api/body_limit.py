"""No request may bring more than anything here needs: a body is read into memory as a whole, and by some routes before
anybody asks for a key."""

from fastapi import HTTPException
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.api.problems import problem_response

MOST_BYTES = 1_048_576
TOO_LARGE = f"A body may have {MOST_BYTES} bytes at most."


class BoundedBodies:
    """Answers 413, by what a request says of its length or, where it says nothing, once too much has come."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "")
        if said.isascii() and said.isdigit() and (len(said) > len(str(MOST_BYTES)) or int(said) > MOST_BYTES):
            await problem_response(413, TOO_LARGE)(scope, receive, send)
        else:
            await self._app(scope, _bounded(receive), send)


def _bounded(receive: Receive) -> Receive:
    received = 0

    async def receive_bounded() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            # FastAPI makes 400 of whatever else is raised while it reads
            raise HTTPException(413, TOO_LARGE)
        return message

    return receive_bounded
