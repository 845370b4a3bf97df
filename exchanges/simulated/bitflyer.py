"""bitFlyer's wire protocol: REST with signed headers, Lightstream (JSON-RPC over WebSocket). No client order ids."""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice, takewhile

from aiohttp import web

from exchanges.credentials import Credentials
from exchanges.simulated.customer import charged_fee, executed_cost
from exchanges.simulated.exchange import Names, SimulatedExchange
from exchanges.simulated.gateway import (
    Change,
    MarketStep,
    count_field,
    decimal_field,
    guarded,
    iso_text,
    json_fields,
    json_reply,
    listing_named,
    side_field,
    text_field,
)
from exchanges.simulated.listings import Listing
from exchanges.simulated.records import CustomerFill, CustomerOrder, OrderRequest, Reason, RequestRefusedError
from exchanges.simulated.signatures import SignedRequest, check_bitflyer
from exchanges.simulated.subscribers import Connection, Subscribers
from market.clock import MICROSECONDS
from market.orders import Side

NAME = "bitflyer"
_SNAPSHOT_BEATS = 5
_STATES = {"open": "ACTIVE", "done": "COMPLETED", "cancelled": "CANCELED"}


def _acceptance_id(number: int, micros: int) -> str:
    moment = datetime.fromtimestamp(micros // MICROSECONDS, UTC)
    return f"JRF{moment:%Y%m%d-%H%M%S}-{number % 1_000_000:06d}"


NAMES = Names(order=_acceptance_id, fill=lambda number, _micros: str(2_500_000_000 + number))

_REFUSALS: dict[Reason, tuple[int, int, str]] = {
    "unknown_key": (401, -500, "Key not found"),
    "signature": (401, -500, "Invalid signature"),
    "clock": (401, -500, "Timestamp is out of range"),
    "insufficient_funds": (400, -200, "Insufficient funds"),
    "amount_too_small": (400, -110, "The minimum order size is {detail} BTC."),
    "amount_invalid": (400, -102, "Invalid size"),
    "price_invalid": (400, -103, "Invalid price"),
    "too_precise": (400, -103, "Invalid price or size: {detail}"),
    "unknown_order": (400, -111, "Order not found"),
    "order_ended": (400, -111, "Order not found"),
    "unknown_market": (400, -106, "Invalid product"),
    "invalid_request": (400, -1, "Invalid {detail}"),
}


class BitflyerGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._beats = 0
        self._credentials = credentials
        self._by_id = {listing.market_id: listing for listing in exchange.listings.values()}

    def application(self) -> web.Application:
        application = guarded(NAME, lambda path: path.startswith("/v1/me/"), self._check, _refusal)
        application.add_routes(
            [
                web.get("/v1/getmarkets", self._markets),
                web.get("/v1/getmarkets/{region:usa|eu}", self._no_markets),
                web.get("/v1/getboard", self._board),
                web.get("/v1/getticker", self._ticker),
                web.get("/v1/me/getbalance", self._balance),
                web.get("/v1/me/gettradingcommission", self._commission),
                web.get("/v1/me/getchildorders", self._child_orders),
                web.get("/v1/me/getexecutions", self._executions),
                web.post("/v1/me/sendchildorder", self._place),
                web.post("/v1/me/cancelchildorder", self._cancel),
                web.get("/ws", self._ws),
            ]
        )
        return application

    def publish(self, step: MarketStep) -> None:
        if not step.changes:
            return
        listing = self.exchange.listings[step.symbol]
        channel = f"lightning_board_{listing.market_id}"
        if self.subscribers.has(channel):
            self.subscribers.broadcast(channel, _channel_message(channel, self._message(listing, step.changes)))

    # -- public

    async def _markets(self, _request: web.Request) -> web.Response:
        return json_reply([{"product_code": name, "market_type": "Spot"} for name in self._by_id])

    async def _no_markets(self, _request: web.Request) -> web.Response:
        return json_reply([])

    async def _board(self, request: web.Request) -> web.Response:
        return json_reply(self._whole_board(self._listing(request.query.get("product_code", "BTC_JPY"))))

    async def _ticker(self, request: web.Request) -> web.Response:
        listing = self._listing(request.query.get("product_code", "BTC_JPY"))
        book = self.exchange.books[listing.market.symbol]
        bid, ask = book.best("buy") or 0, book.best("sell") or 0
        row = {
            "product_code": listing.market_id,
            "state": "RUNNING",
            "timestamp": iso_text(self.exchange.clock.now(), zone=""),
            "best_bid": bid,
            "best_ask": ask,
            "best_bid_size": float(listing.amount(book.lots_at("buy", bid))),
            "best_ask_size": float(listing.amount(book.lots_at("sell", ask))),
            "ltp": bid,
        }
        return json_reply(row)

    # -- private

    async def _balance(self, _request: web.Request) -> web.Response:
        held = self.exchange.customer.held()
        rows = [
            {"currency_code": currency, "amount": float(total), "available": float(total - held[currency])}
            for currency, total in self.exchange.customer.balances.items()
        ]
        return json_reply(rows)

    async def _commission(self, request: web.Request) -> web.Response:
        listing = self._listing(text_field(request.query, "product_code"))
        return json_reply({"commission_rate": float(listing.taker_rate)})

    async def _child_orders(self, request: web.Request) -> web.Response:
        query = request.query
        listing = self._listing(query.get("product_code", "BTC_JPY"))
        state, acceptance_id = query.get("child_order_state"), query.get("child_order_acceptance_id")
        before, after = count_field(query, "before", 0), count_field(query, "after", 0)
        found = (
            order
            for order in takewhile(lambda order: order.number > after, self._candidates(listing, state, acceptance_id))
            if order.symbol == listing.market.symbol
            and state in (None, _STATES[order.state])
            and (not before or order.number < before)
        )
        return json_reply([self._order_row(order) for order in islice(found, count_field(query, "count", 100))])

    def _candidates(self, listing: Listing, state: str | None, acceptance_id: str | None) -> Iterable[CustomerOrder]:
        """Newest first, all that can be meant and as few others as the account's own order allows."""
        customer = self.exchange.customer
        if acceptance_id is not None:
            order = customer.orders.get(acceptance_id)
            return () if order is None else (order,)
        if state == _STATES["open"]:
            return reversed(customer.open_orders())
        return customer.newest_orders(listing.market.symbol)

    async def _executions(self, request: web.Request) -> web.Response:
        query = request.query
        listing = self._listing(query.get("product_code", "BTC_JPY"))
        acceptance_id = query.get("child_order_acceptance_id")
        customer = self.exchange.customer
        fills = reversed(customer.fills_of(acceptance_id)) if acceptance_id else customer.newest_fills()
        found = (fill for fill in fills if fill.symbol == listing.market.symbol)
        return json_reply([_execution_row(fill) for fill in islice(found, count_field(query, "count", 100))])

    async def _place(self, request: web.Request) -> web.Response:
        fields = json_fields(await request.text())
        kind = text_field(fields, "child_order_type").upper()
        if kind not in ("LIMIT", "MARKET"):
            raise RequestRefusedError("invalid_request", "child_order_type")
        order = self.exchange.place(
            OrderRequest(
                symbol=self._listing(text_field(fields, "product_code")).market.symbol,
                side=side_field(fields, "side"),
                amount=decimal_field(fields, "size", "amount_invalid"),
                price=decimal_field(fields, "price", "price_invalid") if kind == "LIMIT" else None,
                immediate=fields.get("time_in_force") == "IOC",
            )
        )
        return json_reply({"child_order_acceptance_id": order.order_id})

    async def _cancel(self, request: web.Request) -> web.Response:
        # The real exchange answers 200 without a body, even where the order has ended.
        order_id = text_field(json_fields(await request.text()), "child_order_acceptance_id")
        if self.exchange.customer.order(order_id).state == "open":
            self.exchange.cancel(order_id)
        return web.Response()

    def _listing(self, market_id: str) -> Listing:
        return listing_named(self._by_id, market_id)

    def _order_row(self, order: CustomerOrder) -> dict[str, object]:
        fills = self.exchange.customer.fills_of(order.order_id)
        average = float(executed_cost(fills) / order.filled) if order.filled else 0
        return {
            "id": order.number,
            "child_order_id": order.order_id.replace("JRF", "JOR"),
            "product_code": self.exchange.listings[order.symbol].market_id,
            "side": order.side.upper(),
            "child_order_type": "MARKET" if order.price is None else "LIMIT",
            "price": 0 if order.price is None else int(order.price),
            "average_price": average,
            "size": float(order.amount),
            "child_order_state": _STATES[order.state],
            "expire_date": iso_text(order.placed_at + 30 * 86_400 * MICROSECONDS, zone="")[:19],
            "child_order_date": iso_text(order.placed_at, zone="")[:23],
            "child_order_acceptance_id": order.order_id,
            "outstanding_size": float(order.remaining) if order.state == "open" else 0,
            "cancel_size": float(order.remaining) if order.state == "cancelled" else 0,
            "executed_size": float(order.filled),
            "total_commission": float(charged_fee(fills)),
        }

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        check_bitflyer(request, self._credentials, self.exchange.clock.now())

    # -- WebSocket

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._hear)

    def _hear(self, connection: Connection, text: str) -> None:
        try:
            fields = json_fields(text)
        except RequestRefusedError:
            connection.send(_rpc_error(None, -32700, "Parse error"))
            return
        parameters = fields.get("params")
        channel = str(parameters.get("channel", "")) if isinstance(parameters, dict) else ""
        product = channel.removeprefix("lightning_board_snapshot_").removeprefix("lightning_board_")
        if product not in self._by_id or fields.get("method") not in ("subscribe", "unsubscribe"):
            connection.send(_rpc_error(fields.get("id"), -32602, "Invalid params"))
            return
        if fields.get("id") is not None:
            connection.send({"jsonrpc": "2.0", "id": fields["id"], "result": True})
        if fields["method"] == "unsubscribe":
            connection.channels.discard(channel)
            return
        connection.channels.add(channel)
        if channel.startswith("lightning_board_snapshot_"):
            connection.send(_channel_message(channel, self._whole_board(self._by_id[product])))

    def beat(self) -> None:
        """Lightstream repeats the whole board from time to time."""
        self._beats += 1
        if self._beats % _SNAPSHOT_BEATS:
            return
        for listing in self._by_id.values():
            channel = f"lightning_board_snapshot_{listing.market_id}"
            if self.subscribers.has(channel):
                self.subscribers.broadcast(channel, _channel_message(channel, self._whole_board(listing)))

    def _whole_board(self, listing: Listing) -> dict[str, object]:
        book = self.exchange.books[listing.market.symbol]
        sides: tuple[Side, ...] = ("buy", "sell")
        return self._message(listing, [(side, ticks, lots) for side in sides for ticks, lots in book.levels(side, 300)])

    def _message(self, listing: Listing, changes: list[Change]) -> dict[str, object]:
        book = self.exchange.books[listing.market.symbol]
        rows: dict[Side, list[dict[str, float]]] = {"buy": [], "sell": []}
        for side, ticks, lots in changes:
            rows[side].append({"price": float(listing.price(ticks)), "size": float(listing.amount(lots))})
        bid, ask = book.best("buy") or 0, book.best("sell") or 0
        return {"mid_price": (bid + ask) / 2, "bids": rows["buy"], "asks": rows["sell"]}


def _channel_message(channel: str, message: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": "channelMessage", "params": {"channel": channel, "message": message}}


def _rpc_error(request_id: object, code: int, text: str) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": text}}


def _refusal(error: RequestRefusedError) -> web.Response:
    http_status, status, text = _REFUSALS.get(error.reason, (400, -1, "Invalid request"))
    return json_reply({"status": status, "error_message": text.format(detail=error.detail), "data": None}, http_status)


def _execution_row(fill: CustomerFill) -> dict[str, object]:
    return {
        "id": int(fill.fill_id),
        "child_order_id": fill.order_id.replace("JRF", "JOR"),
        "side": fill.side.upper(),
        "price": int(fill.price),
        "size": float(fill.amount),
        "commission": float(fill.fee),
        "exec_date": iso_text(fill.filled_at, zone="")[:23],
        "child_order_acceptance_id": fill.order_id,
    }
