"""A server on loopback that answers as a test says, and apps whose requests it answers."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

ORIGIN = "https://api.example.com"
"""Origin of the requests in the apps' texts."""


@dataclass(slots=True)
class CallServer:
    """`answer`: to the n-th request for a path; while `held` is set to an event, answers wait for it."""

    answer: Callable[[str, int], web.Response]
    url: str = ""
    asked: list[str] = field(default_factory=list)
    """Method and path with the query, of each request in its order."""
    agents: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    """Paths whose answers wait; with a number behind it, of that request alone."""
    open: int = 0
    most_open: int = 0

    async def respond(self, request: web.Request) -> web.Response:
        self.asked.append(f"{request.method} {request.path_qs}")
        self.agents.append(request.headers.get("User-Agent", ""))
        self.bodies.append(await request.text())
        number = sum(one.endswith(request.path_qs) for one in self.asked)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            for held in (request.path, f"{request.path} {number}"):
                if held in self.held:
                    await self.held[held].wait()
            return self.answer(request.path, number)
        finally:
            self.open -= 1


@asynccontextmanager
async def call_server(answer: Callable[[str, int], web.Response]) -> AsyncIterator[CallServer]:
    server = CallServer(answer)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.respond)
    runner = web.AppRunner(application, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = site.name
    try:
        yield server
    finally:
        for event in server.held.values():
            event.set()
        await runner.cleanup()
