"""Bybit's private endpoints for orders and fills of spot."""

import re
from collections.abc import Collection, Iterator
from decimal import Decimal
from itertools import islice

from market.instruments.orders import Side
from market.money import total
from simulators.bybit.endpoints import (
    BybitEndpoint,
    check_spot,
    fields_named,
    integer_field,
    listing_field,
    number_field,
    page_of,
)
from simulators.bybit.rows import LARGEST_AT_MARKET, LARGEST_LIMIT, fill_row, largest_amount, order_row
from simulators.matching.funded_account import first_fills
from simulators.matching.listings import Listing
from simulators.matching.order_admission import lots_within
from simulators.matching.order_records import (
    CodedError,
    OrderRequest,
    RequestRejectedError,
    SimulatedFill,
    SimulatedOrder,
)
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import text_field
from simulators.web.request_fields import Fields, Row, optional_field

_LINK_ID = re.compile(r"[A-Za-z0-9_-]{1,36}", re.ASCII)
_PLACED = fields_named(
    *("symbol", "side", "orderType", "qty", "price", "timeInForce", "orderLinkId", "marketUnit", "isLeverage"),
    "orderFilter",
)
_NAMED = fields_named("symbol", "orderId", "orderLinkId", "orderFilter")
_LISTED = _NAMED | {"baseCoin", "limit", "cursor"}
_DATED = _LISTED | {"startTime", "endTime"}
_LIFETIMES = ("GTC", "IOC", "FOK", "PostOnly")
_SIDES: dict[str, Side] = {"Buy": "buy", "Sell": "sell"}
_MOST_OPEN = 500
_SHOWN_ENDED = 500
"""Ended orders that order/realtime shows."""
_WEEK = 7 * 86_400_000


