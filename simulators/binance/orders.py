"""Binance's signed endpoints for orders and fills."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice, takewhile
from typing import TypeVar
from uuid import uuid4

from market.instruments.orders import Side, opposite
from market.money import decimal_of
from simulators.binance.endpoints import (
    Endpoint,
    Fields,
    integer_field,
    limit_field,
    symbol_field,
    time_field,
    until_field,
)
from simulators.binance.rejections import MisusedError, ReplacementError, error_fields
from simulators.binance.rows import (
    DEFAULT_SELF_TRADE,
    LARGEST_AMOUNT,
    LARGEST_NOTIONAL,
    LARGEST_PRICE,
    MOST_ORDERS,
    MOST_STOPS,
    NEAR,
    ORDER_TYPES,
    SELF_TRADES,
    cancelled_row,
    fill_row,
    is_rising,
    order_row,
    placed_row,
    prevented_row,
)
from simulators.matching.listings import Listing
from simulators.matching.order_admission import lots_within
from simulators.matching.order_records import (
    OrderRequest,
    RequestRejectedError,
    SelfTrade,
    SimulatedFill,
    SimulatedOrder,
    Trigger,
)
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import decimal_field, text_field

_CLIENT_ID = re.compile(r"[.A-Z:/a-z0-9_-]{1,36}")
_PLACED = frozenset(
    (
        "symbol",
        "side",
        "type",
        "timeInForce",
        "quantity",
        "quoteOrderQty",
        "price",
        "stopPrice",
        "newClientOrderId",
        "newOrderRespType",
        "selfTradePreventionMode",
    )
)
_CANCELLED = {
    "cancelOrderId": "orderId",
    "cancelOrigClientOrderId": "origClientOrderId",
    "cancelNewClientOrderId": "newClientOrderId",
}
_REPLACED = frozenset(("cancelReplaceMode", *_CANCELLED))
_REPLACE_MODES = ("STOP_ON_FAILURE", "ALLOW_FAILURE")
_NAMED = frozenset(("symbol", "orderId", "origClientOrderId"))
_LISTED = frozenset(("symbol", "orderId", "startTime", "endTime", "limit"))
_PREVENTED = frozenset(("symbol", "preventedMatchId", "orderId", "fromPreventedMatchId", "limit"))
_WAITING = ("STOP_LOSS", "TAKE_PROFIT")
_AT_THE_MARKET = ("MARKET", *_WAITING)
_LIFETIMES = ("GTC", "IOC", "FOK")
_ANSWERS = ("ACK", "RESULT", "FULL")

Item = TypeVar("Item")


class BinanceOrders:
    """`average_price` of five minutes, which bounds the prices of orders."""

    def __init__(self, exchange: SimulatedExchange, average_price: Callable[[Listing], Decimal]) -> None:
        self._exchange = exchange
        self._listings = exchange.listings_by_id
        self._average_price = average_price
        self.cancel_ids: dict[str, str] = {}
        """Order → the client id of its cancellation."""

    def endpoints(self) -> list[Endpoint]:
        return [
            Endpoint("POST", "/api/v3/order", 1, self._place, _PLACED, is_order=True),
            Endpoint("POST", "/api/v3/order/test", 1, self._test, _PLACED),
            Endpoint("POST", "/api/v3/order/cancelReplace", 1, self._replace, _PLACED | _REPLACED, is_order=True),
            Endpoint("GET", "/api/v3/order", 4, self._order, _NAMED),
            Endpoint("DELETE", "/api/v3/order", 1, self._cancel, _NAMED | {"newClientOrderId"}),
            Endpoint("GET", "/api/v3/openOrders", 80, self._open, frozenset(("symbol",)), weigh_fields=_open_weight),
            Endpoint("DELETE", "/api/v3/openOrders", 1, self._cancel_all, frozenset(("symbol",))),
            Endpoint("GET", "/api/v3/allOrders", 20, self._all, _LISTED),
            Endpoint("GET", "/api/v3/myTrades", 20, self._fills, _LISTED | {"fromId"}, weigh_fields=_fills_weight),
            Endpoint(
                "GET", "/api/v3/myPreventedMatches", 20, self._prevented, _PREVENTED, weigh_fields=_prevented_weight
            ),
        ]

    def _place(self, fields: Fields) -> object:
        listing, answer = self._listing_and_answer(fields)
        order = self._exchange.place(self._checked(fields, listing))
        prevented = [row for row in self._exchange.customer.prevented if row.taker_id == order.order_id]
        return placed_row(order, self._fills_of(order), prevented, listing.market_id, answer)

    def _test(self, fields: Fields) -> object:
        """Test the order by the rules without the funds, as the real exchange checks them."""
        listing, _ = self._listing_and_answer(fields)
        self._checked(fields, listing)
        return {}

    def _listing_and_answer(self, fields: Fields) -> tuple[Listing, str]:
        answer = fields.get("newOrderRespType", "FULL")
        if answer not in _ANSWERS:
            raise MisusedError(-1106, "Parameter 'newOrderRespType' sent when not required.")
        return symbol_field(fields, self._listings), answer

    def _checked(self, fields: Fields, listing: Listing) -> OrderRequest:
        """Return the order. Raises RequestRejectedError if it breaks the rules."""
        request = self._request(fields, listing)
        self._check_filters(listing, request)
        if fields["type"] == "LIMIT_MAKER" and self._exchange.would_take(request):
            raise MisusedError(-2010, "Order would immediately match and take.")
        if request.trigger is not None and self._exchange.is_reached(request.symbol, request.trigger):
            raise MisusedError(-2010, "Stop price would trigger immediately.")
        return request

    def _replace(self, fields: Fields) -> object:
        """Cancel an order, then place another; both answers stand in one, also if one of them is a rejection."""
        mode = text_field(fields, "cancelReplaceMode")
        if mode not in _REPLACE_MODES:
            raise MisusedError(-1130, "Data sent for parameter 'cancelReplaceMode' is not valid.")
        named = {"symbol": fields.get("symbol", "")}
        named |= {_CANCELLED[name]: fields[name] for name in _CANCELLED if name in fields}
        cancelled = _attempted(lambda: self._cancel(named))
        is_stopped = cancelled.is_rejected and mode == "STOP_ON_FAILURE"
        placed = None if is_stopped else _attempted(lambda: self._place(fields))
        results = {
            "cancelResult": cancelled.result,
            "newOrderResult": "NOT_ATTEMPTED" if placed is None else placed.result,
            "cancelResponse": cancelled.answer,
            "newOrderResponse": None if placed is None else placed.answer,
        }
        is_partial = placed is not None and placed.is_rejected != cancelled.is_rejected
        if placed is None or is_partial or placed.is_rejected:
            raise ReplacementError(results, is_partial=is_partial)
        return results

    def _request(self, fields: Fields, listing: Listing) -> OrderRequest:
        side, kind = _side(fields), text_field(fields, "type")
        if kind not in ORDER_TYPES:
            raise MisusedError(-1116, "Invalid orderType.")
        has_limit, trigger = kind not in _AT_THE_MARKET, self._trigger(fields, kind, side)
        lifetime = "GTC"
        if has_limit and kind != "LIMIT_MAKER":
            lifetime = text_field(fields, "timeInForce")
        elif "timeInForce" in fields:
            raise MisusedError(-1106, "Parameter 'timeInForce' sent when not required.")
        if lifetime not in _LIFETIMES:
            raise MisusedError(-1115, "Invalid timeInForce.")
        if not has_limit and "price" in fields:
            raise MisusedError(-1106, "Parameter 'price' sent when not required.")
        return OrderRequest(
            symbol=listing.market.symbol,
            side=side,
            amount=self._amount(fields, listing, kind, side),
            price=_number(fields, "price") if has_limit else None,
            immediate=lifetime == "IOC",
            client_order_id=_client_id(fields),
            whole=lifetime == "FOK",
            trigger=trigger,
            self_trade=_self_trade(fields),
        )

    def _trigger(self, fields: Fields, kind: str, side: Side) -> Trigger | None:
        if not kind.startswith(_WAITING):
            if "stopPrice" in fields:
                raise MisusedError(-1106, "Parameter 'stopPrice' sent when not required.")
            return None
        return Trigger(_number(fields, "stopPrice"), is_rising(kind, side))

    def _amount(self, fields: Fields, listing: Listing, kind: str, side: Side) -> Decimal:
        """Return `quantity`, or what `quoteOrderQty` buys or brings at the market."""
        if "quoteOrderQty" not in fields:
            return _number(fields, "quantity")
        if kind != "MARKET" or "quantity" in fields:
            raise MisusedError(-1106, "Parameter 'quoteOrderQty' sent when not required.")
        funds = _number(fields, "quoteOrderQty")
        if funds < listing.market.minimum_notional:
            raise RequestRejectedError("amount_too_small", "NOTIONAL")
        return listing.amount(lots_within(listing, self._exchange.books[listing.market.symbol], funds, side))

    def _check_filters(self, listing: Listing, request: OrderRequest) -> None:
        """Check the filters in the order in which exchangeInfo lists them. Raises RequestRejectedError."""
        market, price = listing.market, request.price
        stop = None if request.trigger is None else request.trigger.price
        for stated in (stated for stated in (price, stop) if stated is not None):
            if not 0 < stated <= LARGEST_PRICE or stated % market.tick_size:
                raise RequestRejectedError("amount_too_small", "PRICE_FILTER")
        if not market.minimum_amount <= request.amount <= LARGEST_AMOUNT or request.amount % market.lot_step:
            raise RequestRejectedError("amount_too_small", "LOT_SIZE")
        if price is not None and not self._is_near(listing, request.side, price):
            raise RequestRejectedError("amount_too_small", "PERCENT_PRICE_BY_SIDE")
        best = self._exchange.books[market.symbol].best(opposite(request.side))
        worth = request.amount * (price or stop or listing.price(best or 0))
        if worth < market.minimum_notional or (price is not None and worth > LARGEST_NOTIONAL):
            raise RequestRejectedError("amount_too_small", "NOTIONAL")
        self._check_count(listing, is_waiting=stop is not None)

    def _is_near(self, listing: Listing, side: Side, price: Decimal) -> bool:
        average, (lowest, highest) = self._average_price(listing), NEAR[side]
        return decimal_of(lowest) * average <= price <= decimal_of(highest) * average

    def _check_count(self, listing: Listing, *, is_waiting: bool) -> None:
        """Raise RequestRejectedError if one more order would be too many."""
        orders = self._open_on(listing)
        if len(orders) >= MOST_ORDERS:
            raise RequestRejectedError("amount_too_small", "MAX_NUM_ORDERS")
        if is_waiting and sum(order.trigger is not None for order in orders) >= MOST_STOPS:
            raise RequestRejectedError("amount_too_small", "MAX_NUM_ALGO_ORDERS")

    def _order(self, fields: Fields) -> object:
        return self._row(self._found(fields))

    def _cancel(self, fields: Fields) -> object:
        try:
            found = self._found(fields)
        except RequestRejectedError as error:
            if error.reason != "unknown_order":
                raise
            raise RequestRejectedError("order_ended") from error
        return self._cancelled(found, _client_id(fields))

    def _cancel_all(self, fields: Fields) -> object:
        orders = self._open_on(symbol_field(fields, self._listings))
        if not orders:
            raise RequestRejectedError("order_ended")
        return [self._cancelled(order, _client_id({})) for order in orders]

    def _cancelled(self, found: SimulatedOrder, cancel_id: str) -> object:
        self.cancel_ids[found.order_id] = cancel_id
        order = self._exchange.cancel(found.order_id)
        return cancelled_row(order, self._fills_of(order), self._market_id(order.symbol), cancel_id)

    def _open(self, fields: Fields) -> object:
        if "symbol" in fields:
            return [self._row(order) for order in self._open_on(symbol_field(fields, self._listings))]
        return [self._row(order) for order in self._exchange.customer.open_orders()]

    def _open_on(self, listing: Listing) -> list[SimulatedOrder]:
        orders = self._exchange.customer.open_orders()
        return [order for order in orders if order.symbol == listing.market.symbol]

    def _all(self, fields: Fields) -> object:
        """Return orders, oldest first: from `orderId` or a time on, else the newest."""
        symbol = symbol_field(fields, self._listings).market.symbol
        # what was placed since then cannot have ended before
        ended_after = time_field(fields, "startTime", 0) - 1
        newest = self._exchange.customer.newest_orders(symbol, ended_after)
        orders = _page(newest, fields, "orderId", lambda order: (order.number, order.placed_at))
        return [self._row(order) for order in orders]

    def _fills(self, fields: Fields) -> object:
        symbol, order_id = symbol_field(fields, self._listings).market.symbol, fields.get("orderId")
        customer = self._exchange.customer
        newest: Iterable[SimulatedFill] = customer.newest_fills(time_field(fields, "startTime", 0), symbol)
        if order_id is not None:
            newest = reversed(customer.fills_of(order_id))
        own = (fill for fill in newest if fill.symbol == symbol)
        fills = _page(own, fields, "fromId", lambda fill: (fill.number, fill.filled_at))
        return [fill_row(fill, self._market_id(fill.symbol)) for fill in fills]

    def _prevented(self, fields: Fields) -> object:
        """Return prevented matches, by the number of one, or by the order."""
        listing = symbol_field(fields, self._listings)
        if not {"preventedMatchId", "orderId"} & fields.keys():
            raise MisusedError(-1128, "Combination of optional parameters invalid.")
        number, order_id = integer_field(fields, "preventedMatchId", 0), fields.get("orderId")
        rows = [
            row
            for row in self._exchange.customer.prevented
            if row.symbol == listing.market.symbol
            and number in (0, row.number)
            and order_id in (None, row.taker_id, row.maker_id)
        ]
        first, limit = integer_field(fields, "fromPreventedMatchId", 0), limit_field(fields, 500)
        return [prevented_row(row, listing.market_id) for row in rows if row.number >= first][:limit]

    def _found(self, fields: Fields) -> SimulatedOrder:
        """Return the order named by `orderId`, else by `origClientOrderId`. Raises RequestRejectedError."""
        listing, customer = symbol_field(fields, self._listings), self._exchange.customer
        if "orderId" in fields:
            order = customer.order(str(integer_field(fields, "orderId", 0)))
        elif "origClientOrderId" in fields:
            order = customer.latest_by_client_id(fields["origClientOrderId"])
        else:
            raise MisusedError(-1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!")
        if order.symbol != listing.market.symbol:
            raise RequestRejectedError("unknown_order")
        return order

    def _row(self, order: SimulatedOrder) -> object:
        return order_row(order, self._fills_of(order), self._market_id(order.symbol))

    def _fills_of(self, order: SimulatedOrder) -> list[SimulatedFill]:
        return list(self._exchange.customer.fills_of(order.order_id))

    def _market_id(self, symbol: str) -> str:
        return self._exchange.listings[symbol].market_id


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One half of a replacement: its answer, or its rejection as an answer."""

    answer: object
    is_rejected: bool

    @property
    def result(self) -> str:
        return "FAILURE" if self.is_rejected else "SUCCESS"


