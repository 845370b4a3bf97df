"""Every request about orders that the installed ccxt builds, caught before it leaves, against the exchanges' documents.

The tables are written by hand from the pages that `exchanges/ccxt/order_documents.py` names."""

import ast
import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from exchanges.accounts import wire_check
from exchanges.accounts.exchange_account import open_account
from exchanges.accounts.wire_check import MARKET_ID, OUR_ID, THEIR_ID, WireBench, wire_fault
from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.generic_orders import GenericOrderApi
from exchanges.ccxt.order_documents import documented_exchanges, order_document
from exchanges.ccxt.sent_orders import SentRequest, order_fault
from exchanges.errors import AccountRejectedError
from exchanges.ports.order_terms import OrderQuirks
from exchanges.ports.orders import OrderApi
from exchanges.simulated_markets import simulated_markets
from market.instruments.orders import Side
from market.money import Amount, Price
from runtime.clock import wall_now
from session.exchange_entries import ExchangeEntry
from tests.exchanges.served import Served, order_on, served

DOCUMENTS = {name: document for name in documented_exchanges() if (document := order_document(name)) is not None}
GENERIC = (*EXCHANGES, "binanceus", "kucoin")
ENTRIES = (
    *(ExchangeEntry(name) for name in EXCHANGES),
    *(ExchangeEntry(name, "generic") for name in GENERIC),
)
ENTRY_NAMES = [f"{entry.ccxt}, {entry.adapter}" for entry in ENTRIES]
BARE_ID = OUR_ID.replace("-", "")
OF_THE_SIGNATURE = {"nonce", "timestamp", "recvWindow", "signature"}


@pytest.mark.parametrize("entry", ENTRIES, ids=ENTRY_NAMES)
def test_each_exchange_that_may_trade_with_money_is_fit_for_it(entry: ExchangeEntry) -> None:
    assert wire_fault(entry) is None


@pytest.mark.parametrize("price", ["90.0910", "0.5", "6412345"])
async def test_a_price_in_parts_of_a_yen_is_sent_as_it_is(price: str) -> None:
    bench = WireBench(ExchangeEntry("bitflyer"))
    order = replace(bench.order("buy"), price=Price(Decimal(price)))
    caught = await bench.caught(lambda: bench.api.post(order, bench.market))
    assert order_fault(DOCUMENTS["bitflyer"], caught.requests[0], order, None) is None


async def test_it_is_found_out_within_a_running_loop() -> None:
    assert asyncio.get_running_loop().is_running()
    assert wire_fault(ENTRIES[0]) is None


AMOUNT, PRICE, YEN = "0.01234567", "64123.45", "6412345"


def terms(amount: str, price: str, **others: str) -> dict[str, str]:
    return {amount: AMOUNT, price: PRICE, **others}


def of_binance(side: str, symbol: str, answer: str) -> dict[str, str]:
    own = {"symbol": symbol, "side": side, "type": "LIMIT", "timeInForce": "IOC", "newClientOrderId": OUR_ID}
    return terms("quantity", "price", newOrderRespType=answer, **own)


def of_kraken(side: str, pair: str) -> dict[str, str]:
    own = {"pair": pair, "type": side, "ordertype": "limit", "timeinforce": "IOC", "oflags": "fciq"}
    return terms("volume", "price", cl_ord_id=OUR_ID, **own)


def of_bitflyer(side: str, product: str) -> dict[str, str]:
    own = {"product_code": product, "child_order_type": "LIMIT", "side": side, "time_in_force": "IOC"}
    return {"price": YEN, "size": AMOUNT, **own}


def of_coinbaseexchange(side: str, product: str) -> dict[str, str]:
    own = {"product_id": product, "side": side, "type": "limit", "time_in_force": "IOC", "client_oid": OUR_ID}
    return terms("size", "price", **own)


BITSTAMP = terms("amount", "price", ioc_order="True", client_order_id=OUR_ID)
IOC = "order_configuration.sor_limit_ioc"


def of_coinbase(side: str, product: str) -> dict[str, str]:
    own = {"client_order_id": OUR_ID, "product_id": product, "side": side}
    return terms(f"{IOC}.base_size", f"{IOC}.limit_price", **own)


