"""Binance's rules as its documents have them: weights, counts, filters, self-trades, keys, sessions, units of time."""

import base64
import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import aiohttp
import ccxt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from yarl import URL

from exchanges.credentials import Credentials, load_credentials
from market.money import decimal_of, floor_to_step
from runtime.clock import SystemClock, wall_now
from simulators.binance.signing_keys import ensure_signing_keys, signing_keys
from simulators.matching.order_records import SimulatedOrder
from tests.simulators.contract.bench import DEADLINE, Bench, Row, opened
from tests.simulators.test_binance_gateway import asked, limit_order, signed

SYMBOL = {"symbol": "BTCUSDT"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    ensure_signing_keys(tmp_path, ["binance"])
    async with opened("binance", tmp_path) as bench:
        yield bench


async def signed_call(bench: Bench, method: str, path: str, fields: Mapping[str, str]) -> tuple[int, Any, Any]:
    fields, headers = signed(bench, {**fields, "timestamp": str(wall_now() // 1_000)})
    return await asked(bench, method, path, fields, headers)


@pytest.mark.parametrize(
    ("path", "fields", "weight"),
    [
        ("/api/v3/ticker/24hr", SYMBOL, 2),
        ("/api/v3/ticker/24hr", {}, 80),
        ("/api/v3/ticker/24hr", {"symbols": '["BTCUSDT","ETHUSDT"]'}, 2),
        ("/api/v3/ticker/price", SYMBOL, 2),
        ("/api/v3/ticker/price", {}, 4),
        ("/api/v3/ticker/bookTicker", SYMBOL, 2),
        ("/api/v3/ticker/bookTicker", {}, 4),
        ("/api/v3/ticker", SYMBOL, 4),
        ("/api/v3/ticker", {"symbols": '["BTCUSDT","ETHUSDT"]'}, 8),
        ("/api/v3/avgPrice", SYMBOL, 2),
        ("/api/v3/depth", {**SYMBOL, "limit": "500"}, 25),
        ("/api/v3/depth", {**SYMBOL, "limit": "1000"}, 50),
        ("/api/v3/openOrders", SYMBOL, 6),
        ("/api/v3/openOrders", {}, 80),
        ("/api/v3/myTrades", SYMBOL, 20),
        ("/api/v3/myTrades", {**SYMBOL, "orderId": "1"}, 5),
        ("/api/v3/rateLimit/order", {}, 40),
        ("/api/v3/myPreventedMatches", {**SYMBOL, "preventedMatchId": "1"}, 2),
        ("/api/v3/myPreventedMatches", {**SYMBOL, "orderId": "1"}, 20),
    ],
)
async def test_weights(bench: Bench, path: str, fields: dict[str, str], weight: int) -> None:
    is_private = path.rpartition("/")[2] in ("openOrders", "myTrades", "order", "myPreventedMatches")
    ask = signed_call if is_private else asked
    status, body, headers = await ask(bench, "GET", path, fields)
    assert (status, headers["X-MBX-USED-WEIGHT-1M"]) == (200, str(weight)), body


async def test_orders_count_in_ten_seconds_and_in_the_day(bench: Bench) -> None:
    for number in (1, 2):
        _, _, headers = await signed_call(bench, "POST", "/api/v3/order", limit_order(bench))
        assert (headers["X-MBX-ORDER-COUNT-10S"], headers["X-MBX-ORDER-COUNT-1D"]) == (str(number), str(number))
    _, rows, _ = await signed_call(bench, "GET", "/api/v3/rateLimit/order", {})
    assert [(row["interval"], row["intervalNum"], row["limit"], row["count"]) for row in rows] == [
        ("SECOND", 10, 100, 2),
        ("DAY", 1, 200_000, 2),
    ]
    kinds = [row["rateLimitType"] for row in (await bench.client.publicGetExchangeInfo())["rateLimits"]]
    assert kinds == ["REQUEST_WEIGHT", "ORDERS", "ORDERS", "RAW_REQUESTS"]


async def test_the_average_and_the_rolling_ticker_are_of_the_trades(bench: Bench) -> None:
    tape = bench.exchange.tape
    bench.tick_until(lambda: len(tape.newest(bench.symbol, 3)) == 3)
    trades = tape.newest(bench.symbol, 1_000)
    volume = sum(trade.amount for trade in trades)
    average = sum(trade.price * trade.amount for trade in trades) / volume
    row = await bench.client.publicGetAvgPrice(SYMBOL)
    assert (str(row["mins"]), row["price"]) == ("5", f"{average:.8f}")
    row = await bench.client.publicGetTicker({**SYMBOL, "windowSize": "1h"})
    assert (row["volume"], str(row["count"])) == (f"{volume:.8f}", str(len(trades)))
    assert (int(row["firstId"]), int(row["lastId"])) == (trades[-1].number, trades[0].number)
    assert (decimal_of(row["openPrice"]), decimal_of(row["lastPrice"])) == (trades[-1].price, trades[0].price)
    assert int(row["openTime"]) % 60_000 == 0
    brief = await bench.client.publicGetTicker({**SYMBOL, "windowSize": "1h", "type": "MINI"})
    assert row.keys() - brief.keys() == {"priceChange", "priceChangePercent", "weightedAvgPrice"}


@pytest.mark.parametrize("window", ["60m", "24h", "8d", "0m", "1w", "x"])
async def test_windows_that_there_are_not(bench: Bench, window: str) -> None:
    with pytest.raises(ccxt.BadRequest, match="-1130"):
        await bench.client.publicGetTicker({**SYMBOL, "windowSize": window})


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
async def test_listen_keys_are_gone(bench: Bench, method: str) -> None:
    keys = load_credentials(bench.outside.home, "binance")
    url = f"{bench.outside.url}/binance/api/v3/userDataStream"
    async with aiohttp.ClientSession() as session:
        response = await session.request(method, url, headers={"X-MBX-APIKEY": keys.api_key})
        page = await response.text()
    assert (response.status, response.content_type, len(page)) == (410, "text/html", 136)
    assert page.startswith("<html>\r\n<head><title>410 Gone</title></head>")


async def test_nothing_can_be_withdrawn(bench: Bench) -> None:
    rows = await bench.client.sapiGetAssetAssetDetail({"asset": "BTC"})
    assert (rows.keys(), rows["BTC"]["withdrawStatus"]) == ({"BTC"}, False)


@pytest.mark.parametrize(
    ("times", "is_taken"), [("0.21", True), ("0.19", False), ("4.9", False), ("5.1", False)], ids=str
)
async def test_prices_far_from_the_average_are_rejected(bench: Bench, times: str, is_taken: bool) -> None:
    """Reject such prices of a buy. Beyond the market a plain order would take, so this one may only make."""
    price, _ = bench.best("buy")
    order = limit_order(bench, price=str(floor_to_step(price * decimal_of(times), bench.market.tick_size)))
    order |= {"type": "LIMIT_MAKER"}
    order.pop("timeInForce")
    words = "immediately match" if times == "4.9" else "Filter failure: PERCENT_PRICE_BY_SIDE"
    status, body, _ = await signed_call(bench, "POST", "/api/v3/order", order)
    assert (status, "" if is_taken else words in body["msg"]) == ((200, "") if is_taken else (400, True)), body


async def test_a_market_takes_five_stops(bench: Bench) -> None:
    price = bench.out_of_reach("buy")
    stop = limit_order(bench, type="STOP_LOSS_LIMIT", side="SELL", stopPrice=str(price))
    for _ in range(5):
        assert (await signed_call(bench, "POST", "/api/v3/order", stop))[0] == 200
    status, body, _ = await signed_call(bench, "POST", "/api/v3/order", stop)
    assert (status, body["msg"]) == (400, "Filter failure: MAX_NUM_ALGO_ORDERS")
    assert (await signed_call(bench, "POST", "/api/v3/order", limit_order(bench)))[0] == 200


def inside(bench: Bench) -> Decimal:
    """Return a price that nobody quotes, above the best bid and below the best ask."""
    return bench.best("buy")[0] + bench.market.tick_size


STATUS_BY_MODE = {
    # (of the older, of the newer, and what of each was prevented): the older is of 0.02, the newer of 0.03
    "EXPIRE_TAKER": ("NEW", "EXPIRED_IN_MATCH", None, "0.03000000"),
    "EXPIRE_MAKER": ("EXPIRED_IN_MATCH", "NEW", "0.02000000", None),
    "EXPIRE_BOTH": ("EXPIRED_IN_MATCH", "EXPIRED_IN_MATCH", "0.02000000", "0.03000000"),
    "DECREMENT": ("EXPIRED_IN_MATCH", "NEW", "0.02000000", "0.02000000"),
}


@pytest.mark.parametrize("mode", [*STATUS_BY_MODE, ""])
async def test_an_account_does_not_trade_with_itself(bench: Bench, mode: str) -> None:
    price, balances = str(inside(bench)), dict(bench.exchange.balances)
    terms = limit_order(bench, price=price)
    _, older, _ = await signed_call(bench, "POST", "/api/v3/order", {**terms, "quantity": "0.02"})
    asks = {"selfTradePreventionMode": mode} if mode else {}
    newer_terms = {**terms, "side": "SELL", "quantity": "0.03", **asks}
    _, newer, _ = await signed_call(bench, "POST", "/api/v3/order", newer_terms)
    mode = mode or "EXPIRE_MAKER"
    of_older, of_newer, older_amount, newer_amount = STATUS_BY_MODE[mode]
    rows = [
        (await signed_call(bench, "GET", "/api/v3/order", {**SYMBOL, "orderId": str(row["orderId"])}))[1]
        for row in (older, newer)
    ]
    assert [row["status"] for row in rows] == [of_older, of_newer]
    assert [row.get("preventedQuantity") for row in rows] == [older_amount, newer_amount]
    assert (newer["status"], newer["selfTradePreventionMode"]) == (of_newer, mode)
    [match] = newer["preventedMatches"]
    assert (match["makerOrderId"], match["price"]) == (older["orderId"], f"{decimal_of(price):.8f}")
    _, listed, _ = await signed_call(
        bench, "GET", "/api/v3/myPreventedMatches", {**SYMBOL, "orderId": str(older["orderId"])}
    )
    assert [row["preventedMatchId"] for row in listed] == [match["preventedMatchId"]]
    assert (bench.fills(), dict(bench.exchange.balances)) == ([], balances)
    assert sorted(map(_rest, bench.exchange.customer.open_orders())) == sorted(
        amount
        for status, amount in (
            (of_older, Decimal("0.02")),
            (of_newer, Decimal("0.01") if mode == "DECREMENT" else Decimal("0.03")),
        )
        if status == "NEW"
    )


def _rest(order: SimulatedOrder) -> Decimal:
    return order.remaining


async def test_a_mode_that_the_market_does_not_allow(bench: Bench) -> None:
    order = limit_order(bench, selfTradePreventionMode="NONE")
    status, body, _ = await signed_call(bench, "POST", "/api/v3/order", order)
    assert (status, body["code"]) == (400, -1013)
    assert "self-trade prevention mode" in body["msg"]


def signature_of(keys: Credentials, text: str) -> str:
    private = load_pem_private_key(keys.secret.encode(), None)
    if isinstance(private, RSAPrivateKey):
        return base64.b64encode(private.sign(text.encode(), PKCS1v15(), SHA256())).decode()
    assert isinstance(private, Ed25519PrivateKey)
    return base64.b64encode(private.sign(text.encode())).decode()


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
async def test_a_private_key_signs(bench: Bench, kind: str) -> None:
    keys = signing_keys(bench.outside.home, "binance")[kind]
    headers = {"X-MBX-APIKEY": keys.api_key}
    query = urlencode({**limit_order(bench), "timestamp": str(wall_now() // 1_000)})
    async with aiohttp.ClientSession() as session:
        for text, status, code in ((query, 200, None), (f"{query}0", 400, -1022)):
            url = f"{bench.outside.url}/binance/api/v3/order?{query}&signature={quote(signature_of(keys, text), '')}"
            async with session.post(URL(url, encoded=True), headers=headers) as response:
                assert (response.status, (await response.json()).get("code")) == (status, code)
    assert len(bench.exchange.customer.open_orders()) == 1


class Caller:
    """One connection to the WebSocket API."""

    def __init__(self, bench: Bench, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.bench = bench
        self.socket = socket
        self.events: list[Row] = []

    async def ask(self, method: str, **fields: object) -> Row:
        await self.socket.send_json({"id": method, "method": method, "params": fields})
        while True:
            message = json.loads((await self.socket.receive(timeout=DEADLINE)).data)
            if "event" not in message:
                return dict(message)
            self.events.append(message["event"])

    async def signed(self, method: str, kind: str, **fields: object) -> Row:
        home = self.bench.outside.home
        keys = signing_keys(home, "binance")[kind] if kind else load_credentials(home, "binance")
        fields = {**fields, "apiKey": keys.api_key, "timestamp": wall_now() // 1_000}
        text = "&".join(f"{name}={fields[name]}" for name in sorted(fields))
        hexed = hmac.digest(keys.secret.encode(), text.encode(), hashlib.sha256).hex()
        return await self.ask(method, **fields, signature=signature_of(keys, text) if kind else hexed)


@asynccontextmanager
async def calling(bench: Bench, query: str = "") -> AsyncIterator[Caller]:
    url = f"{bench.outside.url}/binance/ws-api/v3{query}"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        yield Caller(bench, socket)


async def test_a_session_needs_no_more_signatures(bench: Bench) -> None:
    async with calling(bench) as caller:
        assert (await caller.ask("userDataStream.subscribe"))["status"] == 401
        assert (await caller.ask("session.status"))["result"]["apiKey"] is None
        logged_on = (await caller.signed("session.logon", "ed25519"))["result"]
        assert logged_on["apiKey"] == signing_keys(bench.outside.home, "binance")["ed25519"].api_key
        assert logged_on["authorizedSince"] >= logged_on["connectedSince"]
        assert (await caller.ask("userDataStream.subscribe"))["result"] == {"subscriptionId": 0}
        placed = await caller.ask("order.place", **limit_order(bench), timestamp=wall_now() // 1_000)
        assert placed["result"]["status"] == "NEW"
        assert (await caller.ask("session.logout"))["result"]["apiKey"] is None
        order = await caller.ask("order.place", **limit_order(bench), timestamp=wall_now() // 1_000)
        assert (order["status"], order["error"]["code"]) == (401, -2014)
        assert [event["e"] for event in caller.events] == ["executionReport", "outboundAccountPosition"]


@pytest.mark.parametrize("kind", ["", "rsa"])
async def test_only_ed25519_keys_open_sessions(bench: Bench, kind: str) -> None:
    async with calling(bench) as caller:
        answer = await caller.signed("session.logon", kind)
        assert (answer["status"], answer["error"]["code"]) == (400, -4056)


async def test_a_session_of_a_wrong_signature_is_none(bench: Bench) -> None:
    async with calling(bench) as caller:
        keys = signing_keys(bench.outside.home, "binance")["ed25519"]
        fields = {"apiKey": keys.api_key, "timestamp": wall_now() // 1_000, "signature": "AAAA"}
        assert (await caller.ask("session.logon", **fields))["error"]["code"] == -1022
        assert (await caller.ask("session.status"))["result"]["apiKey"] is None


async def test_each_answer_says_what_is_used(bench: Bench) -> None:
    async with calling(bench) as caller:
        [row] = (await caller.ask("time"))["rateLimits"]
        assert (row["rateLimitType"], row["limit"], row["count"]) == ("REQUEST_WEIGHT", 6_000, 1)
        placed = await caller.signed("order.place", "ed25519", **limit_order(bench))
        assert [row["count"] for row in placed["rateLimits"]] == [1, 1, 2]
        assert "rateLimits" in await caller.ask("depth", symbol="NONE")
        assert "rateLimits" not in await caller.ask("time", returnRateLimits=False)
    async with calling(bench, "?returnRateLimits=false") as caller:
        assert "rateLimits" not in await caller.ask("time")


async def test_a_cancellation_is_reported_with_both_ids(bench: Bench) -> None:
    async with calling(bench) as caller:
        await caller.signed("userDataStream.subscribe.signature", "ed25519")
        order = limit_order(bench, newClientOrderId="mine")
        await caller.signed("order.place", "ed25519", **order)
        await caller.signed("order.cancel", "ed25519", **SYMBOL, origClientOrderId="mine", newClientOrderId="theend")
        await caller.ask("ping")
        ids = [(event["c"], event["C"], event["x"]) for event in caller.events if event["e"] == "executionReport"]
        assert ids == [("mine", "", "NEW"), ("theend", "mine", "CANCELED")]


async def test_what_was_prevented_is_reported(bench: Bench) -> None:
    async with calling(bench) as caller:
        await caller.signed("userDataStream.subscribe.signature", "ed25519")
        terms = limit_order(bench, price=str(inside(bench)), selfTradePreventionMode="EXPIRE_BOTH")
        older = await caller.signed("order.place", "ed25519", **terms)
        newer = await caller.signed("order.place", "ed25519", **{**terms, "side": "SELL", "quantity": "0.02"})
        await caller.ask("ping")
        first, second = older["result"]["orderId"], newer["result"]["orderId"]
        reports = [event for event in caller.events if event["x" if "x" in event else "e"] == "TRADE_PREVENTION"]
        assert [(row["i"], row["U"], row["A"], row["B"], row["X"]) for row in reports] == [
            (second, first, "0.02000000", "0.02000000", "EXPIRED_IN_MATCH"),
            (first, second, "0.01000000", "0.01000000", "EXPIRED_IN_MATCH"),
        ]
        kinds = [event["x"] for event in caller.events if event["e"] == "executionReport"]
        assert kinds == ["NEW", "NEW", "TRADE_PREVENTION", "TRADE_PREVENTION"]


async def test_times_in_microseconds(bench: Bench) -> None:
    now = SystemClock().now()
    _, body, _ = await asked(bench, "GET", "/api/v3/time", {}, {"X-MBX-TIME-UNIT": "MICROSECOND"})
    assert body["serverTime"] >= now
    assert (await asked(bench, "GET", "/api/v3/time", {}))[1]["serverTime"] < now
    status, _, _ = await asked(bench, "GET", "/api/v3/time", {}, {"X-MBX-TIME-UNIT": "NANOSECOND"})
    assert status == 400
    fields, headers = signed(bench, {**limit_order(bench), "timestamp": str(wall_now())})
    status, placed, _ = await asked(
        bench, "POST", "/api/v3/order", fields, {**headers, "X-MBX-TIME-UNIT": "microsecond"}
    )
    assert (status, placed["transactTime"] >= now) == (200, True)
    async with calling(bench, "?timeUnit=MICROSECOND") as caller:
        assert (await caller.ask("time"))["result"]["serverTime"] >= now
        await caller.signed("userDataStream.subscribe.signature", "ed25519")
        await caller.signed("order.place", "ed25519", **limit_order(bench))
        await caller.ask("ping")
        assert all(event["E"] >= now for event in caller.events)


@pytest.mark.parametrize(("query", "is_micros"), [("", False), ("?timeUnit=MICROSECOND", True)])
async def test_streams_in_microseconds(bench: Bench, query: str, is_micros: bool) -> None:
    now = SystemClock().now()
    url = f"{bench.outside.url}/binance/ws/btcusdt@depth@100ms{query}"
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        received: list[Row] = []

        async def arrived() -> None:
            received.append(json.loads((await socket.receive(timeout=DEADLINE)).data))

        await bench.stepped_until(arrived)
        assert (received[0]["E"] >= now) == is_micros