def _attempted(act: Callable[[], object]) -> _Attempt:
    try:
        return _Attempt(act(), is_rejected=False)
    except RequestRejectedError as error:
        _, code, text = error_fields(error)
        return _Attempt({"code": code, "msg": text}, is_rejected=True)


def _page(newest: Iterable[Item], fields: Fields, first: str, key: Callable[[Item], tuple[int, int]]) -> list[Item]:
    """Return the items oldest first; `key`: number and time of an item."""
    number, since = integer_field(fields, first, 0), time_field(fields, "startTime", 0)
    until, limit = until_field(fields, "endTime", 0), limit_field(fields, 500)
    numbered = takewhile(lambda item: key(item)[0] >= number, newest)
    fitting = (item for item in numbered if key(item)[1] >= since and (not until or key(item)[1] <= until))
    if number or since:
        return list(fitting)[::-1][:limit]
    return list(islice(fitting, limit))[::-1]


def _side(fields: Fields) -> Side:
    side = text_field(fields, "side")
    if side == "BUY":
        return "buy"
    if side == "SELL":
        return "sell"
    raise MisusedError(-1117, "Invalid side.")


def _self_trade(fields: Fields) -> SelfTrade:
    """Return the mode of self-trade prevention. Raises RequestRejectedError."""
    mode = fields.get("selfTradePreventionMode", DEFAULT_SELF_TRADE)
    if mode not in SELF_TRADES:
        raise MisusedError(-1013, "This symbol does not allow the specified self-trade prevention mode.")
    return SELF_TRADES[mode]


