"""Requests to one exchange's public REST API, within a timeout and the exchange's rate limit."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from pricefeeds.errors import RestFailedError
from runtime.clock import Clock, SystemClock

MAX_BODY_BYTES = 16 << 20
TOO_MANY = (418, 429)
DEFAULT_PAUSE_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 120.0
"""Pause after "too many requests" if the exchange names none, and the longest one."""


@dataclass(frozen=True, slots=True)
class RestAnswer:
    """A body, and the times of request and response in microseconds UTC."""

    body: bytes
    sent: int
    received: int


class RestTurns:
    """Spaces the requests to one address at least `pace` seconds apart."""

    def __init__(self, address: str, seconds: float, pace: float) -> None:
        self._address = address
        self._seconds = seconds
        self._pace = pace
        self._next_at = 0.0
        self._waiting = 0
        self._turn = asyncio.Lock()

    async def wait(self, patience: float = 0.0) -> None:
        """Raise RestFailedError if so many requests wait that the answer would come too late."""
        seconds_left = max(0.0, self._next_at - _now()) + self._waiting * self._pace
        if seconds_left > max(self._seconds, self._pace, patience):
            raise RestFailedError(f"{self._address} has too many requests waiting")
        self._waiting += 1
        try:
            # one that is cancelled while it waits takes no turn
            async with self._turn:
                seconds_left = self._next_at - _now()
                if seconds_left > 0:
                    await SystemClock().sleep(seconds_left)
                self._next_at = max(self._next_at, _now()) + self._pace
        finally:
            self._waiting -= 1


class RestReader:
    """Every failure is a RestFailedError; after "too many requests" it sends none until the exchange's pause is over.

    The requests of all symbols go through one reader, which sends them at least `pace` seconds apart.
    """

    def __init__(
        self, session: aiohttp.ClientSession, address: str, clock: Clock, seconds: float, pace: float = 0.0
    ) -> None:
        self._session = session
        self._address = address
        self._clock = clock
        self._seconds = seconds
        self._turns = RestTurns(address, seconds, pace)
        self._paused_until = 0.0

    async def get(self, path: str, patience: float = 0.0) -> RestAnswer:
        await self._turns.wait(patience)
        if _now() < self._paused_until:
            raise RestFailedError(f"{self._address} asked for a pause")
        sent = self._clock.now()
        try:
            async with asyncio.timeout(self._seconds), self._session.get(self._address + path) as response:
                body = await self._body(response, path)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise RestFailedError(f"{self._address}{path} did not answer: {error!r}") from error
        return RestAnswer(body, sent, self._clock.now())

    async def _body(self, response: aiohttp.ClientResponse, path: str) -> bytes:
        if response.status in TOO_MANY:
            self._paused_until = _now() + _seconds_asked(response.headers.get("Retry-After", ""))
        if response.status != 200:
            raise RestFailedError(f"{self._address}{path} answered {response.status}")
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise RestFailedError(f"{self._address}{path} answered more than {MAX_BODY_BYTES} bytes")
        return bytes(body)


@asynccontextmanager
async def rest_reader(address: str, clock: Clock, seconds: float, pace: float = 0.0) -> AsyncIterator[RestReader]:
    """Request below `address`, each within `seconds` and `pace` seconds after the one before; connections are reused
    and closed with the block."""
    async with aiohttp.ClientSession() as session:
        yield RestReader(session, address, clock, seconds, pace)


def _seconds_asked(text: str) -> float:
    return min(float(text), LONGEST_PAUSE_SECONDS) if text.isascii() and text.isdigit() else DEFAULT_PAUSE_SECONDS


def _now() -> float:
    """Monotonic seconds."""
    return asyncio.get_running_loop().time()
