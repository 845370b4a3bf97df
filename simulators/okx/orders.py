"""OKX's private endpoints that place, change and cancel orders of spot."""

import re
from collections.abc import Callable
from decimal import Decimal

from market.instruments.orders import Side
from simulators.matching.listings import Listing
from simulators.matching.order_admission import lots_within
from simulators.matching.order_records import CodedError, OrderRequest, RequestRejectedError, SelfTrade, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.okx.endpoints import OkxEndpoint, Rows, known, listing_field, needed_field, number_field
from simulators.okx.rejections import row_error
from simulators.okx.rows import LARGEST_AT_MARKET, LARGEST_LIMIT
from simulators.web.request_fields import Fields, Row, milliseconds, optional_field

_CLIENT_ID = re.compile(r"[A-Za-z0-9]{1,32}", re.ASCII)
_TAG = re.compile(r"[A-Za-z0-9]{1,16}", re.ASCII)
_PLACED = known("instId", "tdMode", "side", "ordType", "sz", "px", "clOrdId", "tag", "tgtCcy", "stpMode")
_NAMED = known("instId", "ordId", "clOrdId")
_TYPES = ("market", "limit", "post_only", "fok", "ioc")
_SIDES: dict[str, Side] = {"buy": "buy", "sell": "sell"}
_SELF_TRADES: dict[str, SelfTrade] = {"cancel_maker": "maker", "cancel_taker": "taker", "cancel_both": "both"}
"""`stpMode`; the first is that of accounts that chose none."""
_MOST_OPEN = 500
"""Of an instrument: https://www.okx.com/docs-v5/en/#order-book-trading-trade."""


