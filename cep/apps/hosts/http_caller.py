"""Makes the requests of an app's sinks, to addresses that the operator allows and to no other."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp

from cep.apps.ends.checked_connections import HttpSessions
from cep.apps.hosts.app_outside import WITH_BODY, CallSink
from runtime.backoff import backoff
from runtime.clock import SystemClock

MOST_BYTES = 1 << 20
"""The most bytes of a response."""
FIRST_RETRY_SECONDS = 0.5

log = logging.getLogger("cep")


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: bytes


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """`reason`: without path and query of the address."""

    reason: str


class HttpCaller:
    """`addresses`: origin in an app's text → where its requests go. Redirects are answers like others, and are not
    followed."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._addresses, self._sessions = addresses, HttpSessions()
        self._free: dict[str, asyncio.Semaphore] = {}

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        await self._sessions.close()

    async def answer(
        self, sink: CallSink, values: Mapping[str, Any], is_fresh: Callable[[], bool]
    ) -> HttpAnswer | NoAnswer:
        """There is none if the host cannot be reached, is too slow or says too much; if the request waited until it was
        no longer fresh, and was not made; or if the sink's format cannot hold the row."""
        try:
            body = sink.writer.write(values) if sink.method in WITH_BODY else None
        except ValueError as error:
            # tried again it would be the same row
            log.warning("request not made", extra={"sink": sink.id, "reason": str(error)})
            return NoAnswer(f"the request was not made: {error}")
        free = self._free.setdefault(sink.id, asyncio.Semaphore(sink.in_flight))
        delays = backoff(FIRST_RETRY_SECONDS)
        while True:
            async with free:
                if not is_fresh():
                    log.warning("request not made: too old", extra={"sink": sink.id})
                    return NoAnswer("the request was not made: it was too old")
                try:
                    return await self._made(sink, body)
                except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
                    reason = call_reason(error)
                    log.warning("request without an answer", extra={"sink": sink.id, "reason": reason})
            if not sink.retries:
                return NoAnswer(reason)
            await SystemClock().sleep(next(delays))

    async def _made(self, sink: CallSink, body: bytes | None) -> HttpAnswer:
        headers = {"Content-Type": sink.writer.media_type} if body is not None else {}
        url = f"{self._addresses[sink.origin]}{sink.path}"
        async with self._sessions.session_for(url).request(
            sink.method,
            url,
            headers=headers | dict(sink.headers),
            data=body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=sink.timeout_seconds),
        ) as response:
            found = b""
            async for piece in response.content.iter_chunked(1 << 16):
                found += piece
                if len(found) > MOST_BYTES:
                    raise ValueError(f"the response has more than {MOST_BYTES:,} bytes")
            return HttpAnswer(response.status, found)


def call_reason(error: Exception) -> str:
    """Why there was no answer, without path and query: they may hold a secret."""
    text = error.message if isinstance(error, aiohttp.ClientResponseError) else str(error)
    return re.sub(r"(https?://[^/?#\s]*)\S*", r"\1", text) or type(error).__name__