def of_bybit(side: str, symbol: str) -> dict[str, str]:
    own = {"category": "spot", "symbol": symbol, "side": side, "orderType": "Limit", "timeInForce": "IOC"}
    return terms("qty", "price", orderLinkId=OUR_ID, **own)


def of_okx(side: str, instrument: str, **others: str) -> dict[str, str]:
    own = {"instId": instrument, "tdMode": "cash", "side": side, "ordType": "ioc", "clOrdId": BARE_ID}
    return terms("sz", "px", **own, **others)


KUCOIN = terms("size", "price", symbol=MARKET_ID, type="limit", timeInForce="IOC", clientOid=OUR_ID)

Sent = tuple[str, str, dict[str, str], dict[str, str]]
POSTED: Mapping[str, Sent] = {
    # path of a buy, path of a sell, fields of a buy, fields of a sell
    "coinbaseexchange, verified": (
        *("/orders",) * 2,
        of_coinbaseexchange("buy", "BTC-USD"),
        of_coinbaseexchange("sell", "BTC-USD"),
    ),
    "bitstamp, verified": ("/api/v2/buy/btcusd/", "/api/v2/sell/btcusd/", BITSTAMP, BITSTAMP),
    "bitflyer, verified": (
        *("/v1/me/sendchildorder",) * 2,
        of_bitflyer("BUY", "BTC_JPY"),
        of_bitflyer("SELL", "BTC_JPY"),
    ),
    "kraken, verified": (*("/0/private/AddOrder",) * 2, of_kraken("buy", "XBTUSD"), of_kraken("sell", "XBTUSD")),
    "binance, verified": (
        *("/api/v3/order",) * 2,
        of_binance("BUY", "BTCUSD", "ACK"),
        of_binance("SELL", "BTCUSD", "ACK"),
    ),
    "coinbaseexchange, generic": (
        *("/orders",) * 2,
        of_coinbaseexchange("buy", MARKET_ID),
        of_coinbaseexchange("sell", MARKET_ID),
    ),
    "bitstamp, generic": (f"/api/v2/buy/{MARKET_ID}/", f"/api/v2/sell/{MARKET_ID}/", BITSTAMP, BITSTAMP),
    "bitflyer, generic": (
        *("/v1/me/sendchildorder",) * 2,
        # the same JSON number
        {**of_bitflyer("BUY", MARKET_ID), "price": f"{YEN}.0"},
        {**of_bitflyer("SELL", MARKET_ID), "price": f"{YEN}.0"},
    ),
    "kraken, generic": (*("/0/private/AddOrder",) * 2, of_kraken("buy", MARKET_ID), of_kraken("sell", MARKET_ID)),
    "binance, generic": (
        *("/api/v3/order",) * 2,
        of_binance("BUY", MARKET_ID, "FULL"),
        of_binance("SELL", MARKET_ID, "FULL"),
    ),
    "binanceus, generic": (
        *("/api/v3/order",) * 2,
        of_binance("BUY", MARKET_ID, "FULL"),
        of_binance("SELL", MARKET_ID, "FULL"),
    ),
    "bybit, verified": (*("/v5/order/create",) * 2, of_bybit("Buy", "BTCUSD"), of_bybit("Sell", "BTCUSD")),
    "bybit, generic": (*("/v5/order/create",) * 2, of_bybit("Buy", MARKET_ID), of_bybit("Sell", MARKET_ID)),
    "okx, verified": (*("/api/v5/trade/order",) * 2, of_okx("buy", "BTC-USD"), of_okx("sell", "BTC-USD")),
    "okx, generic": (
        *("/api/v5/trade/order",) * 2,
        of_okx("buy", MARKET_ID, tgtCcy="base_ccy"),
        of_okx("sell", MARKET_ID, tgtCcy="base_ccy"),
    ),
    "coinbase, verified": (
        *("/api/v3/brokerage/orders",) * 2,
        of_coinbase("BUY", "BTC-USD"),
        of_coinbase("SELL", "BTC-USD"),
    ),
    "coinbase, generic": (
        *("/api/v3/brokerage/orders",) * 2,
        of_coinbase("BUY", MARKET_ID),
        of_coinbase("SELL", MARKET_ID),
    ),
    "kucoin, generic": (*("/api/v1/orders",) * 2, {"side": "buy", **KUCOIN}, {"side": "sell", **KUCOIN}),
}
SIDES: tuple[Side, Side] = ("buy", "sell")


