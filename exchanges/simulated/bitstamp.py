"""Bitstamp's wire protocol: signed forms over REST, WebSocket `diff_order_book` without a snapshot of its own."""

from decimal import Decimal
from itertools import islice
from urllib.parse import parse_qsl

from aiohttp import web

from exchanges.credentials import Credentials
from exchanges.simulated.bitstamp_rows import (
    market_row,
    open_order_row,
    order_row,
    status_row,
    transaction_row,
)
from exchanges.simulated.exchange import Names, SimulatedExchange
from exchanges.simulated.gateway import (
    MarketStep,
    best_texts,
    count_field,
    decimal_field,
    guarded,
    json_fields,
    json_reply,
    levels_of,
    listing_named,
    text_field,
)
from exchanges.simulated.listings import Listing, fixed_text
from exchanges.simulated.records import OrderRequest, Reason, RequestRefusedError
from exchanges.simulated.signatures import BitstampNonces, SignedRequest
from exchanges.simulated.subscribers import Connection, Subscribers
from market.clock import MICROSECONDS
from market.orders import Side

NAME = "bitstamp"

NAMES = Names(
    order=lambda number, micros: str(micros // 1_000 * 1_000 + number % 1_000),
    fill=lambda number, _micros: str(400_000_000 + number),
)

_REFUSALS: dict[Reason, tuple[int, str]] = {
    "insufficient_funds": (400, "You have only too little {detail} available. Check your account balance for details."),
    "amount_too_small": (400, "Minimum order size is {detail}."),
    "amount_invalid": (400, "Enter a number."),
    "price_invalid": (400, "Enter a number."),
    "too_precise": (400, "Ensure that there are no more than the allowed decimal places: {detail}."),
    "client_id_used": (400, "Order with this client_order_id already exists."),
    "unknown_market": (404, "Invalid market symbol: {detail}."),
    "invalid_request": (400, "{detail}: this field is required."),
}
_AUTHENTICATION: dict[Reason, tuple[str, str]] = {
    "unknown_key": ("API key not found", "API0001"),
    "signature": ("Invalid signature", "API0005"),
    "clock": ("X-Auth-Timestamp header is out of range", "API0017"),
    "nonce": ("Invalid nonce", "API0014"),
}


class BitstampGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._credentials = credentials
        self._by_id = {listing.market_id: listing for listing in exchange.listings.values()}
        self._nonces = BitstampNonces()
        # Time of the last published step: diffs after it are what a snapshot lacks.
        self._micro = exchange.clock.now()

    def application(self) -> web.Application:
        application = guarded(NAME, _is_private, self._check, _refusal)
        application.add_routes(
            [
                web.get("/api/v2/markets/", self._markets),
                web.get("/api/v2/order_book/{pair}/", self._book),
                web.get("/api/v2/ticker/{pair}/", self._ticker),
                web.post("/api/v2/account_balances/", self._balances),
                web.post("/api/v2/{side:buy|sell}/{pair}/", self._place),
                web.post("/api/v2/{side:buy|sell}/market/{pair}/", self._place_market),
                web.post("/api/v2/cancel_order/", self._cancel),
                web.post("/api/v2/order_status/", self._status),
                web.post("/api/v2/open_orders/all/", self._open_orders),
                web.post("/api/v2/user_transactions/", self._transactions),
                web.post("/api/v2/user_transactions/{pair}/", self._transactions),
                web.post("/api/v2/fees/trading/", self._fees),
                web.get("/ws", self._ws),
            ]
        )
        return application

    def publish(self, step: MarketStep) -> None:
        if not step.changes:
            return
        listing = self.exchange.listings[step.symbol]
        self._micro = max(self._micro + 1, self.exchange.clock.now())
        sides: dict[Side, list[list[str]]] = {"buy": [], "sell": []}
        for side, ticks, lots in step.changes:
            sides[side].append([listing.price_text(ticks), listing.amount_text(lots)])
        channel = f"diff_order_book_{listing.market_id}"
        data = {**self._stamps(), "bids": sides["buy"], "asks": sides["sell"]}
        self.subscribers.broadcast(channel, {"event": "data", "channel": channel, "data": data})

    def beat(self) -> None:
        """Nothing to say."""

    def _stamps(self) -> dict[str, str]:
        return {"timestamp": str(self._micro // MICROSECONDS), "microtimestamp": str(self._micro)}

    # -- public

    async def _markets(self, _request: web.Request) -> web.Response:
        return json_reply([market_row(listing) for listing in self._by_id.values()])

    async def _book(self, request: web.Request) -> web.Response:
        listing = self._listing(request)
        book = self.exchange.books[listing.market.symbol]
        return json_reply({**self._stamps(), **levels_of(listing, book, 1_000)})

    async def _ticker(self, request: web.Request) -> web.Response:
        listing = self._listing(request)
        book = self.exchange.books[listing.market.symbol]
        bid, ask = best_texts(listing, book)
        flat = {"last": bid, "open": bid, "high": ask, "low": bid, "vwap": bid, "volume": "0"}
        return json_reply({**flat, "bid": bid, "ask": ask, "timestamp": self._stamps()["timestamp"]})

    # -- private

    async def _balances(self, _request: web.Request) -> web.Response:
        held = self.exchange.customer.held()
        rows = [
            {
                "currency": currency.lower(),
                "total": fixed_text(total, 8),
                "available": fixed_text(total - held[currency], 8),
                "reserved": fixed_text(held[currency], 8),
            }
            for currency, total in self.exchange.customer.balances.items()
        ]
        return json_reply(rows)

    async def _place(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        is_immediate = fields.get("ioc_order", "").lower() == "true"
        return self._taken(request, fields, decimal_field(fields, "price", "price_invalid"), is_immediate)

    async def _place_market(self, request: web.Request) -> web.Response:
        return self._taken(request, await _form(request), None, True)

    def _taken(
        self, request: web.Request, fields: dict[str, str], price: Decimal | None, is_immediate: bool
    ) -> web.Response:
        order = self.exchange.place(
            OrderRequest(
                symbol=self._listing(request).market.symbol,
                side="buy" if request.match_info["side"] == "buy" else "sell",
                amount=decimal_field(fields, "amount", "amount_invalid"),
                price=price,
                immediate=is_immediate,
                client_order_id=fields.get("client_order_id"),
            )
        )
        return json_reply(order_row(order))

    async def _cancel(self, request: web.Request) -> web.Response:
        order = self.exchange.cancel(text_field(await _form(request), "id"))
        return json_reply({**order_row(order), "status": "Canceled"})

    async def _status(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        if "client_order_id" in fields:
            order = self.exchange.customer.latest_by_client_id(fields["client_order_id"])
        else:
            order = self.exchange.customer.order(text_field(fields, "id"))
        fills = self.exchange.customer.fills_of(order.order_id)
        return json_reply(status_row(order, fills, self.exchange.listings[order.symbol]))

    async def _open_orders(self, _request: web.Request) -> web.Response:
        return json_reply([open_order_row(order) for order in self.exchange.customer.open_orders()])

    async def _transactions(self, request: web.Request) -> web.Response:
        limit = min(count_field(await _form(request), "limit", 100), 1_000)
        fills = islice(self.exchange.customer.newest_fills(), limit)
        return json_reply([transaction_row(fill, self.exchange.listings[fill.symbol]) for fill in fills])

    async def _fees(self, _request: web.Request) -> web.Response:
        rows = []
        for listing in self._by_id.values():
            percent = format(listing.taker_rate * 100, "f")
            fees = {"maker": percent, "taker": percent}
            rows.append({"market": listing.market_id, "currency_pair": listing.market_id, "fees": fees})
        return json_reply(rows)

    def _listing(self, request: web.Request) -> Listing:
        return listing_named(self._by_id, request.match_info["pair"])

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        self._nonces.check(request, self._credentials, self.exchange.clock.now())

    # -- WebSocket

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._hear)

    def _hear(self, connection: Connection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRefusedError:
            connection.send(_ws_error("", "Incorrect JSON format."))
            return
        event, data = fields.get("event"), fields.get("data")
        channel = str(data.get("channel", "")) if isinstance(data, dict) else ""
        if event == "bts:heartbeat":
            connection.send({"event": "bts:heartbeat", "channel": "", "data": {"status": "success"}})
        elif channel.removeprefix("diff_order_book_") not in self._by_id:
            connection.send(_ws_error(channel, "Bad subscription string."))
        elif event == "bts:subscribe":
            connection.send({"event": "bts:subscription_succeeded", "channel": channel, "data": {}})
            connection.channels.add(channel)
        elif event == "bts:unsubscribe":
            connection.channels.discard(channel)
            connection.send({"event": "bts:unsubscription_succeeded", "channel": channel, "data": {}})


def _ws_error(channel: str, text: str) -> dict[str, object]:
    return {"event": "bts:error", "channel": channel, "data": {"code": None, "message": text}}


def _is_private(path: str) -> bool:
    public = ("/api/v2/markets/", "/api/v2/order_book/", "/api/v2/ticker/", "/ws")
    return not path.startswith(public)


def _refusal(error: RequestRefusedError) -> web.Response:
    if error.reason in _AUTHENTICATION:
        text, code = _AUTHENTICATION[error.reason]
        return json_reply({"status": "error", "reason": text, "code": code}, 403)
    if error.reason in ("unknown_order", "order_ended"):
        # Without status or reason, and with the full stop that ccxt's table knows.
        return json_reply({"error": "Order not found."})
    status, text = _REFUSALS.get(error.reason, (400, "Bad request"))
    return json_reply({"status": "error", "reason": {"__all__": [text.format(detail=error.detail)]}}, status)


async def _form(request: web.Request) -> dict[str, str]:
    return dict(parse_qsl(await request.text()))
