"""Coinbase's private endpoints that place and cancel orders, and list orders and fills."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from market.instruments.orders import Side
from simulators.coinbase.endpoints import (
    PREFIX,
    CoinbaseEndpoint,
    Fields,
    Row,
    is_between,
    moment_field,
    page_of,
    texts_field,
)
from simulators.coinbase.rejections import OrderRefusedError, refused_order
from simulators.coinbase.rows import configuration_of, fill_row, order_row, status_of
from simulators.matching.listings import Listing
from simulators.matching.order_admission import LARGEST, lots_within, number_off_step
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedFill, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import decimal_field, known, listing_named, side_field, text_field

_KINDS: Mapping[str, frozenset[str]] = {
    "market_market_ioc": known("base_size", "quote_size"),
    "sor_limit_ioc": known("base_size", "limit_price"),
    "limit_limit_fok": known("base_size", "limit_price"),
    "limit_limit_gtc": known("base_size", "limit_price", "post_only"),
}
"""Kinds of orders, and what each may say."""
_PRODUCTS = ("product_ids", "product_id")
"""The second is the older name, which clients still use."""
_ORDERS_A_PAGE, _FILLS_A_PAGE, _MOST = 100, 100, 1_000


class CoinbaseOrders:
    def __init__(self, exchange: SimulatedExchange) -> None:
        self._exchange = exchange
        self._listings = exchange.listings_by_id

    def endpoints(self) -> list[CoinbaseEndpoint]:
        of_order = known("client_order_id", "product_id", "side", "order_configuration")
        of_lists = known(*_PRODUCTS, "order_ids", "order_id", "limit", "cursor")
        of_orders = of_lists | known("order_status", "order_side", "product_type", "start_date", "end_date")
        of_fills = of_lists | known("trade_ids", "start_sequence_timestamp", "end_sequence_timestamp")
        lists = f"{PREFIX}/orders/historical"
        return [
            CoinbaseEndpoint("POST", f"{PREFIX}/orders", self._place, of_order),
            CoinbaseEndpoint("POST", f"{PREFIX}/orders/batch_cancel", self._cancel, known("order_ids")),
            CoinbaseEndpoint("GET", f"{lists}/batch", self._orders, of_orders),
            CoinbaseEndpoint("GET", f"{lists}/fills", self._fills, of_fills),
            CoinbaseEndpoint("GET", f"{lists}/{{order_id}}", self._order),
        ]

    def _place(self, fields: Fields) -> Row:
        """Answer about the first order of an id that was used: it makes no second one."""
        client_id = text_field(fields, "client_order_id")
        used = self._exchange.customer.orders_by_client_id(client_id)
        if used:
            return self._placed(used[-1])
        try:
            listing = listing_named(self._listings, text_field(fields, "product_id"))
            return self._placed(self._exchange.place(self._request(fields, listing, client_id)))
        except RequestRejectedError as error:
            return refused_order(error, fields.get("order_configuration"))

    def _placed(self, order: SimulatedOrder) -> Row:
        product = self._exchange.listings[order.symbol].market_id
        named = {"order_id": order.order_id, "product_id": product, "side": order.side.upper()}
        return {
            "success": True,
            "failure_reason": "UNKNOWN_FAILURE_REASON",
            "order_id": order.order_id,
            "success_response": {**named, "client_order_id": order.client_order_id or ""},
            "order_configuration": configuration_of(order),
        }

    def _request(self, fields: Fields, listing: Listing, client_id: str) -> OrderRequest:
        """Return the order. Raises RequestRejectedError if it breaks the rules."""
        kind, terms = _kind_of(fields)
        side, is_market = side_field(fields, "side"), kind == "market_market_ioc"
        request = OrderRequest(
            symbol=listing.market.symbol,
            side=side,
            amount=self._amount(terms, listing, side),
            price=None if is_market else decimal_field(terms, "limit_price", "price_invalid"),
            immediate=is_market or kind == "sor_limit_ioc",
            client_order_id=client_id,
            whole=kind == "limit_limit_fok",
        )
        if (found := number_off_step(request, listing.market)) is not None:
            word = "SIZE" if found[0] == "amount" else "PRICE"
            raise OrderRefusedError(f"INVALID_{word}_PRECISION", f"PREVIEW_INVALID_{word}_PRECISION")
        if terms.get("post_only") is True and self._exchange.would_take(request):
            raise OrderRefusedError("INVALID_LIMIT_PRICE_POST_ONLY", "PREVIEW_INVALID_LIMIT_PRICE_POST_ONLY")
        return request

    def _amount(self, terms: Fields, listing: Listing, side: Side) -> Decimal:
        """Return the size; of a buy at the market it may be what the order costs, the fee included."""
        if "quote_size" not in terms:
            return decimal_field(terms, "base_size", "amount_invalid")
        funds = decimal_field(terms, "quote_size", "amount_invalid")
        if side != "buy" or "base_size" in terms or not 0 < funds <= LARGEST:
            raise RequestRejectedError("invalid_request", "quote_size")
        return listing.amount(lots_within(listing, self._exchange.books[listing.market.symbol], funds))

    def _cancel(self, fields: Fields) -> Row:
        names = fields.get("order_ids")
        if not isinstance(names, list) or not names:
            raise RequestRejectedError("invalid_request", "order_ids")
        return {"results": [self._cancelled(str(name)) for name in names]}

    def _cancelled(self, order_id: str) -> Row:
        try:
            self._exchange.cancel(order_id)
        except RequestRejectedError as error:
            if error.reason not in ("unknown_order", "order_ended"):
                raise
            return {"success": False, "failure_reason": "UNKNOWN_CANCEL_ORDER", "order_id": order_id}
        return {"success": True, "failure_reason": "UNKNOWN_CANCEL_FAILURE_REASON", "order_id": order_id}

    def _order(self, fields: Fields) -> Row:
        return {"order": self._row(self._exchange.customer.order(text_field(fields, "order_id")))}

    def _orders(self, fields: Fields) -> Row:
        since, until = moment_field(fields, "start_date"), moment_field(fields, "end_date")
        products, ids = texts_field(fields, *_PRODUCTS), texts_field(fields, "order_ids", "order_id")
        statuses, sides = texts_field(fields, "order_status"), texts_field(fields, "order_side")
        is_listed = str(fields.get("product_type", "SPOT")) in ("SPOT", "UNKNOWN_PRODUCT_TYPE")
        found = (
            order
            for order in (self._newest(statuses, since) if is_listed else ())
            if (not products or self._listing(order.symbol).market_id in products)
            and (not ids or order.order_id in ids)
            and (not statuses or status_of(order) in statuses)
            and (not sides or order.side.upper() in sides)
            and is_between(order.placed_at, since, until)
        )
        page, cursor = page_of(found, fields, lambda order: order.number, _ORDERS_A_PAGE, _MOST)
        return {
            "orders": [self._row(order) for order in page],
            "sequence": "0",
            "has_next": bool(cursor),
            "cursor": cursor,
        }

    def _newest(self, statuses: tuple[str, ...], since: int | None) -> Iterable[SimulatedOrder]:
        if statuses == ("OPEN",):
            return reversed(self._exchange.customer.open_orders())
        # what was placed since then cannot have ended before
        return self._exchange.customer.newest_orders(ended_after=(since or 0) - 1)

    def _fills(self, fields: Fields) -> Row:
        since, until = (moment_field(fields, f"{name}_sequence_timestamp") for name in ("start", "end"))
        products, ids = texts_field(fields, *_PRODUCTS), texts_field(fields, "order_ids", "order_id")
        trades = texts_field(fields, "trade_ids")
        found = (
            fill
            for fill in self._newest_fills(ids, since)
            if (not products or self._listing(fill.symbol).market_id in products)
            and (not trades or fill.fill_id in trades)
            and is_between(fill.filled_at, since, until)
        )
        page, cursor = page_of(found, fields, lambda fill: fill.number, _FILLS_A_PAGE, _MOST)
        return {"fills": [fill_row(fill, self._listing(fill.symbol)) for fill in page], "cursor": cursor}

    def _newest_fills(self, order_ids: tuple[str, ...], since: int | None) -> Iterable[SimulatedFill]:
        customer = self._exchange.customer
        if not order_ids:
            return customer.newest_fills(since or 0)
        of_orders = [fill for order_id in dict.fromkeys(order_ids) for fill in customer.fills_of(order_id)]
        return sorted(of_orders, key=lambda fill: fill.number, reverse=True)

    def _listing(self, symbol: str) -> Listing:
        return self._exchange.listings[symbol]

    def _row(self, order: SimulatedOrder) -> Row:
        return order_row(order, self._exchange.customer.fills_of(order.order_id), self._listing(order.symbol))


def _kind_of(fields: Fields) -> tuple[str, Mapping[str, Any]]:
    """Return the order's kind and its terms. Raises RequestRejectedError."""
    kinds = fields.get("order_configuration")
    if not isinstance(kinds, dict) or len(kinds) != 1:
        raise RequestRejectedError("invalid_request", "order_configuration")
    [(kind, terms)] = kinds.items()
    if kind not in _KINDS:
        raise OrderRefusedError("UNSUPPORTED_ORDER_CONFIGURATION", "PREVIEW_INVALID_ORDER_CONFIG")
    if (
        not isinstance(terms, dict)
        or terms.keys() - _KINDS[kind]
        or not isinstance(terms.get("post_only", False), bool)
    ):
        raise RequestRejectedError("invalid_request", "order_configuration")
    return kind, terms
