"""Serves prepared streams on loopback, each as fast as its reader takes it, once it is told to begin."""

import argparse
import asyncio
import sys

from aiohttp import web

from benchmarks.messages import EXCHANGES, STEP, PreparedStream, prepared_stream
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now


class StreamServer:
    """Any text on `/<exchange>/ws…` counts as the subscription; `/<exchange>/go` lets the measured messages go."""

    def __init__(self, messages: int) -> None:
        self._messages = messages
        self._pace = 0
        self._streams: dict[str, PreparedStream] = {}
        self._go = {exchange: asyncio.Event() for exchange in EXCHANGES}

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/{exchange}/prepare", self._prepare)
        application.router.add_get("/{exchange}/go", self._begin)
        application.router.add_get("/{exchange}/{path:ws.*}", self._stream)
        application.router.add_get("/{exchange}/{path:.*}", self._rest)
        return application

    async def _prepare(self, request: web.Request) -> web.Response:
        """Prepare the stream anew for each reader, since books are dated. `pace` in messages per second, 0 for no
        limit."""
        exchange, self._pace = request.match_info["exchange"], int(request.query["pace"])
        step = MICROSECONDS // self._pace if self._pace else STEP
        self._streams[exchange] = prepared_stream(exchange, self._messages, wall_now(), step)
        self._go[exchange].clear()
        return web.Response()

    async def _begin(self, request: web.Request) -> web.Response:
        self._go[request.match_info["exchange"]].set()
        return web.Response()

    async def _rest(self, request: web.Request) -> web.Response:
        stream = self._streams[request.match_info["exchange"]]
        return web.Response(text=stream.rest_book, content_type="application/json")

    async def _stream(self, request: web.Request) -> web.WebSocketResponse:
        exchange = request.match_info["exchange"]
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        await socket.receive()
        stream = self._streams[exchange]
        for text in stream.greeting:
            await socket.send_str(text)
        await self._go[exchange].wait()
        await self._send(socket, stream.messages)
        async for _ in socket:  # until the reader goes
            pass
        return socket

    async def _send(self, socket: web.WebSocketResponse, messages: tuple[str, ...]) -> None:
        began = wall_now()
        for number, text in enumerate(messages):
            if self._pace:
                due = began + number * MICROSECONDS // self._pace
                await SystemClock().sleep(max(0, due - wall_now()) / MICROSECONDS)
            await socket.send_str(text)


async def serve(messages: int) -> None:
    """Print the port, then serve until cancelled."""
    runner = web.AppRunner(StreamServer(messages).application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        sys.stdout.write(f"{runner.addresses[0][1]}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("messages", type=int)
    asyncio.run(serve(parser.parse_args().messages))
