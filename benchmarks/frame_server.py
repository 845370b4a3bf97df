"""A bare aiohttp server that sends recorded frames at the times at which they came, and does nothing else."""

import argparse
import asyncio
from pathlib import Path

import orjson
from aiohttp import web

from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now

Frames = list[tuple[int, str]]


class FrameServer:
    """`/0`, `/1`, … are the streams; they begin together once each has its reader."""

    def __init__(self, streams: list[Frames]) -> None:
        self._streams = streams
        self._all_there = asyncio.Barrier(len(streams))

    def application(self) -> web.Application:
        application = web.Application()
        application.router.add_get("/{number}", self._stream)
        return application

    async def _stream(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        await self._all_there.wait()
        began = wall_now()
        for offset, text in self._streams[int(request.match_info["number"])]:
            wait = began + offset - wall_now()
            if wait > 0:
                await SystemClock().sleep(wait / MICROSECONDS)
            await socket.send_str(text)
        async for _ in socket:  # until the reader goes
            pass
        return socket


async def serve(port: int, streams: list[Frames]) -> None:
    runner = web.AppRunner(FrameServer(streams).application(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("frames", type=Path)
    arguments = parser.parse_args()
    asyncio.run(serve(arguments.port, orjson.loads(arguments.frames.read_bytes())))
