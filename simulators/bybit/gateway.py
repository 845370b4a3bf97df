"""Bybit's wire protocol of version 5, spot: signed headers, an envelope around each answer, public and private streams.

Documents: https://bybit-exchange.github.io/docs/v5, read in November 2026.
"""

from collections.abc import Awaitable, Callable

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
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.web.exchange_gateway import MarketStep, SimulatedGateway, guarded, json_fields, json_reply
from simulators.web.signatures import SignedRequest
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


class BybitGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._credentials = credentials
        self._limits = BybitLimits()
        self._stream = BybitStream(exchange, self.subscribers)
        orders, account = BybitOrders(exchange), BybitAccount(exchange, credentials.api_key)
        self._public = BybitPublic(exchange, self._stream).endpoints()
        self._private = [*orders.endpoints(), *account.endpoints()]
        self._account_stream = BybitAccountStream(exchange, self.subscribers, credentials, orders, account)

    def application(self) -> web.Application:
        private = {endpoint.path for endpoint in self._private}
        application = guarded(NAME, lambda path: path in private, self._check, self.rejection)
        for endpoint in self._public:
            application.router.add_route(endpoint.method, endpoint.path, self._answered(endpoint, is_private=False))
        for endpoint in self._private:
            application.router.add_route(endpoint.method, endpoint.path, self._answered(endpoint, is_private=True))
        application.add_routes(
            [web.get("/v5/public/spot", self._public_socket), web.get("/v5/private", self._private_socket)]
        )
        return application

    def is_mine(self, word: str) -> bool:
        return word == self._credentials.api_key

    def publish(self, step: MarketStep) -> None:
        self._stream.publish(step)

    def put_off(self, symbol: str) -> None:
        """Do nothing: markets share nothing here."""

    def beat(self) -> None:
        """Do nothing: the client sends heartbeats and gets answers."""

    def lift_limits(self) -> None:
        """Keep counting requests without enforcing limits."""
        self._limits.is_lifted = True

    def rejection(self, error: RequestRejectedError) -> web.Response:
        status, code, text = error_fields(error)
        now = self.exchange.clock.now()
        if error.reason == "unknown_path":
            return json_reply({"retCode": code, "retMsg": text, "result": {}, "retExtInfo": {}}, status)
        response = json_reply(envelope({}, now, code, text), status)
        if error.reason == "rate_limited" and error.detail:
            response.headers.update(self._limits.headers(error.detail, now))
        return response

    def _answered(self, endpoint: BybitEndpoint, *, is_private: bool) -> Handler:
        async def answer(request: web.Request) -> web.Response:
            now = self.exchange.clock.now()
            self._limits.take_address(now)
            headers = self._limits.take(endpoint.path, now) if is_private else {}
            fields = json_fields(await request.text()) if request.method == "POST" else dict(request.query)
            endpoint.check(fields)
            response = json_reply(envelope(endpoint.answer(fields), now))
            response.headers.update(headers)
            return response

        return answer

    def _check(self, request: SignedRequest) -> None:
        check_request(request, self._credentials, self.exchange.clock.now())

    async def _public_socket(self, request: web.Request) -> web.StreamResponse:
        return await self.subscribers.serve(request, self._stream.on_message)

    async def _private_socket(self, request: web.Request) -> web.StreamResponse:
        return await self.subscribers.serve(request, self._account_stream.on_message)


SIMULATED = SimulatedGateway(BybitGateway, NAMES)
