"""Requests that no sane client sends: made at random from names that exchanges know and values that they do not."""

import json
from random import Random
from typing import Literal
from urllib.parse import quote, urlencode

from tests.simulators.wire_clients import Call

Coding = Literal["json", "form", "query"]
CODINGS: dict[str, Coding] = {
    "coinbaseexchange": "json",
    "bitstamp": "form",
    "bitflyer": "json",
    "kraken": "form",
    "binance": "query",
    "bybit": "json",
    "okx": "json",
    "coinbase": "json",
}
"""Where each exchange takes the fields of a change."""
MARKETS = {
    "coinbaseexchange": "BTC-USD",
    "bitstamp": "btceur",
    "bitflyer": "BTC_JPY",
    "kraken": "XBTUSD",
    "binance": "BTCUSDT",
    "bybit": "BTCUSDT",
    "okx": "BTC-USDT",
    "coinbase": "BTC-USD",
}

_LIFETIMES = ("GTC", "IOC", "FOK")
_AMOUNTS = ("0.01", "0.1", "5")
ORDERS: dict[str, tuple[str, dict[str, tuple[object, ...]]]] = {
    "coinbaseexchange": (
        "/orders",
        {
            "product_id": ("BTC-USD",),
            "side": ("buy", "sell"),
            "type": ("limit", "market"),
            "size": _AMOUNTS,
            "price": ("1", "60000", "70000"),
            "time_in_force": _LIFETIMES,
            "post_only": (False, True),
        },
    ),
    "bitstamp": ("/api/v2/{side}", {"amount": _AMOUNTS, "price": ("1", "55000", "70000")}),
    "bitflyer": (
        "/v1/me/sendchildorder",
        {
            "product_code": ("BTC_JPY",),
            "side": ("BUY", "SELL"),
            "child_order_type": ("LIMIT", "MARKET"),
            "size": _AMOUNTS,
            "price": ("1", "9000000", "1e-999999999"),
            "time_in_force": _LIFETIMES,
        },
    ),
    "kraken": (
        "/0/private/AddOrder",
        {
            "pair": ("XBTUSD", "EUR/USD"),
            "type": ("buy", "sell"),
            "ordertype": ("limit", "market", "stop-loss", "take-profit-limit"),
            "volume": _AMOUNTS,
            "price": ("1", "60000", "70000"),
            "price2": ("1", "60000"),
            "timeinforce": _LIFETIMES,
            "userref": ("1", "2"),
            "expiretm": ("0", "+60"),
        },
    ),
    "binance": (
        "/api/v3/order",
        {
            "symbol": ("BTCUSDT",),
            "side": ("BUY", "SELL"),
            "type": ("LIMIT",),
            "quantity": _AMOUNTS,
            "price": ("500", "60000", "70000"),
            "timeInForce": _LIFETIMES,
        },
    ),
    "bybit": (
        "/v5/order/create",
        {
            "category": ("spot",),
            "symbol": ("BTCUSDT",),
            "side": ("Buy", "Sell"),
            "orderType": ("Limit", "Market"),
            "qty": _AMOUNTS,
            "price": ("500", "60000", "70000"),
            "timeInForce": (*_LIFETIMES, "PostOnly"),
            "marketUnit": ("baseCoin", "quoteCoin"),
        },
    ),
    "okx": (
        "/api/v5/trade/order",
        {
            "instId": ("BTC-USDT",),
            "tdMode": ("cash",),
            "side": ("buy", "sell"),
            "ordType": ("limit", "market", "ioc", "fok", "post_only"),
            "sz": _AMOUNTS,
            "px": ("500", "60000", "70000"),
            "tgtCcy": ("base_ccy", "quote_ccy", ""),
        },
    ),
    "coinbase": (
        "/api/v3/brokerage/orders",
        {
            "client_order_id": tuple(f"nonsense-{number}" for number in range(1_000)),
            "product_id": ("BTC-USD",),
            "side": ("BUY", "SELL"),
            "order_configuration": tuple(
                {kind: {"base_size": amount, **price}}
                for amount in _AMOUNTS
                for kind, price in (
                    ("market_market_ioc", {}),
                    ("sor_limit_ioc", {"limit_price": "60000"}),
                    ("limit_limit_gtc", {"limit_price": "500", "post_only": True}),
                    ("limit_limit_fok", {"limit_price": "70000"}),
                )
            ),
        },
    ),
}
"""Where orders are placed, and which values make sense there."""
OTHERS: dict[str, tuple[str, ...]] = {
    "coinbaseexchange": (
        *("product_id", "order_id", "status", "limit", "level", "start_date", "end_date", "before", "after", "type"),
        *("granularity", "start", "end"),
    ),
    "bitstamp": (
        *("id", "client_order_id", "offset", "limit", "sort", "since_timestamp", "until_timestamp", "time"),
        *("step", "start", "end", "amount", "price", "orig_client_order_id"),
    ),
    "bitflyer": (
        *("product_code", "count", "before", "after", "child_order_id", "child_order_acceptance_id"),
        "child_order_state",
    ),
    "kraken": (
        *("pair", "count", "since", "ofs", "start", "end", "closetime", "txid", "cl_ord_id", "trades", "asset"),
        *("without_count", "info", "fee-info", "interval", "userref", "id", "type", "order_qty", "limit_price"),
    ),
    "binance": (
        *("symbol", "symbols", "limit", "orderId", "fromId", "startTime", "endTime", "origClientOrderId"),
        *("interval", "coin", "cancelReplaceMode", "cancelOrderId"),
    ),
    "bybit": (
        *("category", "symbol", "limit", "cursor", "orderId", "orderLinkId", "openOnly", "orderStatus", "startTime"),
        *("endTime", "interval", "start", "end", "accountType", "coin", "qty", "price"),
    ),
    "okx": (
        *("instId", "instType", "limit", "after", "before", "begin", "end", "ordId", "clOrdId", "state", "ordType"),
        *("bar", "sz", "type", "ccy", "newSz", "newPx", "subType", "depId", "txId"),
    ),
    "coinbase": (
        *("product_id", "product_ids", "limit", "cursor", "order_ids", "order_status", "start_date", "end_date"),
        *("start_sequence_timestamp", "granularity", "start", "end", "product_type", "offset", "trade_ids"),
    ),
}
"""Fields that other calls of each exchange know."""
STRANGE = (
    "client_oid",
    "stop_price",
    "cl_ord_id",
    "newClientOrderId",
    "funds",
    "recvWindow",
    "nonce",
    "stp",
    "\u2603",
    "foo",
)
NONSENSE: tuple[object, ...] = (
    *("", " ", "0", "-1", "1", "0.01", "-0.0", "1e-999999999", "1e999999999", "9" * 20, "9" * 5_000, "NaN", "Infinity"),
    *("\u00b2", "\u0663", "1_0", "0x10", "true", "null", "{}", "%", "{detail}", "\x00", "\U0001f600", "a" * 300),
    *(None, True, False, 0, -1, 1, 1.5, 1e300, 5e-324, 2**63, [], {}, [[]], {"a": [None]}, ["BTC-USD"]),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "2026-01-01", "client:", "00000000-0000-0000-0000-0"),
)


