"""A WebSocket server that plays prepared frames to ccxt, and ccxt's stream of one symbol at it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from exchanges.ccxt.book_stream import BookStream
from exchanges.ccxt.client import ExchangeConfig, make_exchange
from exchanges.errors import ExchangeUnavailableError
from session.exchange_entries import ExchangeEntry


@asynccontextmanager
async def played(exchange: str, market: dict[str, str], frames: Sequence[str]) -> AsyncIterator[BookStream]:
    """ccxt's stream of `market` (symbol, id, base, quote), which is sent all frames once it has subscribed."""

    async def play(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        async for _ in socket:
            for frame in frames:
                await socket.send_str(frame)
        return socket

    application = web.Application()
    application.add_routes([web.get("/{path:.*}", play)])
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"ws://127.0.0.1:{runner.addresses[0][1]}"

    async def prepare(client: Any) -> None:
        client.urls = {"api": {"ws": {"public": address} if exchange == "bitfinex" else address}}
        client.set_markets([{**market, "spot": True, "active": True, "type": "spot", "precision": {}, "limits": {}}])

    entry = ExchangeEntry(exchange, "generic")
    client = make_exchange(ExchangeConfig(exchange, "public", None, None, listed_as=entry))
    client.timeout_on_exit = 0
    stream = BookStream(client, market["symbol"], prepare, lambda error: ExchangeUnavailableError(str(error)))
    try:
        await stream.open()
        yield stream
    finally:
        await stream.close()
        await runner.cleanup()
