"""How long sockets of the simulated exchanges live, on the wire and by a clock that a test moves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import WSCloseCode, WSMsgType

from market.time_units import MICROSECONDS
from simulators.catalogue import EXCHANGES
from simulators.exchange_terms import SocketTerms
from simulators.faults.fault_kinds import Fault
from simulators.web.socket_terms import SocketLife, socket_terms
from tests.exchanges.served import Served, served
from tests.exchanges.stepped_clock import SteppedClock

_BEAT_TURNS = 26
_DEADLINE = 10.0
_BINANCE, _COINBASE = "/binance/ws", "/coinbaseexchange/ws"
_PATHS = {
    "binance": _BINANCE,
    "bitstamp": "/bitstamp/ws",
    "bitflyer": "/bitflyer/ws",
    "bybit": "/bybit/v5/public/spot",
    "okx": "/okx/ws/v5/public",
    "coinbase": "/coinbase/ws",
    "coinbaseexchange": _COINBASE,
    "kraken": "/kraken/ws/v2",
}
_HEARTBEATS = {"type": "subscribe", "channels": ["heartbeat"], "product_ids": ["BTC-USD"]}
_LIST = {"method": "LIST_SUBSCRIPTIONS", "id": 7}


@dataclass
class Held:
    """A client's socket that answers no ping by itself, and its world."""

    socket: aiohttp.ClientWebSocketResponse
    outside: Served
    clock: SteppedClock

    def after(self, seconds: float) -> None:
        """Let time pass; the exchanges do what they do about once a second."""
        self.clock.advance(seconds)
        for _ in range(_BEAT_TURNS):
            self.outside.round()

    async def next(self, *kinds: WSMsgType) -> aiohttp.WSMessage:
        """Return the next frame of one of these kinds."""
        while True:
            frame: aiohttp.WSMessage = await self.socket.receive(timeout=_DEADLINE)
            if frame.type in kinds or frame.type is WSMsgType.CLOSE:
                return frame

    async def closed(self) -> int:
        """Return the code with which the exchange closes, which it must."""
        frame = await self.next(WSMsgType.CLOSE)
        return int(frame.data)

    async def is_open(self) -> bool:
        """Return whether it is open, by an own ping, which also shows that everything sent before was taken."""
        await self.socket.ping(b"mine")
        while True:
            frame = await self.next(WSMsgType.PONG)
            if frame.type is WSMsgType.CLOSE or frame.data == b"mine":
                return frame.type is WSMsgType.PONG


@asynccontextmanager
async def held(home: Path, path: str, *, is_limited: bool = False, life: float | None = None) -> AsyncIterator[Held]:
    clock, name = SteppedClock(), path.split("/")[1]
    async with (
        served(home, clock=clock, only=(name,), is_limited=is_limited, socket_seconds=life) as outside,
        aiohttp.ClientSession() as session,
        session.ws_connect(outside.url + path, autoping=False) as socket,
    ):
        yield Held(socket, outside, clock)


async def test_a_client_that_answers_pings_stays(tmp_path: Path) -> None:
    async with held(tmp_path, _BINANCE) as client:
        payloads = set()
        for _ in range(6):
            client.after(19)
            assert await client.is_open()
            client.after(1)
            ping = await client.next(WSMsgType.PING)
            assert ping.type is WSMsgType.PING
            payloads.add(ping.data)
            await client.socket.pong(ping.data)
            assert await client.is_open()
        assert len(payloads) == 6


@pytest.mark.parametrize("pong", [None, b"", b"mine"], ids=["none", "empty", "of its own"])
@pytest.mark.parametrize("path", [_BINANCE, "/binance/ws-api/v3"])
async def test_a_client_without_pongs_is_sent_away_a_minute_after_the_ping(
    tmp_path: Path, path: str, pong: bytes | None
) -> None:
    async with held(tmp_path, path) as client:
        client.after(20)
        for seconds in (20, 20, 19):
            client.after(seconds)
            if pong is not None:
                await client.socket.pong(pong)
            assert await client.is_open()
        client.after(1)
        assert await client.closed() == WSCloseCode.POLICY_VIOLATION


@pytest.mark.parametrize("name", ["bitstamp", "bitflyer", "kraken"])
async def test_what_is_not_known_of_an_exchange_ends_nothing(tmp_path: Path, name: str) -> None:
    async with held(tmp_path, _PATHS[name], is_limited=True) as client:
        for _ in range(3):
            client.after(86_400)
            assert await client.is_open()


@pytest.mark.parametrize(
    ("messages", "stays"),
    [
        ([], False),
        ([{"type": "subscribe", "channels": ["none"], "product_ids": ["BTC-USD"]}], False),
        ([_HEARTBEATS], True),
        ([_HEARTBEATS, _HEARTBEATS | {"type": "unsubscribe"}], True),
    ],
    ids=["none", "refused", "one", "left again"],
)
async def test_coinbase_waits_five_seconds_for_a_subscription(
    tmp_path: Path, messages: list[dict[str, Any]], stays: bool
) -> None:
    async with held(tmp_path, _COINBASE) as client:
        client.after(4)
        for message in messages:
            await client.socket.send_json(message)
        assert await client.is_open()
        client.after(1)
        if stays:
            client.after(600)
            assert await client.is_open()
        else:
            assert await client.closed() == WSCloseCode.POLICY_VIOLATION


