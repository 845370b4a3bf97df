"""Reads each body completely before it is handled: limited in size and time, and valid Unicode. Some routes read the
body before they check the key."""

import asyncio
import json
import re
from collections.abc import Iterator

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.http.problems import invalid_response, problem_response
from ui.http.same_host import CHANGING_METHODS
from ui.rows.field_problems import FieldProblem

MAX_BYTES = 1_048_576
MAX_SECONDS = 10.0
TOO_LARGE = f"A body may have {MAX_BYTES} bytes at most."
# otherwise the connection would stay open and be read for as long as its client sends
LAST = {"Connection": "close"}
_escaped_surrogate = re.compile(rb"\\u[dD][89a-fA-F]").search


class BoundedBodies:
    """Answers 413 for too large a Content-Length or body, 408 if the rest does not arrive, and 422 for half of a
    character (a lone surrogate), which no answer, log or store could hold."""

    def __init__(self, app: ASGIApp, seconds: float = MAX_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in CHANGING_METHODS:
            await self._app(scope, receive, send)
            return
        said = Headers(scope=scope).get("content-length", "")
        if said.isascii() and said.isdigit() and (len(said) > len(str(MAX_BYTES)) or int(said) > MAX_BYTES):
            await problem_response(413, TOO_LARGE, headers=LAST)(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds):
                body = await _whole(receive)
        except TimeoutError:
            late = problem_response(408, f"The body did not arrive within {self._seconds:g} seconds.", headers=LAST)
            await late(scope, receive, send)
            return
        if body is None:
            return
        answer = _rejection(body)
        await (answer or self._app)(scope, receive if answer else _again(body, receive), send)


async def _whole(receive: Receive) -> bytes | None:
    """Return the body, cut off beyond the limit; None if the client has disconnected."""
    body = bytearray()
    while len(body) <= MAX_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _rejection(body: bytes) -> Response | None:
    if len(body) > MAX_BYTES:
        return problem_response(413, TOO_LARGE, headers=LAST)
    field = _half_character(body)
    if field is None:
        return None
    wrong = [FieldProblem(field=field, why="contains a lone surrogate (half of a character); send valid Unicode")]
    return invalid_response(wrong)


def _half_character(body: bytes) -> str | None:
    """Return the field that holds half of a character; None if there is none, and for a body that is not JSON."""
    if body.isascii() and not _escaped_surrogate(body):
        return None
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return next((place for place, text in _texts(document) if not _is_writable(text)), None)


def _texts(document: object) -> Iterator[tuple[str, str]]:
    """Yield all texts with their field, names of fields included. Not recursive, since a document may be deep."""
    waiting: list[tuple[str, object]] = [("body", document)]
    while waiting:
        place, value = waiting.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            for name, inner in value.items():
                yield place, name
                waiting.append((name if place == "body" else f"{place}.{name}", inner))
        elif isinstance(value, list):
            waiting.extend((place, inner) for inner in value)


def _is_writable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that returns the body first, then what the client sends."""
    rest: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return rest.pop() if rest else await receive()

    return receive_again
