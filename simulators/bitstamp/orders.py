"""Bitstamp's private REST calls, all of them signed forms: balances, fees, orders and the account's ledger."""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import islice
from urllib.parse import parse_qsl

from aiohttp import web

from market.instruments.orders import Side
from market.time_units import MICROSECONDS
from simulators.bitstamp.rejections import check_steps
from simulators.bitstamp.rows import (
    balance_row,
    cancelled_row,
    old_fees,
    open_order_row,
    order_row,
    status_row,
    transaction_row,
)
from simulators.matching.listings import Listing, fixed_text
from simulators.matching.order_admission import LARGEST, lots_within
from simulators.matching.order_records import OrderRequest, RequestRejectedError, SimulatedOrder
from simulators.matching.simulated_exchange import SimulatedExchange
from simulators.web.exchange_gateway import count_field, decimal_field, json_reply, listing_named, text_field

_LIMIT_FIELDS = frozenset(("amount", "price", "ioc_order", "fok_order", "moc_order", "client_order_id"))
_LIFETIMES = ("ioc_order", "fok_order", "moc_order")
_REPLACED_FIELDS = frozenset(("id", "orig_client_order_id", "client_order_id", "amount", "price"))
_WITHDRAWAL_FIELDS = frozenset(("id", "timedelta", "limit", "offset"))
_MARKET_FIELDS = frozenset(("amount", "client_order_id"))
# The real exchange also has these: orders that place another, or that end by themselves.
_NOT_SIMULATED = frozenset(("limit_price", "daily_order", "gtd_order", "expire_time", "amount_in_counter"))
_ORDER_FIELDS = frozenset(("id", "client_order_id"))
_LEDGER_FIELDS = frozenset(("offset", "limit", "sort", "since_timestamp", "until_timestamp"))
# ccxt fills empty forms with it, because the real exchange rejects an empty body.
_FILLER = {"foo": "bar"}
Form = Mapping[str, str]