class BybitOrders:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._listings = exchange.listings_by_id

    def endpoints(self) -> list[BybitEndpoint]:
        return [
            BybitEndpoint("POST", "/v5/order/create", self._place, _PLACED),
            BybitEndpoint("POST", "/v5/order/amend", self._amend, _NAMED - {"orderFilter"} | {"qty", "price"}),
            BybitEndpoint("POST", "/v5/order/cancel", self._cancel, _NAMED),
            BybitEndpoint(
                "POST", "/v5/order/cancel-all", self._cancel_all, fields_named("symbol", "baseCoin", "orderFilter")
            ),
            BybitEndpoint("GET", "/v5/order/realtime", self._realtime, _LISTED | {"openOnly"}),
            BybitEndpoint("GET", "/v5/order/history", self._history, _DATED | {"orderStatus"}),
            BybitEndpoint("GET", "/v5/execution/list", self._fills, _DATED - {"orderFilter"} | {"execType"}),
        ]

    def streamed_order(self, order: SimulatedOrder) -> Row:
        """Return the order with the fills that this state of it counts: all are booked before any is reported."""
        fills = first_fills(self._exchange.customer.fills_of(order.order_id), order.filled)
        return order_row(order, fills, self._exchange.listings[order.symbol].market_id)

    def streamed_fill(self, fill: SimulatedFill) -> Row:
        order = self._exchange.customer.order(fill.order_id)
        before = [one.amount for one in self._exchange.customer.fills_of(order.order_id) if one.number <= fill.number]
        return fill_row(fill, order, order.amount - total(before), self._exchange.listings[fill.symbol])

    def _place(self, fields: Fields) -> object:
        _check_orders(fields)
        listing = listing_field(fields, self._listings)
        request = self._request(fields, listing)
        if len(self._exchange.customer.open_orders()) >= _MOST_OPEN:
            raise CodedError(170810, "Cannot exceed maximum of 500 open orders.")
        order = self._exchange.place(request)
        return _ids(order)

    def _request(self, fields: Fields, listing: Listing) -> OrderRequest:
        """Return the order. Raises RequestRejectedError if it breaks the rules."""
        side, kind = text_field(fields, "side"), text_field(fields, "orderType")
        if side not in _SIDES:
            raise CodedError(170117, "Invalid side.")
        if kind not in ("Limit", "Market"):
            raise CodedError(170116, "Invalid orderType.")
        lifetime = optional_field(fields, "timeInForce") or "GTC"
        if lifetime not in _LIFETIMES:
            raise CodedError(170115, "Invalid timeInForce.")
        if str(fields.get("isLeverage", "0")) != "0":
            raise RequestRejectedError("invalid_request", "isLeverage is not simulated")
        price = number_field(fields, "price") if kind == "Limit" else None
        request = OrderRequest(
            symbol=listing.market.symbol,
            side=_SIDES[side],
            amount=self._amount(fields, listing, kind, _SIDES[side]),
            price=price,
            immediate=lifetime == "IOC",
            client_order_id=_link_id(fields),
            whole=lifetime == "FOK",
        )
        _check_size(listing, request.amount, price)
        if lifetime == "PostOnly" and self._exchange.would_take(request):
            # the real exchange accepts it and cancels it at once: EC_PostOnlyWillTakeLiquidity
            raise CodedError(170218, "The LIMIT-MAKER order is rejected due to invalid price.")
        return request

    def _amount(self, fields: Fields, listing: Listing, kind: str, side: Side) -> Decimal:
        """Return `qty`; of an order at the market it may be what the order costs or brings: a buy's is by default."""
        amount = number_field(fields, "qty")
        unit = optional_field(fields, "marketUnit") or ("quoteCoin" if side == "buy" else "baseCoin")
        if unit not in ("baseCoin", "quoteCoin"):
            raise CodedError(170130, "Data sent for parameter 'marketUnit' is not valid.")
        if kind == "Limit" or unit == "baseCoin":
            return amount
        if amount < listing.market.minimum_notional:
            raise CodedError(170140, "Order value exceeded lower limit.")
        return listing.amount(lots_within(listing, self._exchange.books[listing.market.symbol], amount, side))

    def _amend(self, fields: Fields) -> object:
        """Change a resting order's amount, its price, or both."""
        order, listing = self._named(fields)
        amount = number_field(fields, "qty") if "qty" in fields else None
        price = number_field(fields, "price") if "price" in fields else None
        _check_size(listing, amount or order.amount, price or order.price)
        changed = self._exchange.amend(order.order_id, amount, price)
        return _ids(changed)

    def _cancel(self, fields: Fields) -> object:
        order, _ = self._named(fields)
        self._exchange.cancel(order.order_id)
        return _ids(order)

    def _cancel_all(self, fields: Fields) -> object:
        _check_orders(fields)
        rows = [self._exchange.cancel(order.order_id) for order in self._open(fields)]
        return {"list": [_ids(row) for row in rows], "success": "1"}

    def _realtime(self, fields: Fields) -> object:
        """Return open orders, newest first; with `openOnly` 1, or by id, those of the last ended ones, too."""
        _check_orders(fields)
        open_only, is_named = optional_field(fields, "openOnly") or "0", _named_by(fields) is not None
        if open_only not in ("0", "1"):
            raise RequestRejectedError("invalid_request", "openOnly is invalid")
        if open_only == "1" and not is_named:
            return self._page(self._ended(self._wanted(fields)), fields)
        if is_named:
            return self._page(self._found(fields), fields)
        return self._page(reversed(self._open(fields)), fields)

    def _history(self, fields: Fields) -> object:
        """Return orders of any state, newest first: of the last week, or between two times."""
        _check_orders(fields)
        if _named_by(fields) is not None:
            return self._page(self._found(fields), fields)
        since, until = _span(fields, self._exchange.clock.now() // 1_000)
        status, wanted = optional_field(fields, "orderStatus"), self._wanted(fields)
        orders = (
            one
            for one in self._exchange.customer.newest_orders()
            if one.symbol in wanted and since <= one.placed_at // 1_000 <= until
        )
        rows = (
            orders if status is None else (one for one in orders if self.streamed_order(one)["orderStatus"] == status)
        )
        return self._page(rows, fields)

    def _fills(self, fields: Fields) -> object:
        """Return fills, newest first: of an order, or of a week at most."""
        check_spot(fields)
        customer = self._exchange.customer
        if _named_by(fields) is not None:
            newest: Iterator[SimulatedFill] = (
                fill for order in self._found(fields) for fill in reversed(customer.fills_of(order.order_id))
            )
        else:
            (since, until), wanted = _span(fields, self._exchange.clock.now() // 1_000), self._wanted(fields)
            found = customer.newest_fills(since * 1_000, next(iter(wanted)) if len(wanted) == 1 else None)
            newest = (fill for fill in found if fill.symbol in wanted and fill.filled_at // 1_000 <= until)
        if optional_field(fields, "execType") not in (None, "Trade"):
            # the only ones that there are
            newest = iter(())
        fills, cursor = page_of(newest, fields, lambda fill: fill.number, 50, 100)
        return {"category": "spot", "list": [self.streamed_fill(fill) for fill in fills], "nextPageCursor": cursor}

    def _page(self, newest: Iterator[SimulatedOrder], fields: Fields) -> object:
        orders, cursor = page_of(newest, fields, lambda order: order.number, 20, 50)
        return {"category": "spot", "list": [self.streamed_order(one) for one in orders], "nextPageCursor": cursor}

    def _open(self, fields: Fields) -> list[SimulatedOrder]:
        wanted = self._wanted(fields)
        return [one for one in self._exchange.customer.open_orders() if one.symbol in wanted]

    def _ended(self, wanted: Collection[str]) -> Iterator[SimulatedOrder]:
        ended = (one for one in self._exchange.customer.newest_orders() if one.state != "open")
        return (one for one in islice(ended, _SHOWN_ENDED) if one.symbol in wanted)

    def _found(self, fields: Fields) -> Iterator[SimulatedOrder]:
        """Yield the order of `orderId`, which comes first, or of `orderLinkId`; none if there is none."""
        try:
            yield self._of_id(fields)
        except RequestRejectedError as error:
            if error.reason != "unknown_order":
                raise

    def _of_id(self, fields: Fields) -> SimulatedOrder:
        order_id, link_id = optional_field(fields, "orderId"), optional_field(fields, "orderLinkId")
        customer = self._exchange.customer
        return customer.order(order_id) if order_id is not None else customer.latest_by_client_id(link_id or "")

    def _named(self, fields: Fields) -> tuple[SimulatedOrder, Listing]:
        """Return the order and its market. Raises RequestRejectedError."""
        _check_orders(fields)
        listing = listing_field(fields, self._listings)
        if _named_by(fields) is None:
            raise RequestRejectedError("invalid_request", "orderId or orderLinkId is required")
        order = self._of_id(fields)
        if order.symbol != listing.market.symbol:
            raise RequestRejectedError("unknown_order")
        return order, listing

    def _wanted(self, fields: Fields) -> Collection[str]:
        """Return the symbols that are asked about: of `symbol`, which comes first, of `baseCoin`, or all."""
        if "symbol" in fields:
            return (listing_field(fields, self._listings).market.symbol,)
        base, markets = optional_field(fields, "baseCoin"), [one.market for one in self._listings.values()]
        return frozenset(market.symbol for market in markets if base in (None, market.base))


def _named_by(fields: Fields) -> str | None:
    return optional_field(fields, "orderId") or optional_field(fields, "orderLinkId")


def _check_orders(fields: Fields) -> None:
    """Raise RequestRejectedError unless it is about orders of spot that do not wait."""
    check_spot(fields)
    if optional_field(fields, "orderFilter") not in (None, "Order"):
        raise RequestRejectedError("invalid_request", "orderFilter is not simulated")


def _check_size(listing: Listing, amount: Decimal, price: Decimal | None) -> None:
    """Raise RequestRejectedError if amount or price break the market's rules."""
    market = listing.market
    if price is not None and price % market.tick_size:
        raise CodedError(170134, "Order price has too many decimals.")
    if amount % market.lot_step:
        raise CodedError(170137, "Order quantity has too many decimals.")
    if amount < market.minimum_amount:
        raise CodedError(170136, "Order quantity exceeded lower limit.")
    if amount > largest_amount(listing, LARGEST_AT_MARKET if price is None else LARGEST_LIMIT):
        raise CodedError(170135, "Order quantity exceeded upper limit.")
    if price is not None and amount * price < market.minimum_notional:
        raise CodedError(170140, "Order value exceeded lower limit.")


def _link_id(fields: Fields) -> str | None:
    name = optional_field(fields, "orderLinkId")
    if name is not None and not _LINK_ID.fullmatch(name):
        raise RequestRejectedError("client_id_invalid")
    return name


def _span(fields: Fields, now: int) -> tuple[int, int]:
    """Return the first and the last millisecond that are asked about, a week apart at most. Raises
    RequestRejectedError."""
    since, until = integer_field(fields, "startTime", 0), integer_field(fields, "endTime", 0)
    if not since:
        since = (until or now) - _WEEK
    until = until or since + _WEEK
    if not 0 <= until - since <= _WEEK:
        raise RequestRejectedError(
            "invalid_request", "The time range between startTime and endTime cannot exceed 7 days"
        )
    return max(0, since), until


def _ids(order: SimulatedOrder) -> Row:
    return {"orderId": order.order_id, "orderLinkId": order.client_order_id or ""}
