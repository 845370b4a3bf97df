"""The accounts of one exchange behind one address: a request, or a connection, belongs to the account whose key it
shows; without a key, or with a wrong one, to the first.

Each account has a gateway of its own, and with it nonces, tokens, rate limits and streams of its own.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import jwt
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from simulators.matching.order_records import RequestRejectedError
from simulators.web.exchange_gateway import Gateway, json_fields
from simulators.web.subscribers import HAND_OVER

_KEY_HEADERS = (
    *("CB-ACCESS-KEY", "X-Auth", "ACCESS-KEY", "API-Key", "X-MBX-APIKEY", "X-BAPI-API-KEY"),
    "OK-ACCESS-KEY",
)
_SCHEME = "BITSTAMP "
_BEARER = "Bearer "
_KEY_FIELDS = ("key", "api_key", "apiKey", "token", "auth")
"""Fields of messages that name the account: a key, or a token that a signed request has got."""


@dataclass(frozen=True, slots=True)
class _Account:
    gateway: Gateway
    guarded: Mapping[web.AbstractRoute, Handler]
    """By the first account's route: this account's handler behind its own guards."""
    bare: Mapping[web.AbstractRoute, Handler]


def joined(gateways: Sequence[Gateway], applications: Sequence[web.Application]) -> web.Application:
    """Return one application of an account's application each, in the same order."""
    first = applications[0]
    if len(applications) > 1:
        routes = list(first.router.routes())
        accounts = [_account_of(*pair, routes) for pair in zip(gateways, applications, strict=True)]
        first.middlewares.insert(0, _by_account(accounts))
    return first


def _account_of(gateway: Gateway, application: web.Application, routes: Sequence[web.AbstractRoute]) -> _Account:
    bare: dict[web.AbstractRoute, Handler] = {}
    for route, own in zip(routes, application.router.routes(), strict=True):
        bare[route] = own.handler
    return _Account(gateway, {route: _behind(application, handler) for route, handler in bare.items()}, bare)


def _behind(application: web.Application, handler: Handler) -> Handler:
    for middleware in reversed(application.middlewares):
        handler = partial(middleware, handler=handler)
    return handler


def _by_account(accounts: Sequence[_Account]) -> Middleware:
    @web.middleware
    async def by_account(request: web.Request, handler: Handler) -> web.StreamResponse:
        route = request.match_info.route
        account = _owner(accounts, _words_of(request))
        if account is not None and account is not accounts[0]:
            # a path that does not exist is rejected alike for all
            return await account.guarded.get(route, handler)(request)
        if account is None:
            request[HAND_OVER] = _hand_over(accounts, route)
        return await handler(request)

    return by_account


def _hand_over(accounts: Sequence[_Account], route: web.AbstractRoute) -> Callable[[str], Handler | None]:
    """Hand a connection over to the first account that it names."""
    named: list[_Account] = []

    def hand_over(text: str) -> Handler | None:
        account = None if named else _owner(accounts, _words_in(text))
        if account is None:
            return None
        named.append(account)
        return None if account is accounts[0] else account.bare.get(route)

    return hand_over


def _owner(accounts: Sequence[_Account], words: Iterator[str]) -> _Account | None:
    known = (account for word in words for account in accounts if account.gateway.is_mine(word))
    return next(known, None)


def _words_of(request: web.Request) -> Iterator[str]:
    for name in _KEY_HEADERS:
        if name in request.headers:
            yield request.headers[name].removeprefix(_SCHEME)
    yield from _signer_of(request.headers.get("Authorization", "").removeprefix(_BEARER))
    # a stream may have the token that opens it as its name
    yield request.path.rpartition("/")[2]


def _words_in(text: str) -> Iterator[str]:
    try:
        fields = json_fields(text)
    except RequestRejectedError:
        return
    arguments = fields.get("args")
    # OKX's names the key in the first of them
    signed = arguments[0] if isinstance(arguments, list) and arguments else None
    for part in (fields, signed, *(fields.get(name) for name in ("params", "data", "subscription"))):
        if isinstance(part, dict):
            yield from (str(part[name]) for name in _KEY_FIELDS if name in part)
    yield from _signer_of(str(fields.get("jwt", "")))
    if fields.get("op") == "auth" and isinstance(arguments, list):
        # Bybit's: key, expiry, signature
        yield from map(str, arguments[:1])


def _signer_of(token: str) -> Iterator[str]:
    """Return the key that a token of Coinbase's says it was signed by."""
    try:
        yield str(jwt.get_unverified_header(token).get("kid", ""))
    except jwt.InvalidTokenError:
        return