def request_made(random: Random, exchange: str, method: str, template: str) -> Call:
    """Return one call of the route whose path is `template`; most of its fields make sense."""
    fields = _fields(random, exchange, is_order=method == "POST" and template.startswith(ORDERS[exchange][0]))
    path = _path(random, exchange, template)
    if method in ("GET", "DELETE") or CODINGS[exchange] == "query":
        return Call(method, f"{path}?{_encoded(fields)}")
    if CODINGS[exchange] == "form":
        return Call(method, path, _encoded(fields))
    body = json.dumps(fields) if random.random() < 0.9 else random.choice(("[]", "{", '"', "null", "7", ""))
    return Call(method, path, body)


def _fields(random: Random, exchange: str, *, is_order: bool) -> dict[str, object]:
    if is_order:
        fields = {name: random.choice(values) for name, values in ORDERS[exchange][1].items()}
        for name in random.sample(sorted(fields), random.choice((0, 0, 1, 2))):
            fields[name] = random.choice(NONSENSE)
    else:
        names = random.sample(OTHERS[exchange], random.choice((0, 1, 1, 2)))
        fields = {name: random.choice(NONSENSE) for name in names}
        market = next(iter(ORDERS[exchange][1].items()))
        if market[0] in OTHERS[exchange] and random.random() < 0.7:
            fields[market[0]] = market[1][0]
    if random.random() < 0.2:
        fields[random.choice(STRANGE)] = random.choice(NONSENSE)
    return fields


def _path(random: Random, exchange: str, template: str) -> str:
    parts = []
    for part in template.split("/"):
        if "{" in part:
            word = random.choice((*[MARKETS[exchange]] * 4, "btc", "1", str(random.choice(NONSENSE))[:200]))
            parts.append(quote(random.choice(("buy", "sell")) if part.startswith("{side") else word or "x", safe=""))
        else:
            parts.append(part)
    return "/".join(parts)


def _encoded(fields: dict[str, object]) -> str:
    return urlencode({name: value if isinstance(value, str) else json.dumps(value) for name, value in fields.items()})


def frame_made(random: Random, exchange: str, private: dict[str, object]) -> str:
    """Return one message of a WebSocket client; `private` opens private channels."""
    if random.random() < 0.1:
        return random.choice(("", "{", "[]", "null", "7", '"x"', "\x00", '{"method": 1e400}', "[" * 2_000))
    frame: dict[str, object] = dict(random.choice(_FRAMES[exchange]))
    params = frame.get("params")
    if isinstance(params, dict):
        frame["params"] = _spoilt(random, {**params, **(private if random.random() < 0.5 else {})})
    elif isinstance(frame.get("data"), dict):
        frame["data"] = _spoilt(random, frame["data"])  # type: ignore[arg-type]
    return json.dumps(_spoilt(random, frame))


