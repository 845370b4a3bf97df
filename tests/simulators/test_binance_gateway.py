"""Binance's REST answers: shapes as recorded, rejections in its own words, orders of its own kinds, weights."""

import hashlib
import hmac
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import aiohttp
import ccxt
import orjson
import pytest

from exchanges.credentials import load_credentials
from market.money import ZERO, decimal_of
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from simulators.binance.limits import Allowance
from simulators.binance.rejections import error_fields
from simulators.matching.order_records import Reason, RequestRejectedError
from tests.simulators.contract.bench import Bench, opened
from tests.simulators.wire_recordings import answer, has_shape

RECORDED = "xchange-binance"
SYMBOL = {"symbol": "BTCUSDT"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened("binance", tmp_path) as bench:
        yield bench


def limit_order(bench: Bench, **fields: str) -> dict[str, str]:
    price = str(bench.out_of_reach("buy"))
    terms = {"side": "BUY", "type": "LIMIT", "timeInForce": "GTC", "quantity": "0.01", "price": price}
    return {**SYMBOL, **terms, **fields}


async def asked(
    bench: Bench, method: str, path: str, fields: dict[str, str], headers: dict[str, str] | None = None
) -> tuple[int, Any, dict[str, str]]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, f"{bench.outside.url}/binance{path}?{urlencode(fields)}", headers=headers) as response,
    ):
        return response.status, await response.json(), {str(name): value for name, value in response.headers.items()}


def signed(bench: Bench, fields: dict[str, str], secret: str | None = None) -> tuple[dict[str, str], dict[str, str]]:
    """Return fields with their signature, and headers."""
    keys = load_credentials(bench.outside.home, "binance")
    signature = hmac.digest((secret or keys.secret).encode(), urlencode(fields).encode(), hashlib.sha256).hex()
    return {**fields, "signature": signature}, {"X-MBX-APIKEY": keys.api_key}