@pytest.mark.parametrize("entry", ENTRIES, ids=ENTRY_NAMES)
async def test_an_order_leaves_in_the_exchanges_own_words(entry: ExchangeEntry) -> None:
    *paths, buy, sell = POSTED[f"{entry.ccxt}, {entry.adapter}"]
    bench = WireBench(entry)
    for side, path, fields in zip(SIDES, paths, (buy, sell), strict=True):
        [request] = (await bench.post(side)).requests
        assert (request.method, request.path) == ("POST", path)
        assert fields_of(request) == fields


def fields_of(request: SentRequest) -> dict[str, str]:
    """But those of the signature."""
    text = request.body or urlsplit(request.url).query
    document: dict[str, Any]
    document = json.loads(text, parse_float=str, parse_int=str) if text.startswith("{") else dict(parse_qsl(text))
    while nested := [name for name, value in document.items() if isinstance(value, dict)]:
        inner = document.pop(nested[0])
        document |= {f"{nested[0]}.{name}": value for name, value in inner.items()}
    return {name: value for name, value in document.items() if name not in OF_THE_SIGNATURE}


Call = tuple[str, str, dict[str, str] | None]
"""Method, path, and fields that must be there; None: no request but those of the account."""
CANCELLED = f"/orders/{THEIR_ID}"
CALLS: Mapping[str, Mapping[str, Call]] = {
    "coinbaseexchange": {
        "read an order": ("GET", CANCELLED, {}),
        "find an order": ("GET", f"/orders/client:{OUR_ID}", {}),
        "cancel an order": ("DELETE", CANCELLED, {}),
        "read balances": ("GET", "/accounts", {}),
        "list open orders": ("GET", "/orders", {"product_id": MARKET_ID}),
        "list fills": ("GET", "/fills", {"product_id": MARKET_ID}),
    },
    "bitstamp": {
        "read an order": ("POST", "/api/v2/order_status/", {"id": THEIR_ID}),
        "find an order": ("POST", "/api/v2/order_status/", {"client_order_id": OUR_ID}),
        "cancel an order": ("POST", "/api/v2/cancel_order/", {"id": THEIR_ID}),
        "read balances": ("POST", "/api/v2/account_balances/", {}),
        "list open orders": ("POST", "/api/v2/open_orders/all/", {}),
        "list fills": ("POST", f"/api/v2/user_transactions/{MARKET_ID}/", {}),
    },
    "bitflyer": {
        "read an order": ("GET", "/v1/me/getchildorders", {"product_code": MARKET_ID}),
        "find an order": ("GET", "/v1/me/getchildorders", {"product_code": MARKET_ID}),
        "cancel an order": ("POST", "/v1/me/cancelchildorder", {"child_order_acceptance_id": THEIR_ID}),
        "read balances": ("GET", "/v1/me/getbalance", {}),
        "list open orders": ("GET", "/v1/me/getchildorders", {"child_order_state": "ACTIVE"}),
        "list fills": ("GET", "/v1/me/getexecutions", {"product_code": MARKET_ID}),
    },
    "kraken": {
        "read an order": ("POST", "/0/private/QueryOrders", {"txid": THEIR_ID}),
        "find an order": ("POST", "/0/private/ClosedOrders", {}),
        "cancel an order": ("POST", "/0/private/CancelOrder", {"txid": THEIR_ID}),
        "read balances": ("POST", "/0/private/BalanceEx", {}),
        "list open orders": ("POST", "/0/private/OpenOrders", {}),
        "list fills": ("POST", "/0/private/TradesHistory", {}),
    },
    "binance": {
        "read an order": ("GET", "/api/v3/order", {"symbol": MARKET_ID, "orderId": THEIR_ID}),
        "find an order": ("GET", "/api/v3/order", {"symbol": MARKET_ID, "origClientOrderId": OUR_ID}),
        "cancel an order": ("DELETE", "/api/v3/order", {"symbol": MARKET_ID, "orderId": THEIR_ID}),
        "read balances": ("GET", "/api/v3/account", {}),
        "list open orders": ("GET", "/api/v3/openOrders", {"symbol": MARKET_ID}),
        "list fills": ("GET", "/api/v3/myTrades", {"symbol": MARKET_ID}),
    },
    "binanceus": {
        "read an order": ("GET", "/api/v3/order", {"symbol": MARKET_ID, "orderId": THEIR_ID}),
        "find an order": ("GET", "/api/v3/allOrders", {"symbol": MARKET_ID}),
        "cancel an order": ("DELETE", "/api/v3/order", {"symbol": MARKET_ID, "orderId": THEIR_ID}),
        "read balances": ("GET", "/api/v3/account", {}),
        "list open orders": ("GET", "/api/v3/openOrders", {"symbol": MARKET_ID}),
        "list fills": ("GET", "/api/v3/myTrades", {"symbol": MARKET_ID}),
    },
    "bybit": {
        # of the last 500, open and ended
        "read an order": ("GET", "/v5/order/realtime", {"category": "spot", "orderId": THEIR_ID}),
        "find an order": ("GET", "/v5/order/history", {"category": "spot", "symbol": MARKET_ID}),
        "cancel an order": ("POST", "/v5/order/cancel", {"category": "spot", "orderId": THEIR_ID}),
        "read balances": ("GET", "/v5/account/wallet-balance", {"accountType": "UNIFIED"}),
        "list open orders": ("GET", "/v5/order/realtime", {"category": "spot", "symbol": MARKET_ID}),
        "list fills": ("GET", "/v5/execution/list", {"category": "spot", "symbol": MARKET_ID}),
    },
    "okx": {
        "read an order": ("GET", "/api/v5/trade/order", {"instId": MARKET_ID, "ordId": THEIR_ID}),
        "find an order": ("GET", "/api/v5/trade/order", {"instId": MARKET_ID, "clOrdId": BARE_ID}),
        "cancel an order": ("POST", "/api/v5/trade/cancel-order", {"instId": MARKET_ID, "ordId": THEIR_ID}),
        "read balances": ("GET", "/api/v5/account/balance", {}),
        "list open orders": ("GET", "/api/v5/trade/orders-pending", {"instId": MARKET_ID}),
        "list fills": ("GET", "/api/v5/trade/fills-history", {"instType": "SPOT", "instId": MARKET_ID}),
    },
    "coinbase": {
        "read an order": ("GET", f"/api/v3/brokerage/orders/historical/{THEIR_ID}", {}),
        "find an order": ("GET", "/api/v3/brokerage/orders/historical/batch", {"product_id": MARKET_ID}),
        "cancel an order": ("POST", "/api/v3/brokerage/orders/batch_cancel", {}),
        "read balances": ("GET", "/api/v3/brokerage/accounts", {}),
        "list open orders": ("GET", "/api/v3/brokerage/orders/historical/batch", {"order_status": "OPEN"}),
        "list fills": ("GET", "/api/v3/brokerage/orders/historical/fills", {"product_id": MARKET_ID}),
    },
    "kucoin": {
        "read an order": ("GET", f"/api/v1/orders/{THEIR_ID}", {}),
        "find an order": ("GET", "/api/v1/orders", {"symbol": MARKET_ID, "status": "done"}),
        "cancel an order": ("DELETE", f"/api/v1/orders/{THEIR_ID}", {}),
        "read balances": ("GET", "/api/v1/accounts", {"type": "trade"}),
        "list open orders": ("GET", "/api/v1/orders", {"symbol": MARKET_ID, "status": "active"}),
        "list fills": ("GET", "/api/v1/fills", {"symbol": MARKET_ID}),
    },
}


