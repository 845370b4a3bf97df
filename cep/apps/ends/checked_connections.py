"""Connections of HTTP that are looked at when they are made: a name may lead elsewhere than when it was allowed."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from errno import EACCES
from types import TracebackType
from typing import Any, Self

import aiohttp
from aiohttp.abc import AbstractResolver

from cep.apps.ends.http_addresses import is_forbidden, is_literal

REDIRECTS = (301, 302, 303, 307, 308)
"""RFC 9110, 15.4."""
AddressInfo = tuple[int | socket.AddressFamily, int | socket.SocketKind, int, str, tuple[Any, ...]]


class ForbiddenAddressError(OSError):
    """A name led to an address that no request may go to."""


def checked_socket(info: AddressInfo) -> socket.socket:
    """Return a socket for this address. Raises ForbiddenAddressError."""
    family, kind, protocol, _, address = info
    if is_forbidden(str(address[0])):
        reason = f"its name leads to {address[0]}, which is this machine or its own link; map it to that by number"
        raise ForbiddenAddressError(EACCES, reason)
    return socket.socket(family, kind, protocol)


@dataclass(slots=True)
class HttpSessions:
    """`asked`: names → addresses of tests, in place of the machine's."""

    asked: AbstractResolver | None = None
    follows_redirects: bool = True
    """Where the library lets no request say so: `ws_connect` follows them, with the headers of the first server."""
    _by_check: dict[bool, aiohttp.ClientSession] = field(default_factory=dict)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def session_for(self, url: str) -> aiohttp.ClientSession:
        """Return the session for the address: the operator may name this machine by number, and no name may lead to
        it."""
        is_checked = not is_literal(url)
        found = self._by_check.get(is_checked)
        if found is None or found.closed:
            # names are asked for again at each connection; proxies and cookies of this machine are not used
            options: Mapping[str, Any] = {"socket_factory": checked_socket} if is_checked else {}
            connector = aiohttp.TCPConnector(limit=0, use_dns_cache=False, resolver=self.asked, **options)
            found = aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                connector=connector,
                middlewares=() if self.follows_redirects else (_refused_redirect,),
            )
            self._by_check[is_checked] = found
        return found

    async def close(self) -> None:
        for one in self._by_check.values():
            await one.close()
        self._by_check.clear()


async def _refused_redirect(
    request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
) -> aiohttp.ClientResponse:
    """Return the answer. Raises ClientResponseError if it leads elsewhere."""
    answer = await handler(request)
    if answer.status in REDIRECTS:
        answer.close()
        problem = f"the answer is {answer.status}, and no redirect is followed"
        raise aiohttp.ClientResponseError(answer.request_info, answer.history, status=answer.status, message=problem)
    return answer
