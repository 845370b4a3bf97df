"""A wire to MongoDB that can be cut or go dead, while writers reach it on their own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from runtime.logins import Address
from tests.services import LOGIN


class Link:
    """Forwards a loopback port to `target` (host, port)."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._port = 0
        self._server: asyncio.Server | None = None
        self._is_cut = False
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        """The loopback port, once it is mended."""
        return self._port

    @property
    def uri(self) -> str:
        return Address(f"mongodb://127.0.0.1:{self._port}/?directConnection=true", LOGIN)

    async def mend(self) -> None:
        """On the same port as before."""
        self._is_cut = False
        self._server = await asyncio.start_server(self._forward, "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    def stall(self) -> None:
        """Every connection stays open, and nothing passes."""
        self._flowing.clear()

    def flow(self) -> None:
        self._flowing.set()

    async def cut(self) -> None:
        """Every connection is broken, and none can be made."""
        assert self._server is not None
        self._is_cut = True
        self._server.close()
        for end in self._ends:
            end.transport.abort()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._ends.clear()

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # known from the first: a cut while the other side is being reached breaks it as well
        self._ends.add(writer)
        self._follow(asyncio.current_task())
        if self._is_cut:
            writer.transport.abort()
            return
        other_reader, other_writer = await asyncio.open_connection(*self._target)
        self._ends.add(other_writer)
        for source, sink in ((reader, other_writer), (other_reader, writer)):
            self._follow(asyncio.create_task(self._copy(source, sink)))

    def _follow(self, task: asyncio.Task[None] | None) -> None:
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        try:
            while part := await source.read(65_536):
                await self._flowing.wait()
                sink.write(part)
                await sink.drain()
        except ConnectionError:
            pass
        finally:
            sink.close()


@asynccontextmanager
async def link_to(address: str) -> AsyncIterator[Link]:
    """`address`: a URI of MongoDB with one host."""
    target = urlsplit(address)
    link = Link((target.hostname or "", target.port or 0))
    await link.mend()
    try:
        yield link
    finally:
        await link.cut()
