"""Kraken's wire protocol: signed forms with growing nonces, answers as {error, result}, WebSocket v2 and v1."""

from aiohttp import web
from aiohttp.typedefs import Handler

from exchanges.credentials import Credentials
from simulators.kraken.account import KrakenAccount
from simulators.kraken.funding import KrakenFunding
from simulators.kraken.limits import RATES, KrakenEngineLimits
from simulators.kraken.orders import KrakenOrders
from simulators.kraken.public import KrakenDay, KrakenPairs, KrakenPublic
from simulators.kraken.rejections import error_text
from simulators.kraken.rows import transaction_name
from simulators.kraken.stream import KrakenStream
from simulators.kraken.trading import KrakenTrading
from simulators.kraken.v1_stream import KrakenV1Stream
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.web.exchange_gateway import Call, MarketStep, SimulatedGateway, guarded, json_reply
from simulators.web.signatures import SignedRequest, check_kraken, kraken_fields
from simulators.web.stream_tokens import StreamTokens
from simulators.web.subscribers import Subscribers

NAME = "kraken"
_TOKEN_SECONDS = 900
_API = "/0/"

NAMES = Names(
    order=lambda number, micros: transaction_name("O", number, micros),
    fill=lambda number, micros: transaction_name("T", number, micros),
    # A cl_ord_id must be unique among open orders only: https://docs.kraken.com/api/blog/cl-ord-id
    client_ids_reusable=True,
)


class KrakenGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._credentials = credentials
        self._last_nonce = 0
        self._days = {symbol: KrakenDay(exchange, listing) for symbol, listing in exchange.listings.items()}
        self._tokens = StreamTokens(exchange.clock, _TOKEN_SECONDS, 32)
        pairs = KrakenPairs(exchange.listings)
        self._public = KrakenPublic(exchange, pairs, self._days).calls()
        self._limits = KrakenEngineLimits(exchange.clock)
        self._orders = KrakenOrders(exchange, pairs, self._limits)
        orders = self._orders.calls()
        self._private = KrakenAccount(exchange, pairs, self._tokens).calls() | KrakenFunding(exchange).calls() | orders
        trading = KrakenTrading(exchange, self._orders, orders)
        self._stream = KrakenStream(exchange, self.subscribers, self._days, self._tokens, trading)
        self._v1 = KrakenV1Stream(exchange, self.subscribers, self._days, self._tokens, orders)

    def application(self) -> web.Application:
        application = guarded(NAME, lambda path: path.startswith("/0/private/"), self._check, self.rejection)
        application.add_routes(
            [
                *(web.get(f"/0/public/{name}", _answered(call)) for name, call in self._public.items()),
                *(web.post(f"/0/private/{name}", _answered(call)) for name, call in self._private.items()),
                web.get("/ws/v2", self._ws),
                *(web.get(path, self._ws_v1) for path in ("/", "/ws", "/ws/")),
            ]
        )
        return application

    def is_mine(self, word: str) -> bool:
        return word == self._credentials.api_key or self._tokens.is_valid(word)

    def publish(self, step: MarketStep) -> None:
        for trade in step.trades:
            self._days[trade.symbol].add(trade)
        if not step.is_late:
            self._stream.publish(step)
            self._v1.publish(step)

    def put_off(self, symbol: str) -> None:
        """Do nothing: markets share nothing here."""

    def lift_limits(self) -> None:
        """Keep counting orders without refusing any."""
        self._limits.is_lifted = True

    def beat(self) -> None:
        self._orders.cancel_if_due()
        self._stream.beat()
        self._v1.beat()

    def rejection(self, error: RequestRejectedError) -> web.Response:
        """Return the response; Kraken's API always answers with status 200."""
        is_elsewhere = error.reason == "unknown_path" and not error.detail.startswith(_API)
        return json_reply({"error": [error_text(error)]}, 404 if is_elsewhere else 200)

    def _check(self, request: SignedRequest) -> None:
        self._last_nonce = check_kraken(request, self._credentials, self._last_nonce)

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._stream.on_message, self._stream.greet)

    async def _ws_v1(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._v1.on_message, self._v1.greet)


def _answered(call: Call) -> Handler:
    """Answer the call: the fields are in the query, or in the form or the JSON object that was signed."""

    async def answer(request: web.Request) -> web.StreamResponse:
        fields = kraken_fields(await request.text()) if request.method == "POST" else dict(request.query)
        return json_reply({"error": [], "result": call(fields)})

    return answer


SIMULATED = SimulatedGateway(KrakenGateway, NAMES, RATES)