@pytest.mark.parametrize("name", GENERIC)
async def test_ccxts_other_requests_of_an_order(name: str) -> None:
    bench = WireBench(ExchangeEntry(name, "generic"))
    for what, (_, call) in bench.unified_calls().items():
        method, path, fields = CALLS[name][what]
        last = (await bench.caught(call)).requests[-1]
        assert (what, last.method, last.path) == (what, method, path)
        assert (fields or {}).items() <= fields_of(last).items()


def test_what_serves_all_exchanges_names_none() -> None:
    """Facts of one exchange stand in its own folder."""
    named = {
        (path.name, node.value)
        for path in Path(wire_check.__file__).parent.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in EXCHANGES
    }
    assert named == set()
    assert WireBench(ExchangeEntry("bitflyer", "generic")).market.quote_currency == "JPY"


def with_quirks(quirks: OrderQuirks) -> Any:
    def api(_entry: ExchangeEntry, client: Any) -> OrderApi:
        return GenericOrderApi(client, quirks)

    return api


UNFIT: Mapping[str, tuple[str, OrderQuirks, str]] = {
    "ccxt sends an id of its own": ("coinbase", OrderQuirks(), 'sends client_order_id "ccxt-'),
    "ccxt sends no id": ("cryptocom", OrderQuirks(), "sends no params.client_oid, where our order id must stand"),
    "a time in force that Bitstamp does not know": ("bitstamp", OrderQuirks(), "does not say ioc_order=True"),
    "one that it does not know beside its own": (
        "bitstamp",
        OrderQuirks({"ioc_order": "True", "timeInForce": "IOC"}),
        "sends timeInForce, which the exchange's documents do not have",
    ),
    "a stop that ccxt passes on": (
        "kucoin",
        OrderQuirks({"timeInForce": "IOC", "stopLoss": "60000"}),
        "sends stopLoss, which the exchange's documents do not have",
    ),
    "nothing of the time in force": ("kraken", OrderQuirks({}), "does not say timeinforce=IOC"),
    "no id at all": ("binance", OrderQuirks(client_id_parameter=None), "sends newClientOrderId"),
    "a batch of one order": ("okx", OrderQuirks(), "sends POST /api/v5/trade/batch-orders, which is not the request"),
    "an order that cannot be read": ("bybit", OrderQuirks(), "does not read an order (ArgumentsRequired: bybit"),
}