def _spoilt(random: Random, fields: dict[str, object]) -> dict[str, object]:
    for name in list(fields):
        if random.random() < 0.2:
            fields = {**fields, name: random.choice(NONSENSE)}
        elif random.random() < 0.05:
            fields = {key: value for key, value in fields.items() if key != name}
    return fields


_FRAMES: dict[str, tuple[dict[str, object], ...]] = {
    "coinbaseexchange": (
        {"type": "subscribe", "product_ids": ["BTC-USD"], "channels": ["matches", "ticker", "heartbeat"]},
        {"type": "subscribe", "channels": [{"name": "level2", "product_ids": ["BTC-USD"]}], "key": 1, "signature": 2},
        {"type": "unsubscribe", "channels": ["matches"]},
    ),
    "bitstamp": (
        {"event": "bts:subscribe", "data": {"channel": "live_trades_btceur"}},
        {"event": "bts:subscribe", "data": {"channel": "private-my_orders_btceur-7", "auth": "x"}},
        {"event": "bts:unsubscribe", "data": {"channel": "live_trades_btceur"}},
        {"event": "bts:heartbeat"},
    ),
    "bitflyer": (
        {"jsonrpc": "2.0", "id": 1, "method": "subscribe", "params": {"channel": "lightning_board_BTC_JPY"}},
        {"id": 2, "method": "unsubscribe", "params": {"channel": "lightning_board_BTC_JPY"}},
        {"id": 3, "method": "auth", "params": {"api_key": "x", "timestamp": 1, "nonce": "n" * 20, "signature": "s"}},
    ),
    "kraken": (
        {"method": "subscribe", "params": {"channel": "book", "symbol": ["BTC/USD"], "depth": 10}, "req_id": 1},
        {"method": "subscribe", "params": {"channel": "executions", "snap_trades": True}},
        {"method": "unsubscribe", "params": {"channel": "ticker", "symbol": ["BTC/USD"], "event_trigger": "bbo"}},
        {
            "method": "add_order",
            "params": {"symbol": "BTC/USD", "side": "buy", "order_type": "limit", "order_qty": 0.01, "limit_price": 9},
        },
        {"method": "subscribe", "params": {"channel": "ohlc", "symbol": ["BTC/USD"], "interval": 1}},
        {"method": "amend_order", "params": {"order_id": "x", "order_qty": 1, "limit_price": 9}},
        {"method": "cancel_order", "params": {"order_id": ["x"], "cl_ord_id": []}},
        {"method": "cancel_all", "params": {}},
        {"method": "ping"},
    ),
    "binance": (
        {"method": "SUBSCRIBE", "params": ["btcusdt@depth@100ms"], "id": 1},
        {"method": "UNSUBSCRIBE", "params": ["btcusdt@trade"], "id": None},
        {"method": "LIST_SUBSCRIPTIONS", "id": {}},
        {"id": 1, "method": "userDataStream.subscribe.signature", "params": {"apiKey": "x", "timestamp": 1}},
        {"id": 2, "method": "userDataStream.unsubscribe"},
        {"id": 3, "method": "time", "params": []},
        {"id": 4, "method": "klines", "params": {"symbol": "BTCUSDT", "interval": "1m"}},
        {"id": 5, "method": "order.place", "params": {"symbol": "BTCUSDT", "apiKey": "x", "timestamp": 1}},
    ),
    "bybit": (
        {"op": "subscribe", "args": ["orderbook.50.BTCUSDT", "publicTrade.BTCUSDT"], "req_id": "1"},
        {"op": "unsubscribe", "args": ["tickers.BTCUSDT"]},
        {"op": "auth", "args": ["x", 1, "y"]},
        {"op": "subscribe", "args": ["order", "execution", "wallet"]},
        {"op": "ping", "req_id": 7},
    ),
    "okx": (
        {"op": "subscribe", "args": [{"channel": "books", "instId": "BTC-USDT"}, {"channel": "trades"}]},
        {"op": "unsubscribe", "args": [{"channel": "tickers", "instId": "BTC-USDT"}]},
        {"op": "login", "args": [{"apiKey": "x", "passphrase": "y", "timestamp": "1", "sign": "z"}]},
        {"op": "subscribe", "args": [{"channel": "orders", "instType": "SPOT"}, {"channel": "account"}]},
        {"op": "subscribe", "args": [7]},
    ),
    "coinbase": (
        {"type": "subscribe", "channel": "level2", "product_ids": ["BTC-USD", "ETH-USD"]},
        {"type": "unsubscribe", "channel": "ticker", "product_ids": []},
        {"type": "subscribe", "channel": "market_trades", "product_ids": ["BTC-USD"]},
        {"type": "subscribe", "channel": "heartbeats"},
        {"type": "subscribe", "channel": "user", "product_ids": [], "jwt": "a.b.c"},
    ),
}
