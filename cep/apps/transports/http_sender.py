"""Sends rows by HTTP: a request for each, to addresses that the operator allows and to no other.

The request has the row's id as `Idempotency-Key`, since a row may be sent again. A redirect is followed if the operator
allows where it leads, at most MOST_REDIRECTS times; one that would turn the request into a GET loses the row, and is an
error.
"""

import re
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

import aiohttp
from yarl import URL

from cep.apps.ends.checked_connections import REDIRECTS, HttpSessions
from cep.apps.ends.http_addresses import mapped_url, origin_of, redirect_target
from cep.apps.ends.sink_ends import HTTP_METHODS, HttpTarget
from cep.apps.formats.row_formats import RowWriter
from cep.apps.hosts.http_caller import call_reason
from cep.apps.transports.ports import NotTakenError, OutgoingRow, RowsRefusedError

MOST_REDIRECTS = 5
MOST_ANSWER_BYTES = 1 << 16
"""More of an answer is not read: nobody looks at it."""
WITH_BODY = ("POST", "PUT", "PATCH")
PASSING = frozenset((401, 403, 404, 407, 408, 421, 423, 425, 429))
"""Of 4xx: what another time may be answered otherwise (RFC 9110, 6585). A login that was changed and a path that is not
there yet say nothing about the row."""
KEEPING = (307, 308)
"""Redirects that keep method and body (RFC 9110, 15.4)."""


@dataclass(frozen=True, slots=True)
class HttpTerms:
    """What the operator says, by origin. `addresses`: where requests go; `headers`: secrets; `trusted`: how servers are
    known, if not by the machine's authorities."""

    addresses: Mapping[str, str]
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    trusted: Mapping[str, ssl.SSLContext] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Request:
    """`origin`: in the text, or of who was redirected to."""

    origin: str
    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None


class HttpSender:
    """A `SinkSender`. Its destinations are addresses without their queries."""

    most_rows = 1
    linger_seconds = 0.0

    def __init__(self, target: HttpTarget, writer: RowWriter, terms: HttpTerms, sessions: HttpSessions) -> None:
        self._target, self._writer, self._terms, self._sessions = target, writer, terms, sessions

    def destination(self, values: Mapping[str, Any]) -> str:
        url = self._url(values)
        self._mapped(url)
        return re.split(r"[?#]", url)[0]

    def server(self, destination: str) -> str:
        return origin_of(destination)

    def shown(self, destination: str) -> str:
        """Return it without its path, which may be a secret."""
        path = urlsplit(destination).path
        mark = sha256(path.encode()).hexdigest()[:6]
        return origin_of(destination) if path in ("", "/") else f"{origin_of(destination)}/…{mark}"

    async def close(self) -> None:
        await self._sessions.close()

    async def send(self, destination: str, rows: Sequence[OutgoingRow]) -> None:
        for row in rows:
            await self._send(self._request(row), redirects=0)

    def _url(self, values: Mapping[str, Any]) -> str:
        """Return the address as the text has it. Raises RowsRefusedError."""
        url = self._target.url
        try:
            if url.parts[0] == "":
                # the row has scheme, host and path
                whole = type(url)((*url.parts[:2], "")).filled(values)
                return whole + type(url)(url.parts[2:]).filled(values, _encoded)
            return url.filled(values, _encoded)
        except ValueError as error:
            raise RowsRefusedError(f"the row has no address: {error}") from None

    def _mapped(self, url: str) -> str:
        try:
            return mapped_url(url, self._terms.addresses)
        except ValueError as error:
            raise RowsRefusedError(str(error)) from None

    def _request(self, row: OutgoingRow) -> _Request:
        try:
            method = self._target.method.filled(row.values).upper()
            if method not in HTTP_METHODS:
                raise ValueError(f"there is no method {method[:10]!r}")
            url = self._url(row.values)
            mapped = self._mapped(url)
            headers = {name: _header(value.filled(row.values)) for name, value in self._target.headers}
            body = self._writer.write(row.values) if method in WITH_BODY else None
        except ValueError as error:
            raise RowsRefusedError(str(error)) from None
        own = {"Idempotency-Key": row.id} | ({} if body is None else {"Content-Type": self._writer.media_type})
        secret = dict(self._terms.headers.get(origin_of(url), {}))
        return _Request(origin_of(url), method, mapped, own | headers | secret, body)

    async def _send(self, request: _Request, redirects: int) -> None:
        try:
            status, headers = await self._answer(request)
        except aiohttp.InvalidURL:
            raise RowsRefusedError("the row has no address that can be asked") from None
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            is_of_server = isinstance(error, aiohttp.ClientConnectorError) and redirects == 0
            raise NotTakenError(call_reason(error), is_of_server=is_of_server) from None
        if status in REDIRECTS and "Location" in headers:
            await self._send(self._redirected(request, status, headers["Location"], redirects), redirects + 1)
        elif status >= 500 or status in PASSING:
            raise NotTakenError(f"the answer is {status}", _asked_seconds(headers.get("Retry-After", "")))
        elif status >= 300:
            raise RowsRefusedError(f"the answer is {status}")

    async def _answer(self, request: _Request) -> tuple[int, Mapping[str, str]]:
        async with self._sessions.session_for(request.url).request(
            request.method,
            # as it is: the library would write %2F of a row's value as another step of the path
            URL(request.url, encoded=True),
            headers=request.headers,
            data=request.body,
            allow_redirects=False,
            ssl=self._terms.trusted.get(request.origin, True),
            timeout=aiohttp.ClientTimeout(total=self._target.timeout_seconds),
        ) as response:
            # an answer that breaks off is none
            size = 0
            async for piece in response.content.iter_chunked(1 << 14):
                size += len(piece)
                if size > MOST_ANSWER_BYTES:
                    break
            return response.status, response.headers

    def _redirected(self, request: _Request, status: int, location: str, redirects: int) -> _Request:
        if redirects >= MOST_REDIRECTS:
            raise RowsRefusedError(f"more than {MOST_REDIRECTS} redirects")
        if status not in KEEPING and request.method != "GET":
            raise RowsRefusedError(
                f"the answer is {status}, which would make the {request.method} a GET without the row"
            )
        try:
            origin, url = redirect_target(request.url, location, self._terms.addresses)
        except ValueError as error:
            raise RowsRefusedError(str(error)) from None
        if origin_of(url) == origin_of(request.url):
            return replace(request, url=url)
        # what was meant for one host, such as a key, is not shown to another
        kept = {name: value for name, value in request.headers.items() if name in ("Idempotency-Key", "Content-Type")}
        return replace(request, origin=origin, url=url, headers=kept)


def _encoded(value: str) -> str:
    return quote(value, safe="")


def _header(value: str) -> str:
    if not value.isprintable():
        raise ValueError("a header has a character that none may have")
    return value


def _asked_seconds(text: str) -> float | None:
    """Return the seconds of Retry-After; None for a date, or nothing (RFC 9110, 10.2.3)."""
    return float(text) if text.isascii() and text.isdigit() and len(text) < 7 else None
