"""What an exchange's orders look like on the wire, by requests that the installed ccxt builds and that are caught
before they leave. No version of ccxt is trusted for its words: what it says of ids and times in force proved wrong."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import ccxt

from exchanges.accounts.order_apis import order_api
from exchanges.catalogue import facts_of
from exchanges.ccxt.order_documents import order_document, sent_id, socket_document
from exchanges.ccxt.order_quirks import order_quirks
from exchanges.ccxt.sent_orders import SentRequest, order_fault
from exchanges.errors import AccountRejectedError, ExchangeError
from exchanges.ports.order_terms import OrderDocument
from exchanges.ports.orders import OrderApi, understood
from exchanges.ports.permits import RequestCheck
from exchanges.requests.time_synced_signing import client_class
from market.instruments.markets import Market
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price, decimal_of
from market.trade.unwinding import client_order_id
from session.exchange_entries import ExchangeEntry

OUR_ID = client_order_id("wire check", "buy")
"""As sessions give them: an exchange may not take the form."""
THEIR_ID = "1234567"
"""An exchange's id of an order."""
MARKET_ID = "BTC-QUOTE"
"""What the exchange's own name of the market is taken to be, if ccxt's methods name it."""
NOON = 1_764_417_600_000_000
_SIDES: tuple[Side, Side] = ("buy", "sell")
_YEN = ("JPY", "6412345", "1")
_DOLLARS = ("USD", "64123.45", "0.01")
_AMOUNT, _LOT = decimal_of("0.01234567"), decimal_of("0.00000001")
_KEYS = {"apiKey": "key", "secret": "c2VjcmV0", "password": "password", "uid": "1"}

Call = Callable[[], Awaitable[object]]
OrderApiOf = Callable[[ExchangeEntry, Any], OrderApi]


@dataclass(frozen=True, slots=True)
class Caught:
    """What one call would have sent, questions about the account apart."""

    requests: tuple[SentRequest, ...]
    error: Exception | None
    """Why the call ended; mostly because the answer was empty."""


class WireBench:
    """An exchange's order API on a client of ccxt that sends nothing, with one market and one order of it."""

    def __init__(self, entry: ExchangeEntry, api_of: OrderApiOf = order_api) -> None:
        self.entry = entry
        facts = facts_of(entry.ccxt)
        is_in_yen = facts is not None and facts.paper.symbol.endswith("/JPY")
        quote, price, tick = _YEN if is_in_yen else _DOLLARS
        steps = decimal_of(tick), _LOT, _LOT, _LOT
        self.market = Market(entry.ccxt, "us", f"BTC/{quote}", "BTC", quote, *steps, "quote")
        self.price = Price(decimal_of(price))
        document = order_document(entry.ccxt)
        self.account_answers = {} if document is None else document.account_answers
        self.requests: list[SentRequest] = []
        self.client = _catching_client(self)
        self.api = api_of(entry, self.client)

    @property
    def market_id(self) -> str | None:
        """None if our own order API names the market."""
        return MARKET_ID if self.entry.is_generic else None

    def order(self, side: Side) -> LimitOrder:
        return LimitOrder(OUR_ID, self.entry.ccxt, self.market.symbol, side, Amount(_AMOUNT), self.price, NOON)

    async def post(self, side: Side) -> Caught:
        return await self.caught(lambda: self.api.post(self.order(side), self.market))

    async def caught(self, call: Call) -> Caught:
        self.requests.clear()
        error: Exception | None = None
        try:
            await understood(call())
        except (ccxt.BaseError, ExchangeError) as raised:
            error = raised
        return Caught(tuple(self.requests), error)

    def answer(self, request: SentRequest) -> object:
        """Answer ccxt's questions about the account as a usual account would; otherwise nothing."""
        asked = [answer for path, answer in self.account_answers.items() if request.path.endswith(path)]
        if not asked:
            self.requests.append(request)
        return asked[0] if asked else {}

    def unified_calls(self) -> Mapping[str, tuple[str, Call]]:
        """By what is done: what its request must contain, and the call, all by ccxt's unified methods."""
        order, market = self.order("buy"), self.market
        quirks = order_quirks(self.entry.ccxt)
        theirs = THEIR_ID if quirks.client_id_parameter is not None else ""
        ours = sent_id(self.entry.ccxt, OUR_ID)
        return {
            "read an order": (theirs, lambda: self.api.report(order, market, THEIR_ID)),
            "find an order": (ours if quirks.finds_by_client_id else "", lambda: self.api.find(order, market, ())),
            "cancel an order": (THEIR_ID, lambda: self.client.cancel_order(THEIR_ID, market.symbol)),
            "read balances": ("", self.api.balances),
            "list open orders": ("", lambda: self.api.open_orders([market])),
            "list fills": ("", lambda: self.api.fills_since([market], NOON)),
        }


