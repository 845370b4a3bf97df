"""The requests of plain clients to each simulated exchange: signed orders, subscriptions, and how its book is read."""

import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal
from urllib.parse import urlencode

import jwt

from exchanges.credentials import Credentials
from market.time_units import MICROSECONDS

Message = dict[str, Any]
Lifetime = Literal["IOC", "GTC"]
_NONCES = itertools.count(1)


@dataclass(frozen=True)
class Call:
    """One REST request as it goes on the wire; `path` with its query, below the exchange's own."""

    method: str
    path: str
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class WireClient:
    """One exchange's ways. Times in microseconds, as the exchange's clock has them; prices and amounts as text."""

    exchange: str
    symbol: str
    public: str
    """A path that needs no keys and shows the book."""
    stream: str
    """The WebSocket's path."""
    book_channel: str
    sign: Callable[[Call, Credentials, int], Call]
    order: Callable[[str, str, Lifetime], Call]
    """(amount, price, lifetime) of a buy."""
    fills: Call | None
    """The call that lists fills; None if no list can show one twice."""
    subscribe: Callable[[Credentials, int], Message]
    book_of: Callable[[Message], tuple[list[Any], list[Any]] | None]
    """Bids and asks of a message about the book, as [price, amount]; None if it is about something else."""


def _hex(secret: str, text: str, kind: str = "sha256") -> str:
    return hmac.digest(secret.encode(), text.encode(), kind).hex()


