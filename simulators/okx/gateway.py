"""OKX's wire protocol of version 5, spot: signed headers, an envelope around each answer, public and private streams.

Documents: https://www.okx.com/docs-v5/en, read in November 2026.
"""

from collections.abc import Awaitable, Callable

from aiohttp import web

from exchanges.credentials import Credentials
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.okx.account import OkxAccount
from simulators.okx.account_stream import OkxAccountStream
from simulators.okx.endpoints import OkxEndpoint
from simulators.okx.keys import check_request
from simulators.okx.limits import OkxLimits
from simulators.okx.lists import OkxLists
from simulators.okx.orders import OkxOrders
from simulators.okx.public import OkxPublic
from simulators.okx.rejections import envelope, error_fields
from simulators.okx.stream import OkxStream
from simulators.web.composed_gateway import composed, signed_by
from simulators.web.exchange_gateway import SimulatedGateway, guarded, json_reply
from simulators.web.subscribers import Subscribers

NAME = "okx"
_ORDER_IDS = 10**18
"""Orders have numbers of nineteen digits."""

NAMES = Names(
    order=lambda number, _micros: str(_ORDER_IDS + number),
    fill=lambda number, _micros: str(number),
    client_ids_reusable=True,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class OkxPages:
    def __init__(
        self, exchange: SimulatedExchange, subscribers: Subscribers, credentials: Credentials, stream: OkxStream
    ) -> None:
        self._exchange = exchange
        self._subscribers = subscribers
        self._check = signed_by(credentials, exchange, check_request)
        self._limits = OkxLimits()
        self._stream = stream
        lists, account = OkxLists(exchange), OkxAccount(exchange)
        self._public = OkxPublic(exchange, stream).endpoints()
        self._private = [*OkxOrders(exchange).endpoints(), *lists.endpoints(), *account.endpoints()]
        self._account_stream = OkxAccountStream(exchange, subscribers, credentials, lists, account)

    def application(self) -> web.Application:
        private = {endpoint.path for endpoint in self._private}
        application = guarded(NAME, lambda path: path in private, self._check, self.rejection)
        for endpoint in (*self._public, *self._private):
            application.router.add_route(endpoint.method, endpoint.path, self._answered(endpoint))
        application.add_routes(
            [web.get("/ws/v5/public", self._public_socket), web.get("/ws/v5/private", self._private_socket)]
        )
        return application

    def lift_limits(self) -> None:
        """Keep counting requests without enforcing limits."""
        self._limits.is_lifted = True

    def rejection(self, error: RequestRejectedError) -> web.Response:
        status, code, text = error_fields(error)
        return json_reply(envelope([], code, text), status)

    def _answered(self, endpoint: OkxEndpoint) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            now = self._exchange.clock.now()
            sent = endpoint.read(await request.text()) if request.method == "POST" else [dict(request.query)]
            if endpoint.is_of_orders:
                instruments = [str(fields.get("instId", "")) for fields in sent]
                self._limits.take_orders(f"{endpoint.method} {endpoint.path}", instruments, now)
            else:
                self._limits.take(endpoint.path, now)
            return json_reply(envelope(endpoint.answered(sent)))

        return answer

    async def _public_socket(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribers.serve(request, self._stream.on_message)

    async def _private_socket(self, request: web.Request) -> web.StreamResponse:
        return await self._subscribers.serve(request, self._account_stream.on_message)


SIMULATED = SimulatedGateway(
    composed(lambda exchange, subscribers, _: OkxStream(exchange, subscribers), OkxPages), NAMES
)