def _catching_client(bench: WireBench) -> Any:
    kind = client_class(bench.entry.ccxt)

    async def fetch(_client: Any, url: str, method: str = "GET", headers: Any = None, body: Any = None) -> Any:
        return bench.answer(SentRequest(method, url, body))

    # nothing else is replaced: all that signs and words a request is the client's that trades
    client = type(kind.__name__, (kind,), {"fetch": fetch})(_KEYS)
    market = bench.market
    row = {
        "id": MARKET_ID,
        "symbol": market.symbol,
        **dict.fromkeys(("base", "baseId"), market.base),
        **dict.fromkeys(("quote", "quoteId"), market.quote_currency),
        **{"type": "spot", "spot": True, "active": True, "taker": 0.001, "maker": 0.001},
        **dict.fromkeys(("margin", "swap", "future", "option", "contract"), False),
        "precision": {"amount": float(market.lot_step), "price": float(market.tick_size)},
        "info": {"orderTypes": ["LIMIT"]},
    }
    client.set_markets([client.safe_market_structure(row)])
    return client


def wire_fault(entry: ExchangeEntry, api_of: OrderApiOf = order_api) -> str | None:
    """Why orders of this exchange do not leave as its documents want them; None if they do. Sends nothing.

    Raises AccountRejectedError if ccxt has no such exchange.
    """
    document = order_document(entry.ccxt)
    if document is None:
        return "it is not known to keep our order ids, by which an order is found again"
    # it is called within a running event loop too; nothing in it waits
    with ThreadPoolExecutor(1) as thread:
        fault = thread.submit(lambda: asyncio.run(_fault(WireBench(entry, api_of), document))).result()
    return None if fault is None else f"ccxt {version('ccxt')} {fault} ({document.source}, {document.seen})"


async def _fault(bench: WireBench, document: OrderDocument) -> str | None:
    for side in _SIDES:
        posted = await bench.post(side)
        if len(posted.requests) != 1:
            return f"sends {len(posted.requests)} requests for one order"
        fault = order_fault(document, posted.requests[0], bench.order(side), bench.market_id)
        if fault is not None:
            return fault
    if not bench.entry.is_generic:
        return None
    for what, (content, call) in bench.unified_calls().items():
        caught = await bench.caught(call)
        if not any(content in f"{one.url} {one.body}" for one in caught.requests):
            why = " ".join(str(caught.error).split())[:100]
            return f"does not {what} ({type(caught.error).__name__}: {why})"
    return _read_back_fault(bench, document)


def _read_back_fault(bench: WireBench, document: OrderDocument) -> str | None:
    """Check that an order without an answer is known again by our id in the exchange's list."""
    if document.shown_as is None:
        return None
    read = bench.client.parse_order({document.shown_as: OUR_ID}, bench.client.market(bench.market.symbol))
    return None if read.get("clientOrderId") == OUR_ID else f"does not read our order id in {document.shown_as}"


def request_check(entry: ExchangeEntry, order: LimitOrder, listed: Mapping[str, Any] | None) -> RequestCheck:
    """Return the last check of an order's own request: a market may have got other steps since the start, and a float
    has fifteen digits.

    `listed`: ccxt's markets; None if our own order API names them.
    """
    by_rest, on_socket = order_document(entry.ccxt), socket_document(entry.ccxt)
    row = (listed or {}).get(order.symbol) if entry.is_generic else None

    def check(method: str, url: str, body: str | None) -> None:
        document = on_socket if url.startswith("ws") else by_rest
        # ccxt asks some exchanges first which kind of account it is
        if method == "GET":
            return
        fault = (
            "has no documents of the exchange to be held to"
            if document is None
            else order_fault(document, SentRequest(method, url, body), order, None if row is None else str(row["id"]))
        )
        if fault is not None:
            raise AccountRejectedError(f"no order was sent to {order.exchange}: ccxt {fault}")

    return check
