"""Kraken's wire protocol: signed forms with growing nonces, answers as {error, result}, WebSocket v2."""

from collections.abc import Iterable
from itertools import islice
from urllib.parse import parse_qsl

from aiohttp import web

from exchanges.credentials import Credentials
from exchanges.simulated.exchange import Names, SimulatedExchange
from exchanges.simulated.gateway import (
    MarketStep,
    best_texts,
    count_field,
    decimal_field,
    guarded,
    json_reply,
    levels_of,
    listing_named,
    side_field,
    text_field,
)
from exchanges.simulated.kraken_rows import (
    ASSET_IDS,
    asset_rows,
    ledger_text,
    order_row,
    pair_row,
    trade_row,
    transaction_name,
)
from exchanges.simulated.kraken_stream import KrakenStream
from exchanges.simulated.listings import Listing
from exchanges.simulated.records import CustomerFill, CustomerOrder, OrderRequest, Reason, RequestRefusedError
from exchanges.simulated.signatures import SignedRequest, check_kraken
from exchanges.simulated.subscribers import Subscribers
from market.clock import MICROSECONDS

NAME = "kraken"

NAMES = Names(
    order=lambda number, micros: transaction_name("O", number, micros),
    fill=lambda number, micros: transaction_name("T", number, micros),
    # A cl_ord_id must be unique among open orders only: https://docs.kraken.com/api/blog/cl-ord-id
    client_ids_reusable=True,
)

_ERRORS: dict[Reason, str] = {
    "unknown_key": "EAPI:Invalid key",
    "signature": "EAPI:Invalid signature",
    "nonce": "EAPI:Invalid nonce",
    "insufficient_funds": "EOrder:Insufficient funds",
    "amount_too_small": "EOrder:Order minimum not met",
    "amount_invalid": "EGeneral:Invalid arguments:volume",
    "price_invalid": "EGeneral:Invalid arguments:price",
    "too_precise": "EOrder:Invalid price:{detail} has too many decimals.",
    "client_id_used": "EOrder:Invalid order:cl_ord_id already in use",
    "unknown_order": "EOrder:Unknown order",
    "order_ended": "EOrder:Unknown order",
    "unknown_market": "EQuery:Unknown asset pair",
    "invalid_request": "EGeneral:Invalid arguments:{detail}",
}