@pytest.mark.parametrize(("name", "quirks", "said"), UNFIT.values(), ids=UNFIT)
def test_what_is_not_fit_is_said_in_one_line(name: str, quirks: OrderQuirks, said: str) -> None:
    fault = str(wire_fault(ExchangeEntry(name, "generic"), with_quirks(quirks)))
    assert said in fault
    assert f"{DOCUMENTS[name].source}, {DOCUMENTS[name].seen}" in fault
    assert "\n" not in fault


@pytest.fixture
async def outside(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path, only=("kraken",)) as running:
        yield running


KRAKEN = next(one for one in simulated_markets() if one.exchange == "kraken" and one.symbol == "BTC/USD")
FINER = replace(KRAKEN, tick_size=Decimal("0.01"), lot_step=Decimal("0.000000001"))
"""As if the exchange had got coarser steps since we asked for them."""
LOST: Mapping[str, tuple[str, str, Side, str]] = {
    "ccxt rounds a buy's price up": ("0.001", "60000.06", "buy", "sends price=60000.1 for 60000.06"),
    "ccxt rounds a sell's price down": ("0.001", "60000.04", "sell", "sends price=60000 for 60000.04"),
    "ccxt cuts the amount": ("0.001000009", "60000", "buy", "sends volume=0.001 for 0.001000009"),
    "a float has fewer digits": ("1234567890.12345678", "60000", "buy", "sends volume=1234567890.1234567"),
}


@pytest.mark.parametrize(("amount", "price", "side", "said"), LOST.values(), ids=LOST)
async def test_an_order_that_ccxt_would_change_is_not_sent(
    outside: Served, amount: str, price: str, side: Side, said: str
) -> None:
    began = wall_now()
    account = open_account(outside.config("kraken", is_generic=True), [FINER])
    order = order_on(FINER, side, Amount(Decimal(amount)), Price(Decimal(price)))
    try:
        with pytest.raises(AccountRejectedError) as refused:
            await account.place(order)
        assert f"no order was sent to kraken: ccxt {said}" in str(refused.value)
        assert await account.look_up(order) is None
        assert await account.fills_since(began) == []
    finally:
        await account.close()
