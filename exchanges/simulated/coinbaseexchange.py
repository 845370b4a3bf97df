"""Coinbase Exchange's wire protocol: REST with signed headers, WebSocket `level2` with a signed subscribe."""

from itertools import islice
from uuid import UUID, uuid5

from aiohttp import web

from exchanges.credentials import Credentials
from exchanges.simulated.coinbaseexchange_rows import fill_row, order_row, product_row, status_of
from exchanges.simulated.exchange import Names, SimulatedExchange
from exchanges.simulated.gateway import (
    MarketStep,
    best_texts,
    count_field,
    decimal_field,
    guarded,
    iso_text,
    json_fields,
    json_reply,
    levels_of,
    listing_named,
    side_field,
    text_field,
)
from exchanges.simulated.listings import Listing, fixed_text
from exchanges.simulated.records import CustomerOrder, OrderRequest, Reason, RequestRefusedError
from exchanges.simulated.signatures import CoinbaseExchangeSignature, SignedRequest
from exchanges.simulated.subscribers import Connection, Subscribers
from market.clock import MICROSECONDS

NAME = "coinbaseexchange"
_ORDER_IDS = UUID("6f1f4f0e-3d7c-4b52-9a55-6f2c1f6b7a10")
_WHOLE_BOOK = 1_000

NAMES = Names(
    order=lambda number, micros: str(uuid5(_ORDER_IDS, f"{number}:{micros}")),
    fill=lambda number, _micros: str(number),
)

_REFUSALS: dict[Reason, tuple[int, str]] = {
    "unknown_key": (401, "Invalid API Key"),
    "signature": (401, "invalid signature"),
    "passphrase": (401, "Invalid Passphrase"),
    "clock": (401, "request timestamp expired"),
    "insufficient_funds": (400, "Insufficient funds"),
    "amount_too_small": (400, "size is too small. Minimum size is {detail}"),
    "amount_invalid": (400, "Invalid size {detail}"),
    "price_invalid": (400, "Invalid price {detail}"),
    "too_precise": (400, "size or price too precise: {detail}"),
    "client_id_invalid": (400, "Invalid client_oid"),
    "client_id_used": (400, "Duplicate client_oid"),
    "unknown_order": (404, "order not found"),
    "order_ended": (400, "Order already done"),
    "unknown_market": (400, "Product not found"),
    "invalid_request": (400, "{detail} is missing or invalid"),
}


class CoinbaseExchangeGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._credentials = credentials
        self._by_id = {listing.market_id: listing for listing in exchange.listings.values()}

    def application(self) -> web.Application:
        application = guarded(NAME, _is_private, self._check, _refusal)
        application.add_routes(
            [
                web.get("/currencies", self._currencies),
                web.get("/products", self._products),
                web.get("/products/{id}/book", self._book),
                web.get("/products/{id}/ticker", self._ticker),
                web.get("/time", self._time),
                web.get("/accounts", self._accounts),
                web.get("/fees", self._fees),
                web.get("/fills", self._fills),
                web.get("/orders", self._orders),
                web.post("/orders", self._place),
                web.get("/orders/{id}", self._order),
                web.delete("/orders/{id}", self._cancel),
                web.get("/ws", self._ws),
            ]
        )
        return application

    def publish(self, step: MarketStep) -> None:
        if not step.changes:
            return
        listing = self.exchange.listings[step.symbol]
        message = {
            "type": "l2update",
            "product_id": listing.market_id,
            "time": iso_text(self.exchange.clock.now()),
            "changes": [
                [side, listing.price_text(ticks), listing.amount_text(lots)] for side, ticks, lots in step.changes
            ],
        }
        self.subscribers.broadcast(f"level2:{listing.market_id}", message)

    def beat(self) -> None:
        """Nothing to say."""

    # -- public

    async def _currencies(self, _request: web.Request) -> web.Response:
        rows = [
            {
                "id": "BTC",
                "name": "Bitcoin",
                "status": "online",
                "max_precision": "0.00000001",
                "details": {"type": "crypto"},
            },
            {
                "id": "USD",
                "name": "US dollar",
                "status": "online",
                "max_precision": "0.01",
                "details": {"type": "fiat"},
            },
        ]
        return json_reply(rows)

    async def _products(self, _request: web.Request) -> web.Response:
        return json_reply([product_row(listing) for listing in self._by_id.values()])

    async def _book(self, request: web.Request) -> web.Response:
        listing = self._listing(request.match_info["id"])
        book = self.exchange.books[listing.market.symbol]
        # A third element per level: how many orders stand there.
        sides = {name: [[*level, 1] for level in levels] for name, levels in levels_of(listing, book, 50).items()}
        return json_reply({"sequence": self.exchange.clock.now(), "time": iso_text(self.exchange.clock.now()), **sides})

    async def _ticker(self, request: web.Request) -> web.Response:
        listing = self._listing(request.match_info["id"])
        book = self.exchange.books[listing.market.symbol]
        bid, ask = best_texts(listing, book)
        quotes = {"bid": bid, "ask": ask}
        return json_reply(
            {**quotes, "price": quotes["bid"], "volume": "0", "time": iso_text(self.exchange.clock.now())}
        )

    async def _time(self, _request: web.Request) -> web.Response:
        now = self.exchange.clock.now()
        return json_reply({"iso": iso_text(now), "epoch": now / MICROSECONDS})

    # -- private

    async def _accounts(self, _request: web.Request) -> web.Response:
        held = self.exchange.customer.held()
        rows = [
            {
                "id": str(uuid5(_ORDER_IDS, currency)),
                "currency": currency,
                "balance": fixed_text(total, 16),
                "hold": fixed_text(held[currency], 16),
                "available": fixed_text(total - held[currency], 16),
                "trading_enabled": True,
            }
            for currency, total in self.exchange.customer.balances.items()
        ]
        return json_reply(rows)

    async def _fees(self, _request: web.Request) -> web.Response:
        tier = self.exchange.tier
        volume = str(self.exchange.volume_30d)
        return json_reply({"maker_fee_rate": str(tier.maker), "taker_fee_rate": str(tier.taker), "usd_volume": volume})

    async def _fills(self, request: web.Request) -> web.Response:
        order_id, product = request.query.get("order_id"), request.query.get("product_id")
        customer = self.exchange.customer
        fills = reversed(customer.fills_of(order_id)) if order_id else customer.newest_fills()
        found = (fill for fill in fills if product in (None, self._market_id(fill.symbol)))
        rows = [fill_row(fill, self._market_id(fill.symbol)) for fill in islice(found, _limit(request))]
        return json_reply(rows)

    async def _orders(self, request: web.Request) -> web.Response:
        states = request.query.getall("status", ["open"])
        customer = self.exchange.customer
        orders = reversed(customer.open_orders()) if set(states) == {"open"} else customer.newest_orders()
        found = (order for order in orders if "all" in states or status_of(order) in states)
        return json_reply([self._row(order) for order in islice(found, _limit(request))])

    async def _order(self, request: web.Request) -> web.Response:
        return json_reply(self._row(self._found(request.match_info["id"])))

    async def _place(self, request: web.Request) -> web.Response:
        fields = json_fields(await request.text())
        kind = fields.get("type", "limit")
        if kind not in ("limit", "market"):
            raise RequestRefusedError("invalid_request", "type")
        listing = self._listing(text_field(fields, "product_id"))
        order = self.exchange.place(
            OrderRequest(
                symbol=listing.market.symbol,
                side=side_field(fields, "side"),
                amount=decimal_field(fields, "size", "amount_invalid"),
                price=decimal_field(fields, "price", "price_invalid") if kind == "limit" else None,
                immediate=fields.get("time_in_force") == "IOC",
                client_order_id=_client_id(fields.get("client_oid")),
            )
        )
        # The real exchange answers before it has matched.
        pending = {"status": "pending", "settled": False, "filled_size": "0", "executed_value": "0", "fill_fees": "0"}
        row = {
            **self._row(order),
            **pending,
        }
        return json_reply({name: value for name, value in row.items() if not name.startswith("done")})

    async def _cancel(self, request: web.Request) -> web.Response:
        order = self.exchange.cancel(self._found(request.match_info["id"]).order_id)
        return json_reply(order.order_id)

    def _found(self, name: str) -> CustomerOrder:
        if not name.startswith("client:"):
            return self.exchange.customer.order(name)
        return self.exchange.customer.latest_by_client_id(name.removeprefix("client:"))

    def _listing(self, market_id: str) -> Listing:
        return listing_named(self._by_id, market_id)

    def _row(self, order: CustomerOrder) -> dict[str, object]:
        return order_row(order, self.exchange.customer.fills_of(order.order_id), self._market_id(order.symbol))

    def _market_id(self, symbol: str) -> str:
        return self.exchange.listings[symbol].market_id

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        signature = CoinbaseExchangeSignature.of_headers(request.headers)
        signature.check(self._credentials, self.exchange.clock.now(), request.method + request.path + request.body)

    # -- WebSocket

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._hear)

    def _hear(self, connection: Connection, text: str) -> None:
        try:
            fields = json_fields(text)
            channels = [_channel_name(channel) for channel in fields.get("channels") or ()]
            listings = [self._listing(product) for product in fields.get("product_ids") or ()]
            if "level2" in channels and fields.get("type") == "subscribe":
                signature = CoinbaseExchangeSignature.of_fields(fields)
                signature.check(self._credentials, self.exchange.clock.now(), "GET/users/self/verify")
        except RequestRefusedError as error:
            reason = _REFUSALS[error.reason][1]
            is_key = error.reason in ("unknown_key", "signature", "passphrase", "clock")
            title = "Authentication Failed" if is_key else "Failed to subscribe"
            connection.send({"type": "error", "message": title, "reason": reason})
            return
        for listing in listings if "level2" in channels else ():
            self._listen(connection, listing, fields.get("type") == "subscribe")
        names = sorted(channel.removeprefix("level2:") for channel in connection.channels)
        connection.send({"type": "subscriptions", "channels": [{"name": "level2", "product_ids": names}]})

    def _listen(self, connection: Connection, listing: Listing, subscribes: bool) -> None:
        channel = f"level2:{listing.market_id}"
        if not subscribes:
            connection.channels.discard(channel)
            return
        connection.channels.add(channel)
        book = self.exchange.books[listing.market.symbol]
        levels = levels_of(listing, book, _WHOLE_BOOK)
        connection.send({"type": "snapshot", "product_id": listing.market_id, **levels})


def _channel_name(channel: object) -> str:
    return str(channel.get("name")) if isinstance(channel, dict) else str(channel)


def _is_private(path: str) -> bool:
    return path.startswith(("/accounts", "/fees", "/fills", "/orders"))


def _limit(request: web.Request) -> int:
    return min(1_000, count_field(request.query, "limit", 100))


def _client_id(value: object) -> str | None:
    if value is None:
        return None
    try:
        return str(UUID(str(value)))
    except ValueError as error:
        raise RequestRefusedError("client_id_invalid") from error


def _refusal(error: RequestRefusedError) -> web.Response:
    status, text = _REFUSALS.get(error.reason, (400, "Bad Request"))
    return json_reply({"message": text.format(detail=error.detail)}, status)
