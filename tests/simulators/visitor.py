"""A plain client at a simulated exchange that stands still: its requests and their answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from exchanges.credentials import Credentials, load_credentials
from simulators.faults.fault_kinds import ActiveFault, Fault, FaultKind
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.exchanges.served import Served, served
from tests.exchanges.stepped_clock import SteppedClock
from tests.simulators.wire_clients import Call, Lifetime, WireClient, bitstamp_headers

DEADLINE = 20.0


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: Any


@dataclass
class Reader:
    """One connection that follows the book."""

    socket: aiohttp.ClientWebSocketResponse
    pongs: list[bytes] = field(default_factory=list)

    async def ponged(self, payload: bytes) -> bool:
        """Return whether a ping is answered."""
        await self.socket.ping(payload)
        await self.said()
        return payload in self.pongs

    async def said(self) -> list[str | bytes]:
        """Return all frames since the last call, which ends with a question that no exchange understands: it is
        answered last."""
        await self.socket.send_str("{")
        frames: list[str | bytes] = []
        while True:
            message = await self.socket.receive(timeout=DEADLINE)
            if message.type is aiohttp.WSMsgType.PONG:
                self.pongs.append(bytes(message.data))
                continue
            assert message.type in (aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY), message
            if message.type is aiohttp.WSMsgType.TEXT and "error" in message.data:
                return frames
            frames.append(message.data)


@dataclass
class Visitor:
    outside: Served
    clock: SteppedClock
    wire: WireClient
    session: aiohttp.ClientSession

    @property
    def exchange(self) -> SimulatedExchange:
        return self.outside.world.gateways[self.wire.exchange].exchange

    @property
    def keys(self) -> Credentials:
        return load_credentials(self.outside.home, self.wire.exchange)

    def fault(self, kind: FaultKind, **options: Any) -> ActiveFault:
        """Switch the fault on for this exchange."""
        return self.outside.faults.switch_on(Fault(self.wire.exchange, kind, **options))

    async def public(self) -> Answer:
        return await self.sent(Call("GET", self.wire.public))

    async def signed(self, call: Call) -> Answer:
        now = self.clock.now()
        signed = self.wire.sign(call, self.keys, now)
        if self.wire.exchange == "bitstamp":
            signed = Call(call.method, call.path, call.body, bitstamp_headers(self.outside.url, call, self.keys, now))
        return await self.sent(signed)

    async def sent(self, call: Call) -> Answer:
        url = f"{self.outside.url}/{self.wire.exchange}{call.path}"
        timeout = aiohttp.ClientTimeout(DEADLINE)
        skipped = ("Content-Type",) if "Content-Type" not in call.headers else ()
        async with self.session.request(
            call.method, url, data=call.body or None, headers=call.headers, timeout=timeout, skip_auto_headers=skipped
        ) as response:
            text = await response.text()
            is_json = response.content_type == "application/json" and text
            return Answer(response.status, dict(response.headers), orjson.loads(text) if is_json else text)

    async def bought(self, amount: str = "0.05", lifetime: Lifetime = "IOC") -> Answer:
        """Buy at a tenth above the best ask."""
        listing = self.exchange.listings[self.wire.symbol]
        best = self.exchange.books[self.wire.symbol].best("sell") or 0
        return await self.signed(self.wire.order(amount, listing.price_text(best + best // 10), lifetime))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Reader]:
        url = f"{self.outside.url}/{self.wire.exchange}{self.wire.stream}"
        async with self.session.ws_connect(url, autoping=False) as socket:
            await socket.send_json(self.wire.subscribe(self.keys, self.clock.now()))
            reader = Reader(socket)
            await reader.said()
            yield reader

    def rounds(self, count: int) -> None:
        for _ in range(count):
            self.outside.round()

    def book_messages(self, frames: list[str | bytes]) -> list[str]:
        """Return the frames that are whole and about the book."""
        return [frame for frame in frames if isinstance(frame, str) and self.is_book(frame)]

    def is_book(self, frame: str) -> bool:
        try:
            message = orjson.loads(frame)
        except orjson.JSONDecodeError:
            return False
        return isinstance(message, dict) and self.wire.book_of(message) is not None


@asynccontextmanager
async def visiting(home: Path, wire: WireClient) -> AsyncIterator[Visitor]:
    clock = SteppedClock()
    async with (
        served(home, clock=clock, only=(wire.exchange,)) as outside,
        aiohttp.ClientSession() as session,
    ):
        yield Visitor(outside, clock, wire, session)
