"""A gateway before the outside world that passes everything on and keeps what was said to it, word by word."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import aiohttp
from aiohttp import web

HOP_HEADERS = frozenset(("host", "connection", "content-length", "transfer-encoding", "content-encoding"))


@dataclass(frozen=True)
class Said:
    """One request, or one frame of a client; `text` is all of it: path and query, headers, body."""

    method: str
    path: str
    headers: tuple[str, ...]
    text: str


@dataclass
class ListeningGateway:
    """Before `world`, on a free loopback port."""

    world: str
    url: str = ""
    said: list[Said] = field(default_factory=list)

    async def pass_on(self, request: web.Request) -> web.StreamResponse:
        if request.headers.get("Upgrade", "").lower() == "websocket":
            return await self._pass_frames_on(request)
        body = await request.read()
        self._keep(request.method, request, body.decode(errors="replace"))
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP_HEADERS}
        async with aiohttp.ClientSession(auto_decompress=True) as session:
            address = self.world + request.raw_path
            async with session.request(request.method, address, data=body, headers=headers) as answer:
                kept = {name: value for name, value in answer.headers.items() if name.lower() not in HOP_HEADERS}
                return web.Response(status=answer.status, body=await answer.read(), headers=kept)

    async def _pass_frames_on(self, request: web.Request) -> web.WebSocketResponse:
        self._keep("WS", request, "")
        client = web.WebSocketResponse()
        await client.prepare(request)
        async with aiohttp.ClientSession() as session, session.ws_connect(self.world + request.raw_path) as server:

            async def up() -> None:
                async for message in client:
                    self._keep("FRAME", request, str(message.data))
                    await server.send_str(str(message.data))
                await server.close()

            sending = asyncio.create_task(up())
            try:
                async for message in server:
                    if client.closed:
                        break
                    if message.type is aiohttp.WSMsgType.BINARY:
                        await client.send_bytes(message.data)
                    else:
                        await client.send_str(str(message.data))
            except ConnectionError:
                pass  # the client has gone
            finally:
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
                await client.close()
        return client

    def _keep(self, method: str, request: web.Request, body: str) -> None:
        names = tuple(name.lower() for name in request.headers)
        self.said.append(Said(method, request.path, names, f"{request.raw_path}\n{request.headers}\n{body}"))


@contextmanager
def listening_gateway(world: str) -> Iterator[ListeningGateway]:
    """Yield a gateway that is served from a thread of its own, as the test waits for processes."""
    gateway, loop = ListeningGateway(world), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", gateway.pass_on)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)

    async def serve() -> None:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()

    try:
        asyncio.run_coroutine_threadsafe(serve(), loop).result(20)
        gateway.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield gateway
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(20)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)
        loop.close()