@pytest.mark.parametrize("kind", ["text", "ping", "pong"])
@pytest.mark.parametrize(("path", "most"), [(_BINANCE, 5), (_COINBASE, 100), ("/binance/ws-api/v3", None)])
async def test_messages_a_second(tmp_path: Path, path: str, most: int | None, kind: str) -> None:
    async with held(tmp_path, path, is_limited=True) as client:

        async def send(times: int) -> None:
            for _ in range(times):
                if kind == "text":
                    await client.socket.send_json(_LIST)
                elif kind == "ping":
                    await client.socket.ping(b"one of many")
                else:
                    await client.socket.pong(b"")

        for _ in range(3):
            await send((most or 200) - 1)
            assert await client.is_open()
            client.clock.advance(1)
        await send((most or 200) + 1)
        if most is None:
            assert await client.is_open()
        else:
            assert await client.closed() == WSCloseCode.POLICY_VIOLATION


@pytest.mark.parametrize(
    ("path", "notice"),
    [
        (_BINANCE, {"e": "serverShutdown"}),
        ("/binance/stream?streams=btcusdt@trade", {"stream": "!serverShutdown", "data": {"e": "serverShutdown"}}),
        ("/binance/ws-api/v3", {"event": {"e": "serverShutdown"}}),
        (_PATHS["bitstamp"], {"event": "bts:request_reconnect", "channel": "", "data": ""}),
        (_PATHS["bitflyer"], None),
        (_PATHS["kraken"], None),
    ],
)
@pytest.mark.parametrize("is_faulty", [False, True], ids=["by age", "by a fault"])
async def test_the_end_and_what_is_said_before(
    tmp_path: Path, path: str, notice: dict[str, Any] | None, is_faulty: bool
) -> None:
    async with held(tmp_path, path, life=None if is_faulty else 15) as client:
        assert await client.is_open()
        if is_faulty:
            client.outside.faults.switch_on(Fault(path.split("/")[1], "socket_ended", count=1))
        if notice is not None:
            client.after(13.5)
            said = await _notice_of(client)
            assert said == notice
        client.after(1 if is_faulty else 15)
        assert await client.closed() == WSCloseCode.GOING_AWAY


async def _notice_of(client: Held) -> object:
    """Return its notice without its times, which the clock shows."""
    while True:
        frame = await client.next(WSMsgType.TEXT)
        assert frame.type is WSMsgType.TEXT
        message = frame.json()
        if "serverShutdown" in frame.data or "bts:request_reconnect" in frame.data:
            for row in (message, message.get("data"), message.get("event")):
                if isinstance(row, dict) and "E" in row:
                    assert row.pop("E") == client.clock.now() // 1_000
            return message


async def test_the_notice_has_the_unit_of_the_connection(tmp_path: Path) -> None:
    async with held(tmp_path, _BINANCE + "?timeUnit=MICROSECOND", life=15) as client:
        client.after(14)
        frame = await client.next(WSMsgType.TEXT)
        assert frame.json() == {"e": "serverShutdown", "E": client.clock.now()}


async def test_a_skewed_clock_of_the_exchange_ends_nothing(tmp_path: Path) -> None:
    async with held(tmp_path, _BINANCE) as client:
        client.outside.faults.switch_on(Fault("binance", "clock_skew", seconds=60, skew_seconds=86_400))
        client.after(1)
        assert await client.is_open()


@pytest.mark.parametrize(
    ("exchange", "lifetime", "is_limited", "terms"),
    [
        ("binance", None, True, SocketTerms(20, 60, None, 86_400, 600, 5)),
        ("binance", 100, False, SocketTerms(20, 60, None, 100, 10, None)),
        ("bitstamp", 10, True, SocketTerms(lifetime=10, notice_before=1)),
        ("kraken", 100, True, SocketTerms(lifetime=100)),
    ],
)
def test_terms(exchange: str, lifetime: float | None, is_limited: bool, terms: SocketTerms) -> None:
    assert socket_terms(exchange, lifetime, is_limited=is_limited) == terms


def test_a_day_at_binance() -> None:
    life, told = SocketLife(socket_terms("binance"), 0), []
    for second in range(1, 86_401):
        step = life.step(second * MICROSECONDS)
        if step == "ping":
            life.take_pong(life.ping(second * MICROSECONDS))
        elif step is not None:
            told.append((second, step))
    assert told == [(85_800, "notice"), (86_400, "too old")]


def test_a_pong_answers_the_pings_before_it() -> None:
    life = SocketLife(socket_terms("binance"), 0)
    payloads = [life.ping(second * MICROSECONDS) for second in (20, 40, 60)]
    life.take_pong(payloads[1])
    assert life.step(119 * MICROSECONDS) != "no pong"
    assert life.step(120 * MICROSECONDS) == "no pong"


def test_every_simulated_exchange_has_terms() -> None:
    assert set(EXCHANGES) == set(_PATHS)