class BitstampOrders:
    """`token` answers a call for a token of the private channels."""

    def __init__(self, exchange: SimulatedExchange, token: Callable[[], Mapping[str, object]]) -> None:
        self._exchange = exchange
        self._token = token

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/api/v2/account_balances/", self._balances),
            web.post("/api/v2/account_balances/{currency}/", self._balances),
            web.post("/api/v2/balance/", self._old_balances),
            web.post("/api/v2/balance/{pair}/", self._old_balances),
            web.post("/api/v2/{side:buy|sell}/{pair}/", self._place),
            web.post("/api/v2/{side:buy|sell}/market/{pair}/", self._place_market),
            web.post("/api/v2/{side:buy|sell}/instant/{pair}/", self._place_instant),
            web.post("/api/v2/replace_order/", self._replace),
            web.post("/api/v2/cancel_order/", self._cancel),
            web.post("/api/v2/cancel_all_orders/", self._cancel_all),
            web.post("/api/v2/cancel_all_orders/{pair}/", self._cancel_all),
            web.post("/api/v2/order_status/", self._status),
            web.post("/api/v2/open_orders/all/", self._open_orders),
            web.post("/api/v2/open_orders/{pair}/", self._open_orders),
            web.post("/api/v2/user_transactions/", self._transactions),
            web.post("/api/v2/user_transactions/{pair}/", self._transactions),
            web.post("/api/v2/withdrawal-requests/", self._withdrawals),
            web.post("/api/v2/fees/trading/", self._fees),
            web.post("/api/v2/fees/trading/{pair}/", self._fees),
            web.post("/api/v2/websockets_token/", self._websockets_token),
        ]

    async def _balances(self, request: web.Request) -> web.Response:
        await _form(request, frozenset())
        customer, wanted = self._exchange.customer, request.match_info.get("currency")
        held = customer.held()
        rows = [
            {
                "currency": name.lower(),
                "total": fixed_text(total, 8),
                "available": fixed_text(total - held[name], 8),
                "reserved": fixed_text(held[name], 8),
            }
            for name, total in customer.balances.items()
            if wanted in (None, name.lower())
        ]
        return json_reply(rows[0] if wanted and rows else rows)

    async def _old_balances(self, request: web.Request) -> web.Response:
        """Return balances as clients asked for them before there was account_balances: all currencies in one object,
        with the fees."""
        await _form(request, frozenset())
        customer, listings = self._exchange.customer, list(self._exchange.listings.values())
        is_one = "pair" in request.match_info
        if is_one:
            listings = [self._listing(request)]
        of_markets = {name for row in listings for name in (row.market.base, row.market.quote_currency)}
        row = balance_row(customer.balances, customer.held(), of_markets if is_one else customer.balances)
        return json_reply({**row, **old_fees(listings, is_one=is_one)})

    async def _place(self, request: web.Request) -> web.Response:
        form = await _form(request, _LIMIT_FIELDS)
        if sum(_is_set(form, name) for name in _LIFETIMES) > 1:
            raise RequestRejectedError("invalid_request", f"only one of {', '.join(_LIFETIMES)} can be set")
        amount = decimal_field(form, "amount", "amount_invalid")
        return self._place_order(request, form, amount, decimal_field(form, "price", "price_invalid"))

    async def _place_market(self, request: web.Request) -> web.Response:
        form = await _form(request, _MARKET_FIELDS)
        return self._place_order(request, form, decimal_field(form, "amount", "amount_invalid"), None)

    async def _place_instant(self, request: web.Request) -> web.Response:
        """Buy for an amount of quote currency, or sell an amount of base currency."""
        form = await _form(request, _MARKET_FIELDS)
        amount = decimal_field(form, "amount", "amount_invalid")
        if request.match_info["side"] == "buy":
            amount = self._bought_amount(self._listing(request), amount)
        return self._place_order(request, form, amount, None)

    def _bought_amount(self, listing: Listing, funds: Decimal) -> Decimal:
        if not 0 < funds <= LARGEST:
            raise RequestRejectedError("amount_invalid", "amount")
        return listing.amount(lots_within(listing, self._exchange.books[listing.market.symbol], funds))

    def _place_order(self, request: web.Request, form: Form, amount: Decimal, price: Decimal | None) -> web.Response:
        listing = self._listing(request)
        side: Side = "buy" if request.match_info["side"] == "buy" else "sell"
        wanted = OrderRequest(
            symbol=listing.market.symbol,
            side=side,
            amount=amount,
            price=price,
            immediate=_is_set(form, "ioc_order"),
            client_order_id=form.get("client_order_id") or None,
            whole=_is_set(form, "fok_order"),
        )
        check_steps(wanted, listing.market)
        if _is_set(form, "moc_order") and self._exchange.would_take(wanted):
            raise RequestRejectedError("order_rejected")
        return json_reply(order_row(self._exchange.place(wanted), listing))

    async def _replace(self, request: web.Request) -> web.Response:
        """Cancel an order and place another of its side, market and terms."""
        form = await _form(request, _REPLACED_FIELDS)
        named = {"id": form.get("id", ""), "client_order_id": form.get("orig_client_order_id", "")}
        is_named = any(named.values())
        old = self._found(named if is_named else form)
        wanted = OrderRequest(
            symbol=old.symbol,
            side=old.side,
            amount=decimal_field(form, "amount", "amount_invalid"),
            price=decimal_field(form, "price", "price_invalid"),
            immediate=False,
            # without another name of the old one, the field names the old one
            client_order_id=(form.get("client_order_id") or None) if is_named else None,
        )
        listing = self._exchange.listings[old.symbol]
        check_steps(wanted, listing.market)
        return json_reply(order_row(self._exchange.replace(old.order_id, wanted), listing))

    async def _withdrawals(self, request: web.Request) -> web.Response:
        """Return none, because nothing can be withdrawn."""
        await _form(request, _WITHDRAWAL_FIELDS)
        return json_reply([])

    async def _cancel(self, request: web.Request) -> web.Response:
        order = self._exchange.cancel(self._found(await _form(request, _ORDER_FIELDS)).order_id)
        return json_reply(cancelled_row(order, self._exchange.listings[order.symbol]))

    async def _cancel_all(self, request: web.Request) -> web.Response:
        await _form(request, frozenset())
        listings, cancelled = (
            self._exchange.listings,
            [self._exchange.cancel(order.order_id) for order in self._open(request)],
        )
        rows = [{**cancelled_row(order, listings[order.symbol]), "currency_pair": order.symbol} for order in cancelled]
        return json_reply({"canceled": rows, "success": True})

    async def _status(self, request: web.Request) -> web.Response:
        form = await _form(request, _ORDER_FIELDS | {"omit_transactions"})
        order = self._found(form)
        fills = () if _is_set(form, "omit_transactions") else self._exchange.customer.fills_of(order.order_id)
        return json_reply(status_row(order, fills, self._exchange.listings[order.symbol]))

    async def _open_orders(self, request: web.Request) -> web.Response:
        await _form(request, frozenset())
        listings = self._exchange.listings
        return json_reply([open_order_row(order, listings[order.symbol]) for order in self._open(request)])

    async def _transactions(self, request: web.Request) -> web.Response:
        form = await _form(request, _LEDGER_FIELDS)
        offset, limit = count_field(form, "offset", 0), min(count_field(form, "limit", 100), 1_000)
        began = count_field(form, "since_timestamp", 0) * MICROSECONDS
        ended = count_field(form, "until_timestamp", 10**12) * MICROSECONDS
        symbol = self._listing(request).market.symbol if "pair" in request.match_info else None
        customer = self._exchange.customer
        fills = customer.orders.oldest_fills() if form.get("sort") == "asc" else customer.newest_fills(began, symbol)
        found = (fill for fill in fills if symbol in (None, fill.symbol) and began <= fill.filled_at <= ended)
        shown = islice(found, offset, offset + limit)
        return json_reply([transaction_row(fill, self._exchange.listings[fill.symbol]) for fill in shown])

    async def _fees(self, request: web.Request) -> web.Response:
        """Return the account's fees, in percent."""
        await _form(request, frozenset(("market_symbol",)))
        tier = self._exchange.tier
        fees = {"maker": _percent(tier.maker), "taker": _percent(tier.taker)}
        rows = [{"market": name, "currency_pair": name, "fees": fees} for name in self._exchange.listings_by_id]
        if "pair" in request.match_info:
            return json_reply({**rows[0], "market": self._listing(request).market_id})
        return json_reply(rows)

    async def _websockets_token(self, request: web.Request) -> web.Response:
        await _form(request, frozenset())
        return json_reply(self._token())

    def _open(self, request: web.Request) -> Iterable[SimulatedOrder]:
        symbol = self._listing(request).market.symbol if "pair" in request.match_info else None
        return [order for order in self._exchange.customer.open_orders() if symbol in (None, order.symbol)]

    def _found(self, form: Form) -> SimulatedOrder:
        if form.get("client_order_id"):
            return self._exchange.customer.latest_by_client_id(form["client_order_id"])
        return self._exchange.customer.order(text_field(form, "id"))

    def _listing(self, request: web.Request) -> Listing:
        return listing_named(self._exchange.listings_by_id, request.match_info["pair"])


async def _form(request: web.Request, known: frozenset[str]) -> Form:
    """Return the form. Raises RequestRejectedError if the call has no such field."""
    form = dict(parse_qsl(await request.text()))
    for name in form if form != _FILLER else ():
        if name in _NOT_SIMULATED:
            raise RequestRejectedError("invalid_request", f"{name} is not simulated")
        if name not in known:
            raise RequestRejectedError("invalid_request", name)
    return form


def _is_set(form: Form, name: str) -> bool:
    return form.get(name, "").lower() in ("true", "1")


def _percent(rate: Decimal) -> str:
    return fixed_text(rate * 100, 5)
