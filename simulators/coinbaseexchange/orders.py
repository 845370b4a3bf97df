"""Coinbase Exchange's private REST calls for orders and fills."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from uuid import UUID

from aiohttp import web

from market.instruments.orders import Side
from simulators.coinbaseexchange.pages import is_between, moment_in, page_reply
from simulators.coinbaseexchange.rejections import check_steps
from simulators.coinbaseexchange.rows import (
    DEFAULT_STP,
    SELF_TRADES,
    fill_row,
    order_row,
    pending_row,
    status_of,
)
from simulators.matching.listings import Listing
from simulators.matching.order_admission import LARGEST, lots_within
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedOrder, Trigger
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import (
    Fields,
    decimal_field,
    json_fields,
    json_reply,
    listing_named,
    side_field,
    text_field,
)

_FIELDS = frozenset(
    (
        *("type", "side", "product_id", "client_oid", "price", "size", "funds", "time_in_force", "stp", "post_only"),
        *("stop", "stop_price"),
    )
)
# The real exchange also has these; here nothing ends by itself, nothing is hidden, and there is one profile.
_NOT_SIMULATED = frozenset(("stop_limit_price", "cancel_after", "max_floor", "profile_id"))
_LIFETIMES = ("GTC", "IOC", "FOK")
_OPEN = ["open", "pending", "active"]
_UUID_VERSION = 4


class CoinbaseExchangeOrders:
    """`rested` is called with each order that rests in the book after it was placed."""

    def __init__(self, exchange: SimulatedExchange, rested: Callable[[SimulatedOrder], None]) -> None:
        self._exchange = exchange
        self._rested = rested

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/fills", self._fills),
            web.get("/orders", self._orders),
            web.post("/orders", self._place),
            web.delete("/orders", self._cancel_all),
            web.get("/orders/{id}", self._order),
            web.delete("/orders/{id}", self._cancel),
        ]

    async def _fills(self, request: web.Request) -> web.Response:
        order_id, product = request.query.get("order_id"), request.query.get("product_id")
        if order_id is None and product is None:
            raise RequestRejectedError("invalid_request", "order_id or product_id")
        customer = self._exchange.customer
        since = moment_in(request.query, "start_date") or 0
        fills = reversed(customer.fills_of(order_id)) if order_id else customer.newest_fills(since)
        found = (
            fill
            for fill in fills
            if product in (None, self._market_id(fill.symbol)) and is_between(fill.filled_at, request.query)
        )
        return page_reply(
            request, found, lambda fill: fill.number, lambda fill: fill_row(fill, self._market_id(fill.symbol))
        )

    async def _orders(self, request: web.Request) -> web.Response:
        states, product = request.query.getall("status", _OPEN), request.query.get("product_id")
        customer = self._exchange.customer
        only_open = not set(states) - set(_OPEN)
        # what was placed since then cannot have ended before
        ended_after = (moment_in(request.query, "start_date") or 0) - 1
        orders: Iterable[SimulatedOrder] = (
            reversed(customer.open_orders()) if only_open else customer.newest_orders(ended_after=ended_after)
        )
        found = (
            order
            for order in orders
            if ("all" in states or status_of(order) in states)
            and product in (None, self._market_id(order.symbol))
            and is_between(order.placed_at, request.query)
        )
        return page_reply(request, found, lambda order: order.number, self._row)

    async def _order(self, request: web.Request) -> web.Response:
        return json_reply(self._row(self._found(request.match_info["id"])))

    async def _place(self, request: web.Request) -> web.Response:
        fields = json_fields(await request.text())
        _check_fields(fields)
        listing = listing_named(self._exchange.listings_by_id, text_field(fields, "product_id"))
        wanted = self._request(fields, listing)
        check_steps(wanted, listing.market)
        if fields.get("post_only") and self._exchange.would_take(wanted):
            return json_reply(self._rejected_row(wanted, listing))
        order = self._exchange.place(wanted)
        if order.state == "open" and not order.is_waiting:
            self._rested(order)
        return json_reply({**pending_row(order, listing.market_id), "post_only": bool(fields.get("post_only"))})

    def _request(self, fields: Fields, listing: Listing) -> OrderRequest:
        kind, side = fields.get("type", "limit"), side_field(fields, "side")
        lifetime = fields.get("time_in_force", "GTC")
        if kind not in ("limit", "market"):
            raise RequestRejectedError("invalid_request", "type")
        if lifetime not in _LIFETIMES or (fields.get("post_only") and lifetime != "GTC"):
            raise RequestRejectedError("invalid_request", "time_in_force")
        if kind == "market" and "size" not in fields:
            amount = self._spent(decimal_field(fields, "funds", "amount_invalid"), side, listing)
        else:
            amount = decimal_field(fields, "size", "amount_invalid")
        return OrderRequest(
            symbol=listing.market.symbol,
            side=side,
            amount=amount,
            price=decimal_field(fields, "price", "price_invalid") if kind == "limit" else None,
            immediate=lifetime == "IOC",
            client_order_id=_client_id(fields.get("client_oid")),
            whole=lifetime == "FOK",
            trigger=_trigger(fields, side),
            self_trade=SELF_TRADES[str(fields.get("stp", DEFAULT_STP))],
        )

    def _spent(self, funds: Decimal, side: str, listing: Listing) -> Decimal:
        """Return what `funds` buy at the market. The real exchange also sells for an amount of money; this one does
        not."""
        if side != "buy" or not 0 < funds <= LARGEST:
            raise RequestRejectedError("invalid_request", "funds")
        return listing.amount(lots_within(listing, self._exchange.books[listing.market.symbol], funds))

    def _rejected_row(self, wanted: OrderRequest, listing: Listing) -> dict[str, object]:
        """Return the row of an order that may only make, and would have taken; it is not kept."""
        now = self._exchange.clock.now()
        order = SimulatedOrder(
            "00000000-0000-0000-0000-000000000000",
            0,
            wanted.client_order_id,
            wanted.symbol,
            wanted.side,
            wanted.amount,
            wanted.price,
            immediate=False,
            placed_at=now,
        )
        row = pending_row(order, listing.market_id)
        return {**row, "post_only": True, "status": "rejected", "reject_reason": "post only"}

    async def _cancel(self, request: web.Request) -> web.Response:
        order = self._exchange.cancel(self._found(request.match_info["id"]).order_id)
        return json_reply(order.order_id)

    async def _cancel_all(self, request: web.Request) -> web.Response:
        fields = {**request.query, **json_fields(await request.text())}
        product = fields.get("product_id")
        cancelled = [
            self._exchange.cancel(order.order_id).order_id
            for order in self._exchange.customer.open_orders()
            # ccxt names the market by its own symbol here
            if product in (None, order.symbol, self._market_id(order.symbol))
        ]
        return json_reply(cancelled)

    def _found(self, name: str) -> SimulatedOrder:
        if not name.startswith("client:"):
            return self._exchange.customer.order(name)
        return self._exchange.customer.latest_by_client_id(name.removeprefix("client:"))

    def _row(self, order: SimulatedOrder) -> dict[str, object]:
        return order_row(order, self._exchange.customer.fills_of(order.order_id), self._market_id(order.symbol))

    def _market_id(self, symbol: str) -> str:
        return self._exchange.listings[symbol].market_id


def _check_fields(fields: Fields) -> None:
    for name in fields:
        if name in _NOT_SIMULATED:
            raise RequestRejectedError("invalid_request", f"{name} is not simulated, so it")
        if name not in _FIELDS:
            raise RequestRejectedError("invalid_request", name)
    if not isinstance(fields.get("post_only", False), bool):
        raise RequestRejectedError("invalid_request", "post_only")
    if str(fields.get("stp", DEFAULT_STP)) not in SELF_TRADES:
        raise RequestRejectedError("invalid_request", "stp")


def _trigger(fields: Fields, side: Side) -> Trigger | None:
    """Return the trigger: `loss` waits for the price to fall, `entry` for it to rise; without a word, a stop follows
    from the side."""
    if "stop_price" not in fields:
        if "stop" in fields:
            raise RequestRejectedError("invalid_request", "stop_price")
        return None
    kind = fields.get("stop", "entry" if side == "buy" else "loss")
    if kind not in ("entry", "loss"):
        raise RequestRejectedError("invalid_request", "stop")
    return Trigger(decimal_field(fields, "stop_price", "price_invalid"), rises=kind == "entry")


def _client_id(value: object) -> str | None:
    """Return the id; None also for a UUID that is not of version 4 in small letters with hyphens: the exchange accepts
    the order, but does not process the id, and no later request shows it
    (https://docs.cdp.coinbase.com/api-reference/exchange-api/rest-api/orders/create-new-order)."""
    if value is None:
        return None
    try:
        uuid = UUID(str(value))
    except ValueError as error:
        raise RequestRejectedError("client_id_invalid") from error
    return str(uuid) if uuid.version == _UUID_VERSION and str(uuid) == value else None
