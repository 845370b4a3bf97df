"""Binance spot's wire protocol: signed queries, weights, market streams with update ids, a WebSocket API of its own."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import parse_qsl

from aiohttp import web

from exchanges.credentials import Credentials
from simulators.binance.account import BinanceAccount
from simulators.binance.account_stream import BinanceAccountStream
from simulators.binance.endpoints import Endpoint, Fields, time_unit, timestamp
from simulators.binance.funding import BinanceFunding
from simulators.binance.keys import BinanceKeys
from simulators.binance.klines import BinanceKlines
from simulators.binance.limits import BinanceLimits
from simulators.binance.orders import BinanceOrders
from simulators.binance.public import BinancePublic
from simulators.binance.rejections import ReplacementError, error_fields
from simulators.binance.reports import BinanceReports
from simulators.binance.signing_keys import ensure_signing_keys, signing_keys
from simulators.binance.stream import BinanceFeed, BinanceStream, prefix_of, shutdown_notice
from simulators.binance.windows import BinanceWindows
from simulators.matching.order_records import RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.matching.venue import Names
from simulators.web.exchange_gateway import MarketStep, SimulatedGateway, guarded, json_reply
from simulators.web.signatures import SignedRequest
from simulators.web.subscribers import SubscriberConnection, Subscribers

NAME = "binance"
_TIME_UNIT = "X-MBX-TIME-UNIT"
_OF_SESSIONS = ("ed25519",)
_GONE = "\r\n".join(
    (
        *("<html>", "<head><title>410 Gone</title></head>", "<body>", "<center><h1>410 Gone</h1></center>"),
        *("<hr><center>nginx</center>", "</body>", "</html>", ""),
    )
)
"""The answer to requests for listen keys since 20 February 2026, as clients have logged it: a page of the proxy in
front."""

NAMES = Names(
    order=lambda number, _micros: str(number),
    fill=lambda number, _micros: str(number),
    # "Orders with the same newClientOrderID can be accepted only when the previous one is filled": its docs, New order.
    client_ids_reusable=True,
)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class BinanceGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._keys = BinanceKeys(credentials)
        self._limits = BinanceLimits()
        self._feeds = {name: BinanceFeed(exchange, listing) for name, listing in exchange.listings_by_id.items()}
        self._stream = BinanceStream(self.subscribers, self._feeds)
        account = BinanceAccount(exchange)
        windows = BinanceWindows(exchange)
        self._public = [
            *BinancePublic(exchange, self._feeds, self._limits).endpoints(),
            *BinanceKlines(exchange).endpoints(),
            *windows.endpoints(),
        ]
        orders = BinanceOrders(exchange, windows.average_price)
        self._signed = [
            *orders.endpoints(),
            *account.endpoints(),
            *BinanceFunding(exchange, account.balance_rows).endpoints(),
            Endpoint("GET", "/api/v3/rateLimit/order", 40, self._order_counts),
        ]
        self._signed_names = {(endpoint.method, endpoint.path) for endpoint in self._signed}
        self._account_calls = BinanceAccountStream(
            exchange,
            self._keys,
            self.subscribers,
            BinanceReports(exchange, account.balance_rows, orders.cancel_ids),
            calls=self,
        )

    def application(self) -> web.Application:
        signed = {endpoint.path for endpoint in self._signed}
        application = guarded(NAME, lambda path: path.partition("?")[0] in signed, self._check, self.rejection)
        for endpoint in self._public + self._signed:
            application.router.add_route(endpoint.method, endpoint.path, self._answered(endpoint))
        for method in ("POST", "PUT", "DELETE"):
            application.router.add_route(method, "/api/v3/userDataStream", _gone)
        application.add_routes(
            [
                web.get("/ws", self._market_streams),
                web.get("/ws/{stream}", self._market_streams),
                web.get("/stream", self._market_streams),
                web.get("/ws-api/v3", self._account_stream),
            ]
        )
        return application

    def is_mine(self, word: str) -> bool:
        return self._keys.has(word)

    def trust_signers(self, home: Path, account: str) -> None:
        """Take requests that are signed with a private key of the account, whose PEM is the secret; one with which
        sessions of the WebSocket API are opened is made if there is none yet."""
        ensure_signing_keys(home, [account], _OF_SESSIONS)
        for keys in signing_keys(home, account).values():
            self._keys.trust(keys)

    def publish(self, step: MarketStep) -> None:
        name = self.exchange.listings[step.symbol].market_id
        if step.is_late:
            self._stream.make_up(name, step)
            return
        self._feeds[name].take(step)
        self._stream.publish(name, step)

    def put_off(self, symbol: str) -> None:
        self._stream.put_off(self.exchange.listings[symbol].market_id)

    def lift_limits(self) -> None:
        """Keep counting weights and orders without enforcing limits."""
        self._limits.is_lifted = True

    def beat(self) -> None:
        self._stream.beat()

    def rejection(self, error: RequestRejectedError) -> web.Response:
        status, code, text = error_fields(error)
        data = {"data": error.data} if isinstance(error, ReplacementError) else {}
        response = json_reply({"code": code, "msg": text, **data}, status)
        if error.reason == "rate_limited":
            now = self.exchange.clock.now()
            response.headers["Retry-After"] = str(self._limits.seconds_left(error.detail, now))
        return response

    def is_signed(self, method: str, path: str) -> bool:
        return (method, path) in self._signed_names

    def answer(self, method: str, path: str, fields: Fields) -> object:
        """Return what an endpoint answers to one who calls it by its method and path, counted as over REST."""
        endpoint = self._endpoint(method, path)
        self._count(endpoint, fields)
        return endpoint.answer(fields)

    def counts(self, method: str = "", path: str = "") -> list[dict[str, object]]:
        """Return what is used by now of the limits that this endpoint counts in."""
        is_order = bool(path) and self._endpoint(method, path).is_order
        return self._limits.counts(self.exchange.clock.now(), is_order=is_order)

    def waits(self, error: RequestRejectedError) -> dict[str, object]:
        """WebSocket API, IP limits: when a request may come again, in milliseconds."""
        now = self.exchange.clock.now()
        is_named = error.reason == "banned" and error.detail.isdigit()
        until = int(error.detail) if is_named else now // 1_000 + self._limits.seconds_left(error.detail, now) * 1_000
        return {"serverTime": timestamp(now), "retryAfter": until}

    def _order_counts(self, _: Fields) -> object:
        return self._limits.order_counts(self.exchange.clock.now())

    def _endpoint(self, method: str, path: str) -> Endpoint:
        endpoints = self._signed if self.is_signed(method, path) else self._public
        [endpoint] = [endpoint for endpoint in endpoints if (endpoint.method, endpoint.path) == (method, path)]
        return endpoint

    def _count(self, endpoint: Endpoint, fields: Fields) -> dict[str, str]:
        """Return what was used until now, as headers. Raises RequestRejectedError if it is too much."""
        now = self.exchange.clock.now()
        if endpoint.of_the_account:
            headers = self._limits.take_path(endpoint.path, endpoint.of_the_account, now)
        else:
            headers = self._limits.take_weight(endpoint.weigh(fields), now)
        endpoint.check(fields, is_signed=self.is_signed(endpoint.method, endpoint.path))
        if endpoint.is_order:
            headers |= self._limits.take_order(now)
        return headers

    def _answered(self, endpoint: Endpoint) -> Handler:
        async def answer(request: web.Request) -> web.Response:
            fields = dict(request.query) | dict(parse_qsl(await request.text()))
            headers = self._count(endpoint, fields)
            with time_unit(request.headers.get(_TIME_UNIT, "")):
                response = json_reply(endpoint.answer(fields))
            response.headers.update(headers)
            return response

        return answer

    def _check(self, request: SignedRequest) -> None:
        self._keys.check_request(request, self.exchange.clock.now())

    async def _market_streams(self, request: web.Request) -> web.StreamResponse:
        path = request.path.removeprefix(f"/{NAME}")
        prefix = prefix_of(path, request.query.get("timeUnit", ""))

        def on_message(connection: SubscriberConnection, text: str) -> None:
            self._stream.on_message(connection, text, prefix)

        def greet(connection: SubscriberConnection) -> None:
            self._stream.join(connection, path, request.query.get("streams", ""), prefix)

        return await self.subscribers.serve(
            request, on_message, greet, notice=lambda: shutdown_notice(prefix, self.exchange.clock.now())
        )

    async def _account_stream(self, request: web.Request) -> web.StreamResponse:
        def on_message(connection: SubscriberConnection, text: str) -> None:
            self._account_calls.on_message(connection, text, request.query)

        def notice() -> object:
            return self._account_calls.shutdown_notice(request.query)

        # no document limits these messages by the second: each counts by its weight
        return await self.subscribers.serve(request, on_message, notice=notice, is_counted=False)


async def _gone(_: web.Request) -> web.Response:
    return web.Response(text=_GONE, status=410, content_type="text/html")


SIMULATED = SimulatedGateway(BinanceGateway, NAMES)