class OkxOrders:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._listings = exchange.listings_by_id

    def endpoints(self) -> list[OkxEndpoint]:
        place, cancel, amend = (
            self._done("place", self._place),
            self._done("cancel", self._cancel),
            self._done("amend", self._amend),
        )
        paths = "/api/v5/trade/"
        amended = _NAMED | {"newSz", "newPx", "reqId"}
        return [
            OkxEndpoint("POST", f"{paths}order", place, _PLACED, is_of_orders=True),
            OkxEndpoint("POST", f"{paths}batch-orders", place, _PLACED, is_of_orders=True, is_batch=True),
            OkxEndpoint("POST", f"{paths}cancel-order", cancel, _NAMED, is_of_orders=True),
            OkxEndpoint("POST", f"{paths}cancel-batch-orders", cancel, _NAMED, is_of_orders=True, is_batch=True),
            OkxEndpoint("POST", f"{paths}amend-order", amend, amended, is_of_orders=True),
        ]

    def _done(self, doing: str, do: Callable[[Fields], SimulatedOrder]) -> Callable[[Fields], Rows]:
        """Return what answers with one row: of the order, or of why there is none."""

        def answer(fields: Fields) -> Rows:
            row: Row = {"clOrdId": optional_field(fields, "clOrdId") or "", "tag": optional_field(fields, "tag") or ""}
            row |= {"ts": milliseconds(self._exchange.clock.now()), "subCode": ""}
            if "reqId" in fields:
                row["reqId"] = str(fields["reqId"])
            try:
                order = do(fields)
            except RequestRejectedError as error:
                return [{**row, "ordId": optional_field(fields, "ordId") or "", **row_error(error, doing)}]
            named = {"ordId": order.order_id, "clOrdId": order.client_order_id or ""}
            return [{**row, **named, "sCode": "0", "sMsg": "Order placed" if doing == "place" else ""}]

        return answer

    def _place(self, fields: Fields) -> SimulatedOrder:
        listing = listing_field(fields, self._listings)
        request = self._request(fields, listing)
        symbol = listing.market.symbol
        if sum(one.symbol == symbol for one in self._exchange.customer.open_orders()) >= _MOST_OPEN:
            text = f"The number of {listing.market_id} pending orders reached the upper limit of {_MOST_OPEN} (orders)."
            raise CodedError("51174", text)
        return self._exchange.place(request)

    def _request(self, fields: Fields, listing: Listing) -> OrderRequest:
        """Return the order. Raises RequestRejectedError if it breaks the rules."""
        side, kind = needed_field(fields, "side"), needed_field(fields, "ordType")
        wrong = [
            name
            for name, is_right in (
                ("side", side in _SIDES),
                ("ordType", kind in _TYPES),
                ("tdMode", needed_field(fields, "tdMode") == "cash"),
                ("tgtCcy", optional_field(fields, "tgtCcy") in (None, "base_ccy", "quote_ccy")),
                ("stpMode", optional_field(fields, "stpMode") in (None, *_SELF_TRADES)),
                ("clOrdId", _is_of(_CLIENT_ID, optional_field(fields, "clOrdId"))),
                ("tag", _is_of(_TAG, optional_field(fields, "tag"))),
            )
            if not is_right
        ]
        if wrong:
            raise RequestRejectedError("invalid_request", wrong[0])
        price = None if kind == "market" else number_field(fields, "px")
        request = OrderRequest(
            symbol=listing.market.symbol,
            side=_SIDES[side],
            amount=self._amount(fields, listing, kind, _SIDES[side]),
            price=price,
            immediate=kind in ("ioc", "market"),
            client_order_id=optional_field(fields, "clOrdId"),
            whole=kind == "fok",
            self_trade=_self_trade(fields),
        )
        _check_size(listing, request.amount, price)
        if kind == "post_only" and self._exchange.would_take(request):
            # the real exchange accepts it and cancels it at once
            raise CodedError("51511", "Operation failed as the order price doesn't meet the requirement for Post Only.")
        return request

    def _amount(self, fields: Fields, listing: Listing, kind: str, side: Side) -> Decimal:
        """Return `sz`; of an order at the market it may be what the order costs or brings: a buy's is by default."""
        amount = number_field(fields, "sz")
        target = optional_field(fields, "tgtCcy")
        if kind != "market":
            if target == "quote_ccy":
                raise RequestRejectedError("invalid_request", "tgtCcy")
            return amount
        if (target or ("quote_ccy" if side == "buy" else "base_ccy")) == "base_ccy":
            return amount
        if amount > LARGEST_AT_MARKET:
            raise CodedError("51201", f"The maximum amount per market order is {LARGEST_AT_MARKET} USDT.")
        return listing.amount(lots_within(listing, self._exchange.books[listing.market.symbol], amount, side))

    def _amend(self, fields: Fields) -> SimulatedOrder:
        """Change a resting order's whole amount, its price, or both."""
        order, listing = self._named(fields)
        amount = number_field(fields, "newSz") if "newSz" in fields else None
        price = number_field(fields, "newPx") if "newPx" in fields else None
        if amount is None and price is None:
            raise CodedError("51500", "You must enter a price, quantity, or TP/SL.")
        _check_size(listing, amount or order.amount, price or order.price)
        return self._exchange.amend(order.order_id, amount, price)

    def _cancel(self, fields: Fields) -> SimulatedOrder:
        order, _ = self._named(fields)
        return self._exchange.cancel(order.order_id)

    def _named(self, fields: Fields) -> tuple[SimulatedOrder, Listing]:
        """Return the order and its market. Raises RequestRejectedError."""
        listing = listing_field(fields, self._listings)
        return named_order(self._exchange, fields, listing), listing


def named_order(exchange: SimulatedExchange, fields: Fields, listing: Listing) -> SimulatedOrder:
    """Return the order of `ordId`, which comes first, or the newest of `clOrdId`. Raises RequestRejectedError."""
    order_id, client_id = optional_field(fields, "ordId"), optional_field(fields, "clOrdId")
    if order_id is None and client_id is None:
        raise CodedError("51003", "Either client order ID or order ID is required.", 400)
    customer = exchange.customer
    order = customer.order(order_id) if order_id is not None else customer.latest_by_client_id(client_id or "")
    if order.symbol != listing.market.symbol:
        raise RequestRejectedError("unknown_order")
    return order


def _is_of(pattern: re.Pattern[str], text: str | None) -> bool:
    return text is None or pattern.fullmatch(text) is not None


def _self_trade(fields: Fields) -> SelfTrade:
    return _SELF_TRADES[optional_field(fields, "stpMode") or "cancel_maker"]


def _check_size(listing: Listing, amount: Decimal, price: Decimal | None) -> None:
    """Raise RequestRejectedError if amount or price break the market's rules."""
    market = listing.market
    if price is not None and price % market.tick_size:
        raise RequestRejectedError("price_invalid")
    if amount < market.minimum_amount:
        raise RequestRejectedError("amount_too_small")
    if amount % market.lot_step:
        raise RequestRejectedError("too_precise")
    if price is not None and amount * price > LARGEST_LIMIT:
        raise CodedError("51185", f"The maximum value allowed per order is {LARGEST_LIMIT} USD")
