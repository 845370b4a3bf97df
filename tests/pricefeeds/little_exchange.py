"""A small exchange of the tests' own: a stream, a book by REST and a clock, each of which lies if a test wants."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from exchanges.books.errors import FeedRejectedError, FrameRejectedError
from exchanges.books.port import FetchSnapshot, Heartbeat, Send, ServerTime, WireExchange, WireOutput
from exchanges.credentials import Credentials
from market.instruments.markets import Market
from market.prices.book_top import BookTop
from runtime.clock import SystemClock, wall_now
from tests.pricefeeds.samples import book

HELLO = "book, please"


@dataclass(slots=True)
class LittleExchange:
    """Its one book has one level a side. It sends what a test makes it send, and nothing by itself."""

    bid: str = "100"
    ask: str = "101"
    skew: int = 0
    """By which its clock is ahead, in microseconds."""
    answers_pings: bool = True
    greets: bool = True
    """Whether it sends the book to whoever asks for it."""
    status: int = 200
    """Status of every answer by REST."""
    headers: dict[str, str] = field(default_factory=dict)
    sockets: list[web.WebSocketResponse] = field(default_factory=list)
    opened: int = 0
    asked: list[str] = field(default_factory=list)
    """Paths by REST."""

    @property
    def now(self) -> int:
        return wall_now() + self.skew

    def book(self) -> str:
        return json.dumps({"bid": self.bid, "ask": self.ask, "time": self.now})

    async def say(self, text: str | None = None) -> None:
        """To all; the book if nothing is given."""
        text = self.book() if text is None else text
        for socket in self.sockets:
            if not socket.closed:
                await socket.send_str(text)

    async def set(self, bid: str, ask: str) -> None:
        """Change the book, and say so in the stream."""
        self.bid, self.ask = bid, ask
        await self.say()

    def application(self) -> web.Application:
        application = web.Application()
        application.add_routes(
            [web.get("/ws", self._stream), web.get("/book", self._book), web.get("/time", self._time)]
        )
        return application

    async def _stream(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(autoping=self.answers_pings, timeout=0.1)
        await socket.prepare(request)
        self.opened += 1
        self.sockets = [socket]
        async for message in socket:
            if message.data == HELLO and self.greets:
                await socket.send_str(self.book())
        return socket

    async def _book(self, request: web.Request) -> web.Response:
        return self._answer(request, self.book())

    async def _time(self, request: web.Request) -> web.Response:
        return self._answer(request, str(self.now))

    def _answer(self, request: web.Request, text: str) -> web.Response:
        self.asked.append(request.path)
        return web.Response(text=text, status=self.status, headers=self.headers)


class LittleConversation:
    """Hears books, `beat`, `fetch`, and words for everything that can be wrong."""

    def __init__(self, _market: Market, _credentials: Credentials | None) -> None:
        self.is_open = False

    def open(self, _now: int) -> list[WireOutput]:
        self.is_open = True
        return [Send(HELLO)]

    def take_frame(self, frame: str | bytes, _now: int) -> list[WireOutput]:
        text = frame if isinstance(frame, str) else frame.decode()
        match text:
            case "beat":
                return [Heartbeat()]
            case "fetch":
                return [FetchSnapshot("/book")]
            case "gap":
                raise FrameRejectedError("sequence_gap", "one is missing")
            case "sum":
                raise FrameRejectedError("checksum", "another sum")
            case "no":
                raise FeedRejectedError("no such book")
        # what is no JSON ends in an error that no reader declared
        return [_book_of(text)]

    def take_snapshot(self, body: bytes, _now: int) -> list[WireOutput]:
        return [_book_of(body.decode())]


def _book_of(text: str) -> BookTop:
    fields = json.loads(text)
    top = book(fields["bid"], fields["ask"])
    return BookTop(top.bids, top.asks, fields["time"])


def _rest_book_of(body: bytes) -> BookTop:
    try:
        return _book_of(body.decode())
    except ValueError as error:
        raise FrameRejectedError("malformed", str(error)) from error


@asynccontextmanager
async def served(
    exchange: LittleExchange, server_time: str | None = "/time"
) -> AsyncIterator[tuple[str, WireExchange]]:
    """Yield host and port, and how it is read, as a live exchange is."""
    runner = web.AppRunner(exchange.application(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    address = f"127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield (
            address,
            WireExchange(
                name="little",
                conversation=LittleConversation,
                rest_book=lambda _market: "/book",
                parse_rest_book=_rest_book_of,
                server_time=None if server_time is None else ServerTime(server_time, int),
                detects_loss=True,
            ),
        )
    finally:
        await asyncio.gather(*(socket.close() for socket in exchange.sockets), return_exceptions=True)
        await runner.cleanup()


@asynccontextmanager
async def talking(exchange: LittleExchange, every: float = 0.05) -> AsyncIterator[None]:
    """Send the book again and again, with the time of sending."""

    async def talk() -> None:
        while True:
            await exchange.say()
            await SystemClock().sleep(every)

    task = asyncio.create_task(talk())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
