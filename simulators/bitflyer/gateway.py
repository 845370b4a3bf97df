"""bitFlyer's wire protocol: REST with signed headers, Lightstream (JSON-RPC over WebSocket). No client order ids."""

from aiohttp import web
from aiohttp.typedefs import Handler

from exchanges.credentials import Credentials
from simulators.bitflyer.account import BitflyerAccount
from simulators.bitflyer.limits import RATES
from simulators.bitflyer.public import BitflyerProducts, BitflyerPublic
from simulators.bitflyer.rows import FIRST_EXECUTION, acceptance_id
from simulators.bitflyer.stream import BitflyerStream
from simulators.matching.order_records import Reason, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.web.exchange_gateway import Call, MarketStep, SimulatedGateway, guarded, json_fields, json_reply
from simulators.web.signatures import SignedRequest, check_bitflyer
from simulators.web.subscribers import Subscribers

NAME = "bitflyer"

NAMES = Names(order=acceptance_id, fill=lambda number, _micros: str(FIRST_EXECUTION + number))

# HTTP status, then bitFlyer's own code; the documentation lists few of them.
_REJECTIONS: dict[Reason, tuple[int, int, str]] = {
    "unknown_key": (401, -500, "Key not found"),
    "signature": (401, -500, "Invalid signature"),
    "clock": (401, -500, "Timestamp is out of range"),
    "insufficient_funds": (400, -200, "Insufficient funds"),
    "amount_too_small": (400, -110, "The minimum order size is {detail} {unit}."),
    "amount_invalid": (400, -102, "Invalid size"),
    "price_invalid": (400, -103, "Invalid price"),
    "too_precise": (400, -103, "Invalid price or size: {detail}"),
    "unknown_order": (400, -111, "Order not found"),
    "order_ended": (400, -111, "Order not found"),
    "order_rejected": (400, -208, "Order is not accepted. Please try again later."),
    "unknown_market": (400, -106, "Invalid product"),
    # no document has the words
    "unknown_path": (404, -1, "Not found"),
    "invalid_request": (400, -1, "Invalid {detail}"),
    "rate_limited": (429, -1, "Over API limit per period, per IP address"),
    "banned": (403, -1, "Over API limit: access is denied for a while"),
    "maintenance": (503, -2, "Under maintenance"),
    "unavailable": (503, -1, "Internal Server Error"),
}


class BitflyerGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._credentials = credentials
        self._products = BitflyerProducts(exchange)
        self._public = BitflyerPublic(self._products).calls()
        self._account = BitflyerAccount(self._products)
        self._stream = BitflyerStream(self._products, self.subscribers, credentials)

    def application(self) -> web.Application:
        application = guarded(NAME, lambda path: path.startswith("/v1/me/"), self._check, self.rejection)
        application.add_routes(
            [
                *(web.get(f"/v1/{name}", _answered(call)) for name, call in self._public.items()),
                *(web.get(f"/v1/me/{name}", _answered(call)) for name, call in self._account.reads().items()),
                *(web.post(f"/v1/me/{name}", _answered(call)) for name, call in self._account.changes().items()),
                web.get("/ws", self._ws),
            ]
        )
        return application

    def is_mine(self, word: str) -> bool:
        return word == self._credentials.api_key

    def publish(self, step: MarketStep) -> None:
        self._products.add_step(step)
        if not step.is_late:
            self._products.tick()
            self._stream.publish(step)

    def put_off(self, symbol: str) -> None:
        self._products.tick()

    def beat(self) -> None:
        self._stream.beat()

    def rejection(self, error: RequestRejectedError) -> web.Response:
        http_status, status, text = _REJECTIONS.get(error.reason, (400, -1, "Invalid request"))
        message = text.format(detail=error.detail, unit=error.unit)
        return json_reply({"status": status, "error_message": message, "data": None}, http_status)

    def _check(self, request: SignedRequest) -> None:
        check_bitflyer(request, self._credentials, self.exchange.clock.now())

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._stream.on_message)


def _answered(call: Call) -> Handler:
    """Answer the call: the fields are in the query, or in a JSON body; some answers have no body at all."""

    async def answer(request: web.Request) -> web.StreamResponse:
        fields = json_fields(await request.text()) if request.method == "POST" else dict(request.query)
        body = call(fields)
        return web.Response() if body is None else json_reply(body)

    return answer


SIMULATED = SimulatedGateway(BitflyerGateway, NAMES, RATES)
