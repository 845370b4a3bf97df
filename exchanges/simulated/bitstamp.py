"""Bitstamp's wire protocol: signed forms over REST, WebSocket `diff_order_book` without a snapshot of its own."""

import hashlib
import hmac
from urllib.parse import parse_qsl

from aiohttp import WSMsgType, web

from exchanges.credentials import Credentials
from exchanges.simulated.exchange import Names, SimulatedExchange
from exchanges.simulated.gateway import (
    Change,
    SignedRequest,
    count_field,
    decimal_field,
    guarded,
    iso_text,
    json_fields,
    json_reply,
    text_field,
)
from exchanges.simulated.listings import Listing, fixed_text
from exchanges.simulated.records import CustomerFill, CustomerOrder, OrderRequest, Reason, RequestRefusedError
from exchanges.simulated.subscribers import Connection, Subscribers
from market.clock import MICROSECONDS
from market.orders import Side

NAME = "bitstamp"
_LONGEST_SKEW = 150 * MICROSECONDS
_STATES = {"open": "Open", "done": "Finished", "cancelled": "Canceled"}

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
        self._nonces: dict[str, int] = {}
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

    def publish(self, symbol: str, changes: list[Change]) -> None:
        listing = self.exchange.listings[symbol]
        self._micro = max(self._micro + 1, self.exchange.clock.now())
        sides: dict[Side, list[list[str]]] = {"buy": [], "sell": []}
        for side, ticks, lots in changes:
            sides[side].append([listing.price_text(ticks), listing.amount_text(lots)])
        channel = f"diff_order_book_{listing.market_id}"
        data = {**self._stamps(), "bids": sides["buy"], "asks": sides["sell"]}
        self.subscribers.broadcast(channel, {"event": "data", "channel": channel, "data": data})

    def _stamps(self) -> dict[str, str]:
        return {"timestamp": str(self._micro // MICROSECONDS), "microtimestamp": str(self._micro)}

    # -- public

    async def _markets(self, _request: web.Request) -> web.Response:
        return json_reply([_market_row(listing) for listing in self._by_id.values()])

    async def _book(self, request: web.Request) -> web.Response:
        listing = self._listing(request)
        book = self.exchange.books[listing.market.symbol]
        sides = {
            name: [[listing.price_text(ticks), listing.amount_text(lots)] for ticks, lots in book.levels(side, 1_000)]
            for name, side in (("bids", "buy"), ("asks", "sell"))
        }
        return json_reply({**self._stamps(), **sides})

    async def _ticker(self, request: web.Request) -> web.Response:
        listing = self._listing(request)
        book = self.exchange.books[listing.market.symbol]
        bid, ask = listing.price_text(book.best("buy") or 0), listing.price_text(book.best("sell") or 0)
        flat = {"last": bid, "open": bid, "high": ask, "low": bid, "vwap": bid, "volume": "0"}
        return json_reply({**flat, "bid": bid, "ask": ask, "timestamp": self._stamps()["timestamp"]})

    # -- private

    async def _balances(self, _request: web.Request) -> web.Response:
        held = self.exchange.held()
        rows = [
            {
                "currency": currency.lower(),
                "total": fixed_text(total, 8),
                "available": fixed_text(total - held[currency], 8),
                "reserved": fixed_text(held[currency], 8),
            }
            for currency, total in self.exchange.balances().items()
        ]
        return json_reply(rows)

    async def _place(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        listing = self._listing(request)
        order = self.exchange.place(
            OrderRequest(
                symbol=listing.market.symbol,
                side="buy" if request.match_info["side"] == "buy" else "sell",
                amount=decimal_field(fields, "amount", "amount_invalid"),
                price=decimal_field(fields, "price", "price_invalid"),
                immediate=fields.get("ioc_order", "").lower() == "true",
                client_order_id=fields.get("client_order_id"),
            )
        )
        return json_reply(self._order_row(order))

    async def _place_market(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        order = self.exchange.place(
            OrderRequest(
                symbol=self._listing(request).market.symbol,
                side="buy" if request.match_info["side"] == "buy" else "sell",
                amount=decimal_field(fields, "amount", "amount_invalid"),
                price=None,
                immediate=True,
                client_order_id=fields.get("client_order_id"),
            )
        )
        return json_reply(self._order_row(order))

    async def _cancel(self, request: web.Request) -> web.Response:
        order = self.exchange.cancel(text_field(await _form(request), "id"))
        return json_reply({**self._order_row(order), "status": "Canceled"})

    async def _status(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        if "client_order_id" in fields:
            orders = self.exchange.orders_by_client_id(fields["client_order_id"])
            if not orders:
                raise RequestRefusedError("unknown_order")
            order = orders[-1]
        else:
            order = self.exchange.order(text_field(fields, "id"))
        row: dict[str, object] = {
            "status": _STATES[order.state],
            "id": int(order.order_id),
            "market": order.symbol,
            "datetime": iso_text(order.placed_at, " ", ""),
            "amount_remaining": fixed_text(order.remaining, 8),
            "transactions": [self._transaction_row(fill) for fill in self.exchange.fills_of(order.order_id)],
        }
        if order.client_order_id:
            row["client_order_id"] = order.client_order_id
        return json_reply(row)

    async def _open_orders(self, _request: web.Request) -> web.Response:
        rows = []
        for order in self.exchange.open_orders():
            extra = {"amount": fixed_text(order.remaining, 8), "amount_at_create": fixed_text(order.amount, 8)}
            rows.append({**self._order_row(order), **extra, "currency_pair": order.symbol})
        return json_reply(rows)

    async def _transactions(self, request: web.Request) -> web.Response:
        limit = count_field(await _form(request), "limit", 100)
        rows = []
        for fill in self.exchange.fills[::-1][: min(limit, 1_000)]:
            market = self.exchange.listings[fill.symbol].market
            base, quote = market.base.lower(), market.quote_currency.lower()
            sign = 1 if fill.side == "buy" else -1
            rows.append(
                {
                    "id": int(fill.fill_id),
                    "datetime": iso_text(fill.filled_at, " ", ""),
                    "type": "2",
                    "order_id": int(fill.order_id),
                    "fee": fixed_text(fill.fee, 5),
                    base: fixed_text(sign * fill.amount, 8),
                    quote: fixed_text(-sign * fill.cost, 2),
                    f"{base}_{quote}": fixed_text(fill.price, 2),
                }
            )
        return json_reply(rows)

    async def _fees(self, _request: web.Request) -> web.Response:
        rows = []
        for listing in self._by_id.values():
            percent = format(listing.fee_rate * 100, "f")
            fees = {"maker": percent, "taker": percent}
            rows.append({"market": listing.market_id, "currency_pair": listing.market_id, "fees": fees})
        return json_reply(rows)

    def _listing(self, request: web.Request) -> Listing:
        pair = request.match_info["pair"]
        if pair not in self._by_id:
            raise RequestRefusedError("unknown_market", pair)
        return self._by_id[pair]

    def _order_row(self, order: CustomerOrder) -> dict[str, object]:
        row: dict[str, object] = {
            "id": order.order_id,
            "market": order.symbol,
            "datetime": iso_text(order.placed_at, " ", ""),
            "type": "0" if order.side == "buy" else "1",
            "price": "0" if order.price is None else fixed_text(order.price, 2),
            "amount": fixed_text(order.amount, 8),
        }
        if order.client_order_id:
            row["client_order_id"] = order.client_order_id
        return row

    def _transaction_row(self, fill: CustomerFill) -> dict[str, object]:
        market = self.exchange.listings[fill.symbol].market
        return {
            "tid": int(fill.fill_id),
            "price": fixed_text(fill.price, 8),
            market.base.lower(): fixed_text(fill.amount, 8),
            market.quote_currency.lower(): fixed_text(fill.cost, 8),
            "fee": fixed_text(fill.fee, 8),
            "datetime": iso_text(fill.filled_at, " ", ""),
            "type": 2,
        }

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        headers = request.headers
        if headers.get("X-Auth", "") != f"BITSTAMP {self._credentials.api_key}":
            raise RequestRefusedError("unknown_key")
        timestamp, nonce = headers.get("X-Auth-Timestamp", ""), headers.get("X-Auth-Nonce", "")
        now = self.exchange.clock.now()
        if not timestamp.isdigit() or abs(int(timestamp) * 1_000 - now) > _LONGEST_SKEW:
            raise RequestRefusedError("clock")
        signature = headers.get("X-Auth-Signature", "").encode()
        # ccxt cuts "https://" off what it signs; over http the scheme stays in.
        for url in (request.url, request.url.split("://", 1)[1]):
            signed = (
                f"{headers['X-Auth']}{request.method}{url}{headers.get('Content-Type', '')}{nonce}{timestamp}"
                f"{headers.get('X-Auth-Version', '')}{request.body}"
            )
            expected = hmac.digest(self._credentials.secret.encode(), signed.encode(), hashlib.sha256).hex()
            if hmac.compare_digest(expected.encode(), signature):
                self._use_nonce(nonce, now)
                return
        raise RequestRefusedError("signature")

    def _use_nonce(self, nonce: str, now: int) -> None:
        if nonce in self._nonces:
            raise RequestRefusedError("nonce")
        self._nonces[nonce] = now
        if len(self._nonces) > 20_000:
            self._nonces = {used: when for used, when in self._nonces.items() if now - when <= 2 * _LONGEST_SKEW}

    # -- WebSocket

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        async with self.subscribers.joined(request) as connection:
            async for message in connection.socket:
                if message.type is WSMsgType.TEXT:
                    self._hear(connection, message.data)
            return connection.socket

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


def _market_row(listing: Listing) -> dict[str, object]:
    market = listing.market
    return {
        "name": market.symbol,
        "market_symbol": listing.market_id,
        "base_currency": market.base,
        "counter_currency": market.quote_currency,
        "base_decimals": 8,
        "counter_decimals": listing.price_decimals,
        "minimum_order_value": str(market.minimum_notional),
        "maximum_order_value": "30000000.00",
        "minimum_order_amount": "0.00000001",
        "trading": "Enabled",
        "instant_order_counter_decimals": 2,
        "instant_and_market_orders": "Enabled",
        "market_type": "SPOT",
        "description": f"{market.base} / {market.quote_currency}",
    }