def _open_weight(fields: Fields) -> int:
    return 6 if "symbol" in fields else 80


def _fills_weight(fields: Fields) -> int:
    return 5 if "orderId" in fields else 20


def _prevented_weight(fields: Fields) -> int:
    return 20 if "orderId" in fields else 2


def _number(fields: Fields, name: str) -> Decimal:
    """Return the number. Raises RequestRejectedError if it is missing, invalid, or has more than eight digits after its
    point."""
    text = text_field(fields, name)
    if not re.fullmatch(r"[0-9]{1,20}(\.[0-9]{1,20})?", text):
        legal = "'^([0-9]{1,20})(\\.[0-9]{1,20})?$'"
        raise MisusedError(-1100, f"Illegal characters found in parameter '{name}'; legal range is {legal}.")
    if len(text.partition(".")[2].rstrip("0")) > 8:
        raise RequestRejectedError("too_precise", name)
    return decimal_field(fields, name, "amount_invalid")


def _client_id(fields: Fields) -> str:
    """Return the one sent, else one that the exchange makes."""
    name = fields.get("newClientOrderId")
    if name is None:
        return uuid4().hex[:22]
    if not _CLIENT_ID.fullmatch(name):
        raise RequestRejectedError("client_id_invalid", "newClientOrderId")
    return name