def _coinbase_signature(keys: Credentials, now: int, text: str) -> tuple[str, str]:
    timestamp = str(now // MICROSECONDS)
    secret = base64.b64decode(keys.secret)
    return timestamp, base64.b64encode(hmac.digest(secret, f"{timestamp}{text}".encode(), "sha256")).decode()


def _sign_coinbase(call: Call, keys: Credentials, now: int) -> Call:
    timestamp, signature = _coinbase_signature(keys, now, call.method + call.path + call.body)
    values = {"KEY": keys.api_key, "PASSPHRASE": keys.password, "TIMESTAMP": timestamp, "SIGN": signature}
    return Call(call.method, call.path, call.body, {f"CB-ACCESS-{name}": value for name, value in values.items()})


def _subscribe_coinbase(keys: Credentials, now: int) -> Message:
    timestamp, signature = _coinbase_signature(keys, now, "GET/users/self/verify")
    signed = {"key": keys.api_key, "passphrase": keys.password, "timestamp": timestamp, "signature": signature}
    channels = ["level2", "user"]
    return {"type": "subscribe", "product_ids": ["BTC-USD"], "channels": channels, **signed}


def _sign_bitstamp(call: Call, keys: Credentials, now: int) -> Call:
    """Sign a call. The host is signed, too: the sender completes `path` through `bitstamp_headers`."""
    return Call(call.method, call.path, call.body, bitstamp_headers("", call, keys, now))


def bitstamp_headers(host: str, call: Call, keys: Credentials, now: int) -> dict[str, str]:
    nonce, stamp, version = f"{next(_NONCES):036d}", str(now // 1_000), "v2"
    kind = "application/x-www-form-urlencoded" if call.body else ""
    text = f"BITSTAMP {keys.api_key}{call.method}{host}/bitstamp{call.path}{kind}{nonce}{stamp}{version}{call.body}"
    headers = {
        "X-Auth": f"BITSTAMP {keys.api_key}",
        "X-Auth-Nonce": nonce,
        "X-Auth-Timestamp": stamp,
        "X-Auth-Version": version,
        "X-Auth-Signature": _hex(keys.secret, text),
    }
    return headers | ({"Content-Type": kind} if kind else {})


def _sign_bitflyer(call: Call, keys: Credentials, now: int) -> Call:
    stamp = str(now // MICROSECONDS)
    signature = _hex(keys.secret, f"{stamp}{call.method}{call.path}{call.body}")
    headers = {"ACCESS-KEY": keys.api_key, "ACCESS-TIMESTAMP": stamp, "ACCESS-SIGN": signature}
    return Call(call.method, call.path, call.body, headers)


def _sign_kraken(call: Call, keys: Credentials, now: int) -> Call:
    nonce = now * 1_000 + next(_NONCES)
    body = f"nonce={nonce}&{call.body}"
    digest = hashlib.sha256(f"{nonce}{body}".encode()).digest()
    secret = base64.b64decode(keys.secret)
    signature = base64.b64encode(hmac.digest(secret, call.path.encode() + digest, "sha512")).decode()
    headers = {"API-Key": keys.api_key, "API-Sign": signature, "Content-Type": "application/x-www-form-urlencoded"}
    return Call(call.method, call.path, body, headers)


def _sign_binance(call: Call, keys: Credentials, now: int) -> Call:
    path, _, query = call.path.partition("?")
    query = f"{query}&timestamp={now // 1_000}".removeprefix("&")
    signed = f"{query}&signature={_hex(keys.secret, query)}"
    return Call(call.method, f"{path}?{signed}", "", {"X-MBX-APIKEY": keys.api_key})


def _sign_bybit(call: Call, keys: Credentials, now: int) -> Call:
    stamp, window = str(now // 1_000), "5000"
    payload = call.body or call.path.partition("?")[2]
    values = {"API-KEY": keys.api_key, "TIMESTAMP": stamp, "RECV-WINDOW": window}
    values["SIGN"] = _hex(keys.secret, f"{stamp}{keys.api_key}{window}{payload}")
    return Call(call.method, call.path, call.body, {f"X-BAPI-{name}": value for name, value in values.items()})


def _coinbase_token(keys: Credentials, now: int, **claims: str) -> str:
    seconds = now // MICROSECONDS
    times = {"iss": "cdp", "sub": keys.api_key, "nbf": seconds, "exp": seconds + 120}
    head = {"kid": keys.api_key, "nonce": str(next(_NONCES))}
    return jwt.encode({**times, **claims}, keys.secret, algorithm="ES256", headers=head)


def _sign_advanced(call: Call, keys: Credentials, now: int) -> Call:
    token = _coinbase_token(keys, now, uri=f"{call.method} api.coinbase.com{call.path.partition('?')[0]}")
    return Call(call.method, call.path, call.body, {"Authorization": f"Bearer {token}"})


def _sign_okx(call: Call, keys: Credentials, now: int) -> Call:
    stamp = f"{datetime.fromtimestamp(now / MICROSECONDS, UTC):%Y-%m-%dT%H:%M:%S}.{now // 1_000 % 1_000:03d}Z"
    text = f"{stamp}{call.method}{call.path}{call.body}"
    signature = base64.b64encode(hmac.digest(keys.secret.encode(), text.encode(), "sha256")).decode()
    values = {"KEY": keys.api_key, "SIGN": signature, "TIMESTAMP": stamp, "PASSPHRASE": keys.password}
    return Call(call.method, call.path, call.body, {f"OK-ACCESS-{name}": value for name, value in values.items()})


def _order_coinbase(amount: str, price: str, lifetime: Lifetime) -> Call:
    fields = {"product_id": "BTC-USD", "side": "buy", "type": "limit", "size": amount, "price": price}
    return Call("POST", "/orders", json.dumps({**fields, "time_in_force": lifetime}))


def _order_bitstamp(amount: str, price: str, lifetime: Lifetime) -> Call:
    fields = {"amount": amount, "price": price} | ({"ioc_order": "True"} if lifetime == "IOC" else {})
    return Call("POST", "/api/v2/buy/btceur/", urlencode(fields))


def _order_bitflyer(amount: str, price: str, lifetime: Lifetime) -> Call:
    fields = {"product_code": "BTC_JPY", "child_order_type": "LIMIT", "side": "BUY", "time_in_force": lifetime}
    body = json.dumps({**fields, "price": int(Decimal(price)), "size": float(amount)})
    return Call("POST", "/v1/me/sendchildorder", body)


def _order_kraken(amount: str, price: str, lifetime: Lifetime) -> Call:
    fields = {"pair": "XBTUSD", "type": "buy", "ordertype": "limit", "volume": amount, "price": price}
    return Call("POST", "/0/private/AddOrder", urlencode({**fields, "timeinforce": lifetime}))


def _order_binance(amount: str, price: str, lifetime: Lifetime) -> Call:
    fields = {"symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": amount, "price": price}
    return Call("POST", "/api/v3/order?" + urlencode({**fields, "timeInForce": lifetime}))


def _order_bybit(amount: str, price: str, lifetime: Lifetime) -> Call:
    fields = {"category": "spot", "symbol": "BTCUSDT", "side": "Buy", "orderType": "Limit", "qty": amount}
    return Call("POST", "/v5/order/create", json.dumps({**fields, "price": price, "timeInForce": lifetime}))


def _order_okx(amount: str, price: str, lifetime: Lifetime) -> Call:
    kind = "ioc" if lifetime == "IOC" else "limit"
    fields = {"instId": "BTC-USDT", "tdMode": "cash", "side": "buy", "ordType": kind, "sz": amount, "px": price}
    return Call("POST", "/api/v5/trade/order", json.dumps(fields))


def _order_advanced(amount: str, price: str, lifetime: Lifetime) -> Call:
    kind = "sor_limit_ioc" if lifetime == "IOC" else "limit_limit_gtc"
    fields = {"client_order_id": f"wire-{next(_NONCES)}", "product_id": "BTC-USD", "side": "BUY"}
    terms = {kind: {"base_size": amount, "limit_price": price}}
    return Call("POST", "/api/v3/brokerage/orders", json.dumps({**fields, "order_configuration": terms}))


def _book_coinbase(message: Message) -> tuple[list[Any], list[Any]] | None:
    if message.get("type") != "l2update":
        return None
    rows = message["changes"]
    return tuple([row[1:] for row in rows if row[0] == side] for side in ("buy", "sell"))  # type: ignore[return-value]


def _book_bitstamp(message: Message) -> tuple[list[Any], list[Any]] | None:
    is_book = message.get("event") == "data" and message["channel"].startswith("diff_order_book")
    return (message["data"]["bids"], message["data"]["asks"]) if is_book else None


def _book_bitflyer(message: Message) -> tuple[list[Any], list[Any]] | None:
    if message.get("method") != "channelMessage":
        return None
    board = message["params"]["message"]
    bids, asks = ([[row["price"], row["size"]] for row in board[name]] for name in ("bids", "asks"))
    return bids, asks


def _book_kraken(message: Message) -> tuple[list[Any], list[Any]] | None:
    if (message.get("channel"), message.get("type")) != ("book", "update"):
        return None
    [row] = message["data"]
    bids, asks = ([[level["price"], level["qty"]] for level in row[name]] for name in ("bids", "asks"))
    return bids, asks


def _book_binance(message: Message) -> tuple[list[Any], list[Any]] | None:
    return (message["b"], message["a"]) if message.get("e") == "depthUpdate" else None


def _book_bybit(message: Message) -> tuple[list[Any], list[Any]] | None:
    is_book = message.get("type") == "delta" and message["topic"].startswith("orderbook.")
    return (message["data"]["b"], message["data"]["a"]) if is_book else None


def _book_okx(message: Message) -> tuple[list[Any], list[Any]] | None:
    if message.get("action") != "update":
        return None
    bids, asks = ([level[:2] for level in message["data"][0][side]] for side in ("bids", "asks"))
    return bids, asks


def _book_advanced(message: Message) -> tuple[list[Any], list[Any]] | None:
    if message.get("channel") != "l2_data" or message["events"][0]["type"] != "update":
        return None
    rows = message["events"][0]["updates"]
    bids, asks = (
        [[row["price_level"], row["new_quantity"]] for row in rows if row["side"] == side] for side in ("bid", "offer")
    )
    return bids, asks


WIRE_CLIENTS = (
    WireClient(
        exchange="coinbaseexchange",
        symbol="BTC/USD",
        public="/products/BTC-USD/book",
        stream="/ws",
        book_channel="level2:BTC-USD",
        sign=_sign_coinbase,
        order=_order_coinbase,
        fills=Call("GET", "/fills?product_id=BTC-USD"),
        subscribe=_subscribe_coinbase,
        book_of=_book_coinbase,
    ),
    WireClient(
        exchange="bitstamp",
        symbol="BTC/EUR",
        public="/api/v2/order_book/btceur/",
        stream="/ws",
        book_channel="diff_order_book_btceur",
        sign=_sign_bitstamp,
        order=_order_bitstamp,
        fills=Call("POST", "/api/v2/user_transactions/"),
        subscribe=lambda _keys, _now: {"event": "bts:subscribe", "data": {"channel": "diff_order_book_btceur"}},
        book_of=_book_bitstamp,
    ),
    WireClient(
        exchange="bitflyer",
        symbol="BTC/JPY",
        public="/v1/getboard?product_code=BTC_JPY",
        stream="/ws",
        book_channel="lightning_board_BTC_JPY",
        sign=_sign_bitflyer,
        order=_order_bitflyer,
        fills=Call("GET", "/v1/me/getexecutions?product_code=BTC_JPY"),
        subscribe=lambda _keys, _now: {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "subscribe",
            "params": {"channel": "lightning_board_BTC_JPY"},
        },
        book_of=_book_bitflyer,
    ),
    WireClient(
        exchange="kraken",
        symbol="BTC/USD",
        public="/0/public/Depth?pair=XBTUSD",
        stream="/ws/v2",
        book_channel="book:BTC/USD",
        sign=_sign_kraken,
        order=_order_kraken,
        fills=None,
        subscribe=lambda _keys, _now: {
            "method": "subscribe",
            "params": {"channel": "book", "symbol": ["BTC/USD"], "depth": 10},
        },
        book_of=_book_kraken,
    ),
    WireClient(
        exchange="binance",
        symbol="BTC/USDT",
        public="/api/v3/depth?symbol=BTCUSDT&limit=5",
        stream="/ws",
        book_channel="btcusdt@depth",
        sign=_sign_binance,
        order=_order_binance,
        fills=Call("GET", "/api/v3/myTrades?symbol=BTCUSDT"),
        subscribe=lambda _keys, _now: {"method": "SUBSCRIBE", "params": ["btcusdt@depth@100ms"], "id": 1},
        book_of=_book_binance,
    ),
    WireClient(
        exchange="bybit",
        symbol="BTC/USDT",
        public="/v5/market/orderbook?category=spot&symbol=BTCUSDT&limit=5",
        stream="/v5/public/spot",
        book_channel="orderbook.50.BTCUSDT",
        sign=_sign_bybit,
        order=_order_bybit,
        fills=Call("GET", "/v5/execution/list?category=spot&symbol=BTCUSDT"),
        subscribe=lambda _keys, _now: {"op": "subscribe", "args": ["orderbook.50.BTCUSDT"]},
        book_of=_book_bybit,
    ),
    WireClient(
        exchange="okx",
        symbol="BTC/USDT",
        public="/api/v5/market/books?instId=BTC-USDT&sz=5",
        stream="/ws/v5/public",
        book_channel="books.BTC-USDT",
        sign=_sign_okx,
        order=_order_okx,
        fills=Call("GET", "/api/v5/trade/fills?instType=SPOT&instId=BTC-USDT"),
        subscribe=lambda _keys, _now: {"op": "subscribe", "args": [{"channel": "books", "instId": "BTC-USDT"}]},
        book_of=_book_okx,
    ),
    WireClient(
        exchange="coinbase",
        symbol="BTC/USD",
        public="/api/v3/brokerage/market/product_book?product_id=BTC-USD&limit=5",
        stream="/ws",
        book_channel="level2:BTC-USD",
        sign=_sign_advanced,
        order=_order_advanced,
        fills=Call("GET", "/api/v3/brokerage/orders/historical/fills?product_ids=BTC-USD"),
        subscribe=lambda _keys, _now: {"type": "subscribe", "product_ids": ["BTC-USD"], "channel": "level2"},
        book_of=_book_advanced,
    ),
)
