"""Coinbase Advanced Trade's wire protocol of version 3, spot: REST with a signed token for each request, and a stream.

Documents: https://docs.cdp.coinbase.com/coinbase-app/advanced-trade-apis, read in November 2026.
"""

from collections.abc import Awaitable, Callable
from uuid import uuid5

from aiohttp import web

from exchanges.credentials import Credentials
from simulators.coinbase.account import CoinbaseAccount
from simulators.coinbase.endpoints import CoinbaseEndpoint
from simulators.coinbase.keys import check_request
from simulators.coinbase.limits import RATES, is_public
from simulators.coinbase.orders import CoinbaseOrders
from simulators.coinbase.public import CoinbasePublic
from simulators.coinbase.rejections import rejection
from simulators.coinbase.rows import IDS
from simulators.coinbase.stream import CoinbaseStream
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.web.composed_gateway import composed, signed_by
from simulators.web.exchange_gateway import SimulatedGateway, guarded, json_reply
from simulators.web.subscribers import Subscribers

NAME, _STREAM = "coinbase", "/ws"
NAMES = Names(
    order=lambda number, micros: str(uuid5(IDS, f"{number}:{micros}")),
    fill=lambda number, _micros: str(number),
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class CoinbasePages:
    def __init__(
        self, exchange: SimulatedExchange, subscribers: Subscribers, credentials: Credentials, stream: CoinbaseStream
    ) -> None:
        self._subscribers = subscribers
        self._check = signed_by(credentials, exchange, check_request)
        self._stream = stream
        public = CoinbasePublic(exchange, stream)
        private = (*CoinbaseOrders(exchange).endpoints(), *CoinbaseAccount(exchange).endpoints())
        self._endpoints = (*public.endpoints(), *public.keyed(), *private)

    def application(self) -> web.Application:
        application = guarded(NAME, _is_private, self._check, self.rejection)
        for endpoint in self._endpoints:
            application.router.add_route(endpoint.method, endpoint.path, _answered(endpoint))
        application.add_routes([web.get(_STREAM, self._socket)])
        return application

    def rejection(self, error: RequestRejectedError) -> web.Response:
        return rejection(error)

    async def _socket(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribers.serve(request, self._stream.on_message)


def _answered(endpoint: CoinbaseEndpoint) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return json_reply(await endpoint.answered(request))

    return answer


def _is_private(path: str) -> bool:
    return path != _STREAM and not is_public(path)


SIMULATED = SimulatedGateway(composed(CoinbaseStream, CoinbasePages), NAMES, RATES)