async def test_answers_have_the_shape_of_recorded_ones(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    files = f"{RECORDED}/__files"
    depth = await asked(bench, "GET", "/api/v3/depth", SYMBOL)
    assert has_shape(depth[1], answer(f"{files}/depth.json"))
    ticker = await asked(bench, "GET", "/api/v3/ticker/24hr", SYMBOL)
    assert has_shape(ticker[1], answer(f"{files}/single-24hr-ticker.json"))
    await bench.post("buy", Decimal("0.01"), bench.out_of_reach("buy"))
    fields, headers = signed(bench, {"timestamp": str(wall_now() // 1_000)})
    _, resting, _ = await asked(bench, "GET", "/api/v3/openOrders", fields, headers)
    assert has_shape(resting, answer(f"{files}/open-orders.json"))
    await bench.post("sell", Decimal("0.01"), None)
    fields, headers = signed(bench, {**SYMBOL, "timestamp": str(wall_now() // 1_000)})
    _, orders, _ = await asked(bench, "GET", "/api/v3/allOrders", fields, headers)
    assert has_shape(orders[-1], answer(f"{RECORDED}/binance/filled-market-order.json"))
    assert (orders[-1]["status"], orders[-1]["type"]) == ("FILLED", "MARKET")


REJECTED: list[tuple[dict[str, str | None], int, str, type[ccxt.BaseError]]] = [
    ({"quantity": "100"}, -2010, "Account has insufficient balance for requested action.", ccxt.InsufficientFunds),
    ({"quantity": "0.00005"}, -1013, "Filter failure: NOTIONAL", ccxt.BadRequest),
    ({"quantity": "0.000001"}, -1013, "Filter failure: LOT_SIZE", ccxt.InvalidOrder),
    ({"quantity": "0.0100001"}, -1013, "Filter failure: LOT_SIZE", ccxt.InvalidOrder),
    ({"price": "50000.005"}, -1013, "Filter failure: PRICE_FILTER", ccxt.InvalidOrder),
    ({"price": "1000000.01"}, -1013, "Filter failure: PRICE_FILTER", ccxt.InvalidOrder),
    ({"quantity": "9000.00001"}, -1013, "Filter failure: LOT_SIZE", ccxt.InvalidOrder),
    ({"quantity": "180.1", "price": "50000"}, -1013, "Filter failure: NOTIONAL", ccxt.BadRequest),
    ({"price": "50000.123456789"}, -1111, "Parameter 'price' has too much precision.", ccxt.BadRequest),
    (
        {"quantity": "-1"},
        -1100,
        "Illegal characters found in parameter 'quantity'; legal range is '^([0-9]{1,20})(\\.[0-9]{1,20})?$'.",
        ccxt.BadRequest,
    ),
    (
        {"quantity": None},
        -1102,
        "Mandatory parameter 'quantity' was not sent, was empty/null, or malformed.",
        ccxt.BadRequest,
    ),
    ({"timeInForce": "GTX"}, -1115, "Invalid timeInForce.", ccxt.BadRequest),
    ({"type": "TRAILING"}, -1116, "Invalid orderType.", ccxt.BadRequest),
    ({"stopPrice": "1000"}, -1106, "Parameter 'stopPrice' sent when not required.", ccxt.BadRequest),
    ({"side": "HOLD"}, -1117, "Invalid side.", ccxt.BadRequest),
    ({"symbol": "LUNAUSDT"}, -1121, "Invalid symbol.", ccxt.BadSymbol),
    (
        {"newClientOrderId": "two words"},
        -1100,
        "Illegal characters found in parameter 'newClientOrderId'; legal range is '^[\\.A-Z\\:/a-z0-9_-]{1,36}$'.",
        ccxt.BadRequest,
    ),
    ({"client_oid": "1"}, -1104, "Not all sent parameters were read;", ccxt.BadRequest),
    ({"quoteOrderQty": "100"}, -1106, "Parameter 'quoteOrderQty' sent when not required.", ccxt.BadRequest),
    ({"type": "MARKET", "timeInForce": None}, -1106, "Parameter 'price' sent when not required.", ccxt.BadRequest),
]


@pytest.mark.parametrize(("changed", "code", "text", "error"), REJECTED, ids=lambda value: str(value)[:40])
async def test_orders_are_rejected_in_its_own_words(
    bench: Bench, changed: dict[str, str | None], code: int, text: str, error: type[ccxt.BaseError]
) -> None:
    fields = {name: value for name, value in (limit_order(bench) | changed).items() if value is not None}
    with pytest.raises(error):
        await bench.client.privatePostOrder(fields)
    said = orjson.loads(bench.client.last_http_response)
    assert said["code"] == code
    assert said["msg"].startswith(text)
    assert not bench.exchange.customer.orders


@pytest.mark.parametrize(
    ("micros_away", "window", "code", "text"),
    [
        (2 * MICROSECONDS, "5000", -1021, "Timestamp for this request was 1000ms ahead of the server's time."),
        (-6 * MICROSECONDS, "5000", -1021, "Timestamp for this request is outside of the recvWindow."),
        (0, "60001", -1131, "recvWindow must be less than 60000."),
    ],
)
async def test_a_request_is_of_its_time(bench: Bench, micros_away: int, window: str, code: int, text: str) -> None:
    timestamp = str((wall_now() + micros_away) // 1_000)
    fields, headers = signed(bench, {"timestamp": timestamp, "recvWindow": window})
    status, said, _ = await asked(bench, "GET", "/api/v3/account", fields, headers)
    assert (status, said) == (400, {"code": code, "msg": text})


async def test_signatures_are_verified(bench: Bench) -> None:
    now = {"timestamp": str(wall_now() // 1_000)}
    fields, headers = signed(bench, now)
    assert (await asked(bench, "GET", "/api/v3/account", fields, headers))[0] == 200
    for changed, sent, status, code in (
        (fields | {"recvWindow": "4000"}, headers, 400, -1022),
        (signed(bench, now, "not the secret")[0], headers, 400, -1022),
        (fields, {}, 401, -2014),
        (fields, {"X-MBX-APIKEY": "somebody"}, 401, -2015),
        ({"signature": fields["signature"]}, headers, 400, -1102),
    ):
        answered, said, _ = await asked(bench, "GET", "/api/v3/account", changed, sent)
        assert (answered, said["code"]) == (status, code)


async def test_the_fee_is_taken_in_what_comes_in(bench: Bench) -> None:
    bought = await bench.client.privatePostOrder(
        limit_order(bench, price=str(bench.best("sell")[0]), timeInForce="IOC", newOrderRespType="FULL")
    )
    sold = await bench.client.privatePostOrder(
        limit_order(bench, side="SELL", price=str(bench.best("buy")[0]), timeInForce="IOC")
    )
    for order, currency in ((bought, "BTC"), (sold, "USDT")):
        [part] = order["fills"]
        received = decimal_of(part["qty"]) * (1 if currency == "BTC" else decimal_of(part["price"]))
        assert part["commissionAsset"] == currency
        assert decimal_of(part["commission"]) == (received * Decimal("0.001")).quantize(Decimal("1E-8"), "ROUND_DOWN")
    account = await bench.client.privateGetAccount()
    assert sum(decimal_of(row["locked"]) for row in account["balances"]) == 0


async def test_answers_to_an_order_report_as_much_as_was_asked_for(bench: Bench) -> None:
    answers = [
        await bench.client.privatePostOrder(limit_order(bench, newOrderRespType=kind))
        for kind in ("ACK", "RESULT", "FULL")
    ]
    assert [("status" in row, "fills" in row) for row in answers] == [(False, False), (True, False), (True, True)]


async def test_money_is_spent_and_earned_at_the_market(bench: Bench) -> None:
    funds = Decimal(1_000)
    for side, best in (("buy", "sell"), ("sell", "buy")):
        order = await bench.client.create_order(bench.symbol, "market", side, 1, None, {"quoteOrderQty": 1_000})
        spent = decimal_of(order["info"]["cummulativeQuoteQty"])
        price, _ = bench.best("buy" if best == "buy" else "sell")
        assert order["status"] == "closed"
        assert funds - price * bench.market.lot_step * 2 < spent <= funds
    with pytest.raises(ccxt.BadRequest, match="NOTIONAL"):
        await bench.client.create_order(bench.symbol, "market", "buy", 1, None, {"quoteOrderQty": 4})


async def test_all_or_nothing(bench: Bench) -> None:
    price, shown = bench.best("sell")
    too_much = limit_order(bench, price=str(price), timeInForce="FOK", quantity=str(shown + bench.market.lot_step))
    killed = await bench.client.privatePostOrder(too_much)
    assert (killed["status"], decimal_of(killed["executedQty"]), killed["timeInForce"]) == ("EXPIRED", ZERO, "FOK")
    filled = await bench.client.privatePostOrder(too_much | {"quantity": str(shown)})
    assert (filled["status"], decimal_of(filled["executedQty"])) == ("FILLED", shown)


async def test_a_maker_order_does_not_take(bench: Bench) -> None:
    with pytest.raises(ccxt.OrderImmediatelyFillable):
        await bench.client.create_order(
            bench.symbol, "limit", "buy", 0.01, float(bench.best("sell")[0]), {"postOnly": True}
        )
    row = await bench.client.create_order(
        bench.symbol, "limit", "buy", 0.01, float(bench.out_of_reach("buy")), {"postOnly": True}
    )
    assert await bench.open_orders() == [row["id"]]


async def test_a_cancel_names_both_ids(bench: Bench) -> None:
    placed = await bench.client.privatePostOrder(limit_order(bench, newClientOrderId="mine"))
    named = {**SYMBOL, "origClientOrderId": "mine"}
    cancelled = await bench.client.privateDeleteOrder(named | {"newClientOrderId": "the-cancel"})
    assert (cancelled["orderId"], cancelled["status"]) == (placed["orderId"], "CANCELED")
    assert (cancelled["origClientOrderId"], cancelled["clientOrderId"]) == ("mine", "the-cancel")
    for call, code in ((bench.client.privateDeleteOrder, -2011), (bench.client.privateGetOrder, -2013)):
        with pytest.raises(ccxt.OrderNotFound, match=str(code)):
            await call({**SYMBOL, "origClientOrderId": "nobodys"})
    with pytest.raises(ccxt.OrderNotFound, match="-2011"):
        await bench.client.privateDeleteOrder(named)


async def test_a_client_id_may_come_again_once_its_order_has_ended(bench: Bench) -> None:
    first = await bench.client.privatePostOrder(limit_order(bench, newClientOrderId="mine"))
    with pytest.raises(ccxt.InvalidOrder, match="Duplicate order sent"):
        await bench.client.privatePostOrder(limit_order(bench, newClientOrderId="mine"))
    await bench.cancel(first["orderId"])
    second = await bench.client.privatePostOrder(limit_order(bench, newClientOrderId="mine"))
    found = await bench.client.privateGetOrder({**SYMBOL, "origClientOrderId": "mine"})
    assert found["orderId"] == second["orderId"] != first["orderId"]


async def test_lists_begin_where_they_are_asked_to(bench: Bench) -> None:
    for _ in range(4):
        await bench.post("buy", Decimal("0.001"), bench.best("sell")[0])
    orders = await bench.client.privateGetAllOrders(SYMBOL)
    ids = [row["orderId"] for row in orders]
    assert ids == sorted(ids)
    later = await bench.client.privateGetAllOrders({**SYMBOL, "orderId": ids[1], "limit": "2"})
    assert [row["orderId"] for row in later] == ids[1:3]
    newest = await bench.client.privateGetMyTrades({**SYMBOL, "limit": "1"})
    assert [row["orderId"] for row in newest] == ids[-1:]
    of_one = await bench.client.privateGetMyTrades({**SYMBOL, "orderId": ids[0]})
    assert {row["orderId"] for row in of_one} == {ids[0]}
    assert sum(decimal_of(row["qty"]) for row in of_one) == Decimal("0.001")


async def test_weights_are_counted(bench: Bench) -> None:
    _, _, headers = await asked(bench, "GET", "/api/v3/depth", SYMBOL)
    first = int(headers["X-MBX-USED-WEIGHT-1M"])
    _, _, headers = await asked(bench, "GET", "/api/v3/exchangeInfo", {})
    used = int(headers["X-MBX-USED-WEIGHT-1M"])
    # a minute may have ended between both
    assert used in (first + 20, 20)


def test_an_allowance_is_full_again_in_the_next_window() -> None:
    allowance = Allowance("REQUEST_WEIGHT", "MINUTE", 1, 10)
    assert [allowance.take(5, now) for now in (0, 1)] == [5, 10]
    assert allowance.take(1, 59 * MICROSECONDS) == 11
    assert allowance.take(10, 60 * MICROSECONDS) == 10


@pytest.mark.parametrize(
    ("reason", "detail", "status", "code"),
    [
        ("banned", "1659146400000", 418, -1003),
        ("rate_limited", "", 429, -1003),
        ("maintenance", "", 503, -1000),
        ("unavailable", "", 500, -1000),
        ("order_rejected", "", 400, -2010),
    ],
)
def test_faults_are_worded_too(reason: Reason, detail: str, status: int, code: int) -> None:
    words = error_fields(RequestRejectedError(reason, detail))
    assert words[:2] == (status, code)
    assert detail in words[2]
    assert "{" not in words[2]


async def test_markets_that_are_not_listed(bench: Bench) -> None:
    status, said, _ = await asked(bench, "GET", "/api/v3/depth", {"symbol": "LUNAUSDT"})
    assert (status, said) == (400, {"code": -1121, "msg": "Invalid symbol."})
    status, rows, _ = await asked(bench, "GET", "/api/v3/ticker/bookTicker", {"symbols": '["BTCUSDT"]'})
    assert (status, [row["symbol"] for row in rows]) == (200, ["BTCUSDT"])
    status, said, _ = await asked(bench, "GET", "/api/v3/ticker/24hr", {"symbols": "BTCUSDT"})
    assert (status, said["code"]) == (400, -1102)
