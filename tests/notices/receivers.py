"""Real receivers on loopback: each keeps what it got and answers as told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from runtime.clock import wall_now


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer; `seconds` before it is given, None: never."""

    status: int = 200
    body: str = '{"ok": true, "result": {"message_id": 1, "date": 1, "chat": {"id": 5, "type": "private"}}}'
    headers: Mapping[str, str] = field(default_factory=dict)
    seconds: float | None = 0.0


@dataclass(frozen=True, slots=True)
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes
    at: int

    @property
    def document(self) -> dict[str, object]:
        document: dict[str, object] = json.loads(self.body)
        return document


@dataclass(slots=True)
class Receiver:
    """Answers as `answer` says; every request in `received`, in order."""

    url: str = ""
    answer: Callable[[Received], Answer] = lambda _: Answer()
    received: list[Received] = field(default_factory=list)
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def notices(self) -> list[dict[str, object]]:
        """The notices of all messages that the webhook took, in the order of their arrival."""
        return [one for got in self.received for one in _rows(got.document["notices"])]

    @property
    def ids(self) -> list[str]:
        return [str(notice["id"]) for notice in self.notices]

    async def handle(self, request: web.Request) -> web.Response:
        got = Received(request.path, dict(request.headers), await request.read(), wall_now())
        self.received.append(got)
        answer = self.answer(got)
        if answer.seconds is None or answer.seconds > 0:
            waiting = asyncio.ensure_future(self.ended.wait())
            await asyncio.wait({waiting}, timeout=answer.seconds)
            waiting.cancel()
        return web.Response(status=answer.status, text=answer.body, headers=dict(answer.headers))


@asynccontextmanager
async def receiving(answer: Callable[[Received], Answer] = lambda _: Answer()) -> AsyncIterator[Receiver]:
    receiver = Receiver(answer=answer)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    receiver.url = f"http://{host}:{port}"
    try:
        yield receiver
    finally:
        receiver.ended.set()
        await runner.cleanup()


def _rows(value: object) -> list[dict[str, object]]:
    assert isinstance(value, list)
    return value
