"""Many symbols in one connection: whose a message is, what a fault of one symbol does to the others, and how few."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest
from aiohttp import WSMsgType, web

from exchanges.books.errors import FeedDroppedError, MessageLostError
from exchanges.books.stream_sharing import StreamSharing
from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from pricefeeds.feed.endpoints import source_of
from pricefeeds.feed.shared_connections import SharedConnections, SymbolLine, shared_connections
from runtime.clock import SystemClock
from simulators.faults.fault_kinds import Fault
from tests.pricefeeds.conftest import World
from tests.pricefeeds.samples import MARKET
from tests.pricefeeds.watched import PATIENT, watching_source

DEADLINE_SECONDS = 20.0
SHARING = StreamSharing(
    re.compile(rb'"of":"([^"]+)"'),
    lambda market: market.base,
    lambda market, _keys: [json.dumps({"leave": [market.base]})],
    symbols=3,
    symbols_field=(),
)
BASES = ("BTC", "ETH", "SOL", "XRP")
A, B, C, D = (replace(MARKET, symbol=f"{base}/EUR", base=base) for base in BASES)


@dataclass(slots=True)
class Exchange:
    """Its sockets in the order of opening, and what each was sent; it greets whoever connects."""

    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    heard: list[list[str]] = field(default_factory=list)
    pings: int = 0

    async def stream(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(timeout=0.1, autoping=False)
        await socket.prepare(request)
        await socket.send_str("hello")
        requests: list[str] = []
        self.sockets.append(socket)
        self.heard.append(requests)
        async for message in socket:
            if message.type is WSMsgType.PING:
                self.pings += 1
                await socket.pong(message.data)
            else:
                requests.append(message.data)
        return socket

    async def until_heard(self, number: int, *texts: str) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.heard[number] != list(texts):
                await SystemClock().sleep(0.02)


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


@asynccontextmanager
async def exchange_with(exchange: Exchange, sharing: StreamSharing) -> AsyncIterator[SharedConnections]:
    application = web.Application()
    application.router.add_get("/ws", exchange.stream)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with shared_connections(f"ws://127.0.0.1:{runner.addresses[0][1]}/ws", sharing) as shared:
        yield shared
    await runner.cleanup()


@pytest.fixture
async def connections(exchange: Exchange) -> AsyncIterator[SharedConnections]:
    async with exchange_with(exchange, SHARING) as shared:
        yield shared


@asynccontextmanager
async def lines(connections: SharedConnections, *markets: Market) -> AsyncIterator[list[SymbolLine]]:
    """Yield lines of symbols that start together."""
    async with AsyncExitStack() as stack:
        opened = [stack.enter_async_context(connections.line(market, None)) for market in markets]
        yield list(await asyncio.gather(*opened))


async def frames(line: SymbolLine, number: int) -> list[str]:
    async with asyncio.timeout(DEADLINE_SECONDS):
        arriving = line.frames()
        return [(await anext(arriving)).decode() for _ in range(number)]


async def test_each_symbol_gets_its_own_messages_and_those_that_name_none(
    exchange: Exchange, connections: SharedConnections
) -> None:
    async with lines(connections, A, B) as (a, b):
        for text in ('{"of":"BTC"}', "{", '{"of":"ETH"}', '{"of":"never asked for"}'):
            await exchange.sockets[0].send_str(text)
        assert await frames(a, 4) == ["hello", '{"of":"BTC"}', "{", '{"of":"never asked for"}']
        assert await frames(b, 4) == ["hello", "{", '{"of":"ETH"}', '{"of":"never asked for"}']
        assert len(exchange.sockets) == 1


async def test_one_who_leaves_is_in_another_connection_next_and_the_others_stay(
    exchange: Exchange, connections: SharedConnections
) -> None:
    async with lines(connections, A) as (a,):
        async with connections.line(B, None):
            pass
        await exchange.until_heard(0, '{"leave": ["ETH"]}')
        async with connections.line(B, None) as b:
            await exchange.sockets[0].send_str('{"of":"ETH","late":1}')
            await exchange.sockets[1].send_str('{"of":"ETH"}')
            await exchange.sockets[0].send_str('{"of":"BTC"}')
            assert await frames(a, 2) == ["hello", '{"of":"BTC"}']
            assert await frames(b, 2) == ["hello", '{"of":"ETH"}']
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not exchange.sockets[1].closed:
                await SystemClock().sleep(0.02)
        assert not exchange.sockets[0].closed


async def test_a_connection_has_no_more_symbols_than_its_exchange_allows(
    exchange: Exchange, connections: SharedConnections
) -> None:
    async with lines(connections, A, B, C, D):
        assert len(exchange.sockets) == 2


async def test_a_connection_that_ends_ends_all_lines_and_they_share_the_next(
    exchange: Exchange, connections: SharedConnections
) -> None:
    async with lines(connections, A, B) as (a, b):
        await exchange.sockets[0].close()
        for line in (a, b):
            with pytest.raises(FeedDroppedError, match="the stream ended"):
                await frames(line, 2)
            with pytest.raises(FeedDroppedError):
                await line.ping(1.0)
    async with lines(connections, A, B) as (a, b):
        assert await frames(a, 1) == await frames(b, 1) == ["hello"]
        await asyncio.gather(a.ping(DEADLINE_SECONDS), b.ping(DEADLINE_SECONDS))
        assert len(exchange.sockets) == 2


async def test_a_lost_message_of_a_numbered_connection_ends_all_lines(exchange: Exchange) -> None:
    numbered = replace(SHARING, number=re.compile(rb'"number":([0-9]+)'))
    async with exchange_with(exchange, numbered) as connections, lines(connections, A, B) as (a, b):
        for text in ('{"of":"BTC","number":7}', '{"of":"ETH","number":8}', '{"of":"ETH","number":8}', "{"):
            await exchange.sockets[0].send_str(text)
        # the last one again is none, and one without a number may be a corrupted one
        assert await frames(a, 3) == ["hello", '{"of":"BTC","number":7}', "{"]
        assert await frames(b, 3) == ["hello", '{"of":"ETH","number":8}', "{"]
        await exchange.sockets[0].send_str('{"of":"BTC","number":10}')
        for line in (a, b):
            with pytest.raises(MessageLostError, match="message 10 of the connection after 8"):
                await frames(line, 1)


async def test_a_lost_message_is_counted_and_the_book_begins_again(world: World) -> None:
    """Those of both markets: nobody can tell of which the message was."""
    markets = [row for row in simulated_markets(("BTC", "ETH")) if row.exchange == "coinbase"]
    session = replace(world.session, markets=tuple(markets))
    running = asyncio.create_task(world.run())
    try:
        async with (
            source_of(session, "coinbase", SystemClock(), PATIENT.rest_seconds) as source,
            watching_source(source, markets[0], PATIENT) as one,
            watching_source(source, markets[1], PATIENT) as other,
        ):
            await asyncio.gather(one.until_quotes(3), other.until_quotes(3))
            fault = Fault("coinbase", "dropped_message", symbol=markets[0].symbol, count=1)
            world.exchanges.faults.switch_on(fault)
            for each in (one, other):
                await each.until(lambda each=each: each.state.gaps == 1 and each.is_in_force)  # type: ignore[misc]
                assert (each.state.resyncs, each.state.malformed) == (1, 0)
    finally:
        running.cancel()
        await asyncio.wait({running})


async def test_lines_that_began_at_different_times_share_their_pings(
    exchange: Exchange, connections: SharedConnections
) -> None:
    """Binance ends a connection that sends more than five messages a second, pings among them."""
    async with lines(connections, A, B, C) as opened:
        pinging = []
        for line in opened * 10:
            pinging.append(asyncio.create_task(line.ping(1.5)))
            await SystemClock().sleep(0.01)
        await asyncio.gather(*pinging)
        assert 2 <= exchange.pings < len(pinging) / 3


async def test_where_nobody_answers_every_symbol_is_told() -> None:
    async with shared_connections("ws://127.0.0.1:9/ws", SHARING) as connections:
        attempts = [connections.line(market, None).__aenter__() for market in (A, B, C)]
        failures = await asyncio.gather(*attempts, return_exceptions=True)
    assert [type(failure) for failure in failures] == [FeedDroppedError] * 3


@pytest.mark.parametrize("exchange_name", ["coinbaseexchange", "bitstamp", "kraken", "binance", "bybit", "okx"])
async def test_a_fault_of_one_symbol_leaves_the_others_live(world: World, exchange_name: str) -> None:
    markets = [row for row in simulated_markets(("BTC", "ETH")) if row.exchange == exchange_name and not row.is_fx][:2]
    session = replace(world.session, markets=tuple(markets))
    running = asyncio.create_task(world.run())
    try:
        async with (
            source_of(session, exchange_name, SystemClock(), PATIENT.rest_seconds) as source,
            watching_source(source, markets[0], PATIENT) as one,
            watching_source(source, markets[1], PATIENT) as other,
        ):
            await asyncio.gather(one.until_quotes(3), other.until_quotes(3))
            fault = Fault(exchange_name, "reordered_message", symbol=markets[0].symbol, count=1)
            world.exchanges.faults.switch_on(fault)
            await one.until(lambda: one.state.gaps + one.state.checksums == 1 and one.is_in_force)
            await other.until_quotes(3)
            assert (one.state.reconnects, other.state.reconnects) == (1, 0)
            assert "withdrawn" not in other.kinds
            assert other.state.status == "live"
    finally:
        running.cancel()
        await asyncio.wait({running})
