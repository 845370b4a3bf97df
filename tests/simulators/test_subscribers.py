"""Who listens to a simulated exchange, and for how long."""

import asyncio
import socket
from pathlib import Path
from urllib.parse import urlsplit

from runtime.clock import SystemClock
from simulators.web.subscribers import Subscribers
from tests.exchanges.served import served

CHANNEL = "live_trades_btceur"
_DEADLINE = 20.0
_HANDSHAKE = (
    "GET /bitstamp/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
)
_SUBSCRIBE = b'{"event": "bts:subscribe", "data": {"channel": "live_trades_btceur"}}'


def frame(text: bytes) -> bytes:
    """Return a client's frame, its mask all zeros."""
    return bytes((0x81, 0x80 | len(text), 0, 0, 0, 0)) + text


async def until(subscribers: Subscribers, is_heard: bool) -> None:
    async with asyncio.timeout(_DEADLINE):
        while subscribers.has(CHANNEL) != is_heard:
            await SystemClock().sleep(0.01)


async def test_a_reader_that_reads_nothing_is_cut_off(tmp_path: Path) -> None:
    async with served(tmp_path, only=("bitstamp",)) as outside:
        subscribers = outside.world.gateways["bitstamp"].subscribers
        with socket.create_connection(("127.0.0.1", urlsplit(outside.url).port or 0)) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            reader.sendall(_HANDSHAKE.encode() + frame(_SUBSCRIBE))
            await until(subscribers, is_heard=True)
            for number in range(10_000):
                if number % 100 == 0:
                    await SystemClock().sleep(0)
                subscribers.broadcast(CHANNEL, "x" * 10_000)
            await until(subscribers, is_heard=False)
