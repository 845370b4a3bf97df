"""Bybit's wire protocol of version 5, spot: signed headers, an envelope around each answer, public and private streams.

Documents: https://bybit-exchange.github.io/docs/v5, read in November 2026.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from aiohttp import web

from exchanges.credentials import Credentials
from simulators.bybit.account import BybitAccount
from simulators.bybit.account_stream import BybitAccountStream
from simulators.bybit.endpoints import BybitEndpoint
from simulators.bybit.keys import check_request
from simulators.bybit.limits import BybitLimits
from simulators.bybit.orders import BybitOrders
from simulators.bybit.public import BybitPublic
from simulators.bybit.rejections import envelope, error_fields
from simulators.bybit.stream import BybitStream
from simulators.bybit.trade_stream import BybitTradeStream
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.web.composed_gateway import composed, signed_by
from simulators.web.exchange_gateway import SimulatedGateway, guarded, json_fields, json_reply
from simulators.web.subscribers import Subscribers

NAME = "bybit"
_ORDER_IDS = 10**18
"""Spot orders have numbers of nineteen digits."""

NAMES = Names(
    order=lambda number, _micros: str(_ORDER_IDS + number),
    # fills and public trades are numbered alike
    fill=lambda number, _micros: str(number),
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BybitPages:
    def __init__(
        self, exchange: SimulatedExchange, subscribers: Subscribers, credentials: Credentials, stream: BybitStream
    ) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._check = signed_by(credentials, exchange, check_request)
        self._limits = BybitLimits()
        self._stream = stream
        orders, account = BybitOrders(exchange), BybitAccount(exchange, credentials.api_key)
        self._public = BybitPublic(exchange, stream).endpoints()
        self._private = [*orders.endpoints(), *account.endpoints()]
        self._account_stream = BybitAccountStream(exchange, subscribers, credentials, orders, account)
        self._trade_stream = BybitTradeStream(exchange, subscribers, credentials, self._called)

    def application(self) -> web.Application:
        private = {endpoint.path for endpoint in self._private}
        application = guarded(NAME, lambda path: path in private, self._check, self.rejection)
        for endpoint in self._public:
            application.router.add_route(endpoint.method, endpoint.path, self._answered(endpoint, is_private=False))
        for endpoint in self._private:
            application.router.add_route(endpoint.method, endpoint.path, self._answered(endpoint, is_private=True))
        application.add_routes(
            [
                web.get("/v5/public/spot", self._public_socket),
                web.get("/v5/private", self._private_socket),
                web.get("/v5/trade", self._trade_socket),
            ]
        )
        return application

    def lift_limits(self) -> None:
        """Keep counting requests without enforcing limits."""
        self._limits.is_lifted = True

    def rejection(self, error: RequestRejectedError) -> web.Response:
        status, code, text = error_fields(error)
        now = self._exchange.clock.now()
        if error.reason == "unknown_path":
            return json_reply({"retCode": code, "retMsg": text, "result": {}, "retExtInfo": {}}, status)
        response = json_reply(envelope({}, now, code, text), status)
        if error.reason == "rate_limited" and error.detail:
            response.headers.update(self._limits.headers(error.detail, now))
        return response

    def _answered(self, endpoint: BybitEndpoint, *, is_private: bool) -> Handler:
        async def answer(request: web.Request) -> web.Response:
            now = self._exchange.clock.now()
            self._limits.take_address(now)
            headers = self._limits.take(endpoint.path, now) if is_private else {}
            fields = json_fields(await request.text()) if request.method == "POST" else dict(request.query)
            endpoint.check(fields)
            response = json_reply(envelope(endpoint.answer(fields), now))
            response.headers.update(headers)
            return response

        return answer

    def _called(self, path: str, fields: Mapping[str, Any]) -> tuple[object, dict[str, str]]:
        """Return what an endpoint of orders answers to one who calls it without HTTP, counted as over REST."""
        [endpoint] = [one for one in self._private if one.path == path]
        headers = self._limits.take(path, self._exchange.clock.now())
        endpoint.check(fields)
        return endpoint.answer(fields), headers

    async def _public_socket(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribers.serve(request, self._stream.on_message)

    async def _private_socket(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribers.serve(request, self._account_stream.on_message)

    async def _trade_socket(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribers.serve(request, self._trade_stream.on_message)


SIMULATED = SimulatedGateway(
    composed(lambda exchange, subscribers, _: BybitStream(exchange, subscribers), BybitPages), NAMES
)