class KrakenGateway:
    def __init__(self, exchange: SimulatedExchange, credentials: Credentials) -> None:
        self.exchange = exchange
        self.subscribers = Subscribers()
        self._credentials = credentials
        self._last_nonce = 0
        self._stream = KrakenStream(exchange, self.subscribers)
        self._by_name = {}
        for listing in exchange.listings.values():
            for name in (listing.market_id, pair_row(listing)["altname"], pair_row(listing)["wsname"]):
                self._by_name[str(name)] = listing

    def application(self) -> web.Application:
        application = guarded(NAME, lambda path: path.startswith("/0/private/"), self._check, _refusal)
        private = {
            "Balance": self._balance,
            "BalanceEx": self._balance_with_holds,
            "AddOrder": self._place,
            "CancelOrder": self._cancel,
            "QueryOrders": self._query_orders,
            "OpenOrders": self._open_orders,
            "ClosedOrders": self._closed_orders,
            "QueryTrades": self._query_trades,
            "TradesHistory": self._trades_history,
            "TradeVolume": self._trade_volume,
        }
        application.add_routes(
            [
                web.get("/0/public/Time", self._time),
                web.get("/0/public/Assets", self._assets),
                web.get("/0/public/AssetPairs", self._pairs),
                web.get("/0/public/Depth", self._depth),
                web.get("/0/public/Ticker", self._ticker),
                *(web.post(f"/0/private/{name}", handler) for name, handler in private.items()),
                web.get("/ws", self._ws),
                web.get("/ws/v2", self._ws),
            ]
        )
        return application

    def publish(self, step: MarketStep) -> None:
        if step.changes:
            self._stream.publish(step.symbol)

    def beat(self) -> None:
        """Nothing to say."""

    # -- public

    async def _time(self, _request: web.Request) -> web.Response:
        return _result({"unixtime": self.exchange.clock.now() // MICROSECONDS})

    async def _assets(self, _request: web.Request) -> web.Response:
        return _result(asset_rows())

    async def _pairs(self, _request: web.Request) -> web.Response:
        return _result({listing.market_id: pair_row(listing) for listing in self.exchange.listings.values()})

    async def _depth(self, request: web.Request) -> web.Response:
        listing = self._listing(request.query.get("pair", ""))
        book = self.exchange.books[listing.market.symbol]
        count, now = count_field(request.query, "count", 100), self.exchange.clock.now() // MICROSECONDS
        sides = {name: [[*level, now] for level in levels] for name, levels in levels_of(listing, book, count).items()}
        return _result({listing.market_id: sides})

    async def _ticker(self, request: web.Request) -> web.Response:
        listing = self._listing(request.query.get("pair", ""))
        book = self.exchange.books[listing.market.symbol]
        bid, ask = best_texts(listing, book)
        flat = {"v": ["0", "0"], "p": [bid, bid], "t": [0, 0], "l": [bid, bid], "h": [ask, ask], "o": bid}
        return _result({listing.market_id: {"a": [ask, "1", "1"], "b": [bid, "1", "1"], "c": [bid, "0"], **flat}})

    # -- private

    async def _balance(self, _request: web.Request) -> web.Response:
        return _result(
            {ASSET_IDS[name]: ledger_text(name, total) for name, total in self.exchange.customer.balances.items()}
        )

    async def _balance_with_holds(self, _request: web.Request) -> web.Response:
        held = self.exchange.customer.held()
        rows = {
            ASSET_IDS[name]: {"balance": ledger_text(name, total), "hold_trade": ledger_text(name, held[name])}
            for name, total in self.exchange.customer.balances.items()
        }
        return _result(rows)

    async def _place(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        kind = text_field(fields, "ordertype")
        if kind not in ("limit", "market"):
            raise RequestRefusedError("invalid_request", "ordertype")
        listing = self._listing(text_field(fields, "pair"))
        client_id = fields.get("cl_ord_id")
        if client_id is not None and not 0 < len(client_id) <= 36:
            raise RequestRefusedError("invalid_request", "cl_ord_id")
        order = self.exchange.place(
            OrderRequest(
                symbol=listing.market.symbol,
                side=side_field(fields, "type"),
                amount=decimal_field(fields, "volume", "amount_invalid"),
                price=decimal_field(fields, "price", "price_invalid") if kind == "limit" else None,
                immediate=fields.get("timeinforce", "GTC").upper() == "IOC",
                client_order_id=client_id,
            )
        )
        row: dict[str, object] = {"txid": [order.order_id], "descr": {"order": _description(order, listing)}}
        if client_id is not None:
            row["cl_ord_id"] = client_id
        return _result(row)

    async def _cancel(self, request: web.Request) -> web.Response:
        fields = await _form(request)
        if "cl_ord_id" in fields:
            self.exchange.cancel(self.exchange.customer.latest_by_client_id(fields["cl_ord_id"]).order_id)
        else:
            self.exchange.cancel(text_field(fields, "txid"))
        return _result({"count": 1})

    async def _query_orders(self, request: web.Request) -> web.Response:
        names = text_field(await _form(request), "txid").split(",")
        return _result(self._order_rows(self.exchange.customer.order(name) for name in names))

    async def _open_orders(self, request: web.Request) -> web.Response:
        wanted = (await _form(request)).get("cl_ord_id")
        orders = [order for order in self.exchange.customer.open_orders() if wanted in (None, order.client_order_id)]
        return _result({"open": self._order_rows(orders)})

    async def _closed_orders(self, request: web.Request) -> web.Response:
        wanted, customer = (await _form(request)).get("cl_ord_id"), self.exchange.customer
        if wanted is None:
            orders, count = customer.newest_orders(), customer.ended_count()
        else:
            named = customer.orders_by_client_id(wanted)
            orders, count = reversed(named), sum(order.state != "open" for order in named)
        closed = islice((order for order in orders if order.state != "open"), 50)
        return _result({"closed": self._order_rows(closed), "count": count})

    async def _query_trades(self, request: web.Request) -> web.Response:
        wanted = text_field(await _form(request), "txid").split(",")
        return _result(self._trade_rows(self.exchange.customer.known_fills(wanted)))

    async def _trades_history(self, _request: web.Request) -> web.Response:
        return _result(
            {"trades": self._trade_rows(self.exchange.customer.fills[-50:]), "count": len(self.exchange.customer.fills)}
        )

    async def _trade_volume(self, request: web.Request) -> web.Response:
        listing = self._listing((await _form(request)).get("pair", ""))
        percent = format(listing.taker_rate * 100, "f")
        fees = {listing.market_id: {"fee": percent, "minfee": percent, "maxfee": percent}}
        return _result({"currency": "ZUSD", "volume": "0.0000", "fees": fees, "fees_maker": fees})

    def _listing(self, name: str) -> Listing:
        return listing_named(self._by_name, name)

    def _order_rows(self, orders: Iterable[CustomerOrder]) -> dict[str, object]:
        return {
            order.order_id: order_row(
                order, self.exchange.customer.fills_of(order.order_id), self.exchange.listings[order.symbol]
            )
            for order in orders
        }

    def _trade_rows(self, fills: Iterable[CustomerFill]) -> dict[str, object]:
        return {fill.fill_id: trade_row(fill, self.exchange.listings[fill.symbol]) for fill in fills}

    # -- signing

    def _check(self, request: SignedRequest) -> None:
        self._last_nonce = check_kraken(request, self._credentials, self._last_nonce)

    async def _ws(self, request: web.Request) -> web.WebSocketResponse:
        return await self.subscribers.serve(request, self._stream.hear, self._stream.greet)


def _description(order: CustomerOrder, listing: Listing) -> str:
    head = f"{order.side} {order.amount:.8f} {pair_row(listing)['altname']} @ "
    return head + ("market" if order.price is None else f"limit {order.price:f}")


def _result(result: object) -> web.Response:
    return json_reply({"error": [], "result": result})


def _refusal(error: RequestRefusedError) -> web.Response:
    text = _ERRORS.get(error.reason, "EGeneral:Invalid arguments")
    return json_reply({"error": [text.format(detail=error.detail)]})


async def _form(request: web.Request) -> dict[str, str]:
    return dict(parse_qsl(await request.text()))
