"""What an account makes of answers as they come over the wire: try again, give up, or outcome unknown."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from aiohttp import web

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.client import ExchangeConfig
from exchanges.credentials import Credentials
from exchanges.errors import (
    AccountRejectedError,
    ExchangeError,
    ExchangeUnavailableError,
    OrderRejectedError,
    OutcomeUnknownError,
)
from market.money import floor_to_step, text_of
from runtime.clock import wall_now
from tests.exchanges.served import TRADED, order_on

MARKETS = {market.exchange: market for market in TRADED}
KEYS = Credentials("the-public-key", "c2VjcmV0LXdvcmRz", "the-password")
TIMES = ("/time", "/Time", "/ticker", "/v1/getticker")


@dataclass
class Answering:
    """An exchange that says the same to everything but to questions about the time."""

    status: int
    body: str
    kind: str = "application/json"
    asked: list[str] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        if any(name in request.path for name in TIMES):
            result = {"unixtime": wall_now() // 1_000_000}
            now = {"epoch": wall_now() / 1_000_000, "serverTime": wall_now() // 1_000, "result": result}
            return web.json_response(now)
        if request.headers.get("Upgrade") == "websocket":
            # no socket for orders here, so that they go by REST
            return web.Response(status=404)
        self.asked.append(f"{request.method} {request.path}")
        self.bodies.append((await request.text()).replace(": ", ":"))
        return web.Response(status=self.status, text=self.body, content_type=self.kind)


@asynccontextmanager
async def account_at(exchange: str, answering: Answering) -> AsyncIterator[ExchangeAccount]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answering.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    account = open_account(ExchangeConfig(exchange, "simulated", url, KEYS, is_limited=False), [MARKETS[exchange]])
    try:
        yield account
    finally:
        await account.close()
        await runner.cleanup()


HTML = ("<html><title>maintenance</title></html>", "text/html")
BROKEN = ('{"error":[],"result":{"txid":["O', "application/json")
EMPTY = ("", "application/json")
EVERYWHERE: list[tuple[int, tuple[str, str], type[ExchangeError]]] = [
    (200, HTML, OutcomeUnknownError),
    (200, BROKEN, OutcomeUnknownError),
    (200, EMPTY, OutcomeUnknownError),
    (200, ('{"is":"nothing known"}', "application/json"), OutcomeUnknownError),
    (200, ('"an order"', "application/json"), OutcomeUnknownError),
    (400, HTML, OrderRejectedError),
    (400, EMPTY, OrderRejectedError),
    (403, HTML, OrderRejectedError),
    (404, HTML, OrderRejectedError),
    (404, EMPTY, OrderRejectedError),
    (429, HTML, OrderRejectedError),
    (408, HTML, OutcomeUnknownError),
    (500, HTML, OutcomeUnknownError),
    (500, BROKEN, OutcomeUnknownError),
    (502, HTML, OutcomeUnknownError),
    (503, HTML, OutcomeUnknownError),
    (504, HTML, OutcomeUnknownError),
    (520, HTML, OutcomeUnknownError),
]


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_without_a_word_an_order_is_not_rejected_and_balances_are_not_empty(exchange: str) -> None:
    answering, market = Answering(0, ""), MARKETS[exchange]
    order = order_on(market, "buy", market.minimum_amount * 100_000, market.tick_size * 100_000)
    async with account_at(exchange, answering) as account:
        for status, said, expected in EVERYWHERE:
            answering.status, (answering.body, answering.kind), answering.asked = status, said, []
            with pytest.raises(ExchangeError) as raised:
                await account.place(order)
            assert (status, said, type(raised.value)) == (status, said, expected)
            assert len(answering.asked) == 1
            with pytest.raises(ExchangeUnavailableError):
                await account.balances()


def okx_row(code: int) -> str:
    """Return OKX's answer to an order that failed with this code."""
    row = {"ordId": "", "clOrdId": "x", "tag": "", "ts": "1790000000000", "sCode": str(code), "sMsg": "Order failed."}
    return json.dumps({"code": "1", "msg": "All operations failed", "data": [row]}, separators=(",", ":"))


def unmade(error: str, preview: str) -> str:
    """Return Coinbase Advanced's answer to an order that was not made."""
    response = {"error": error, "message": "", "error_details": "", "preview_failure_reason": preview}
    return json.dumps({"success": False, "failure_reason": "UNKNOWN_FAILURE_REASON", "error_response": response})


UNKNOWN_PREVIEW = "UNKNOWN_PREVIEW_FAILURE_REASON"
WORDED: list[tuple[str, int, str, type[ExchangeError]]] = [
    ("coinbaseexchange", 400, '{"message":"Insufficient funds"}', OrderRejectedError),
    ("coinbaseexchange", 400, '{"message":"size is too small. Minimum size is 0.0001"}', OrderRejectedError),
    ("coinbaseexchange", 400, '{"message":"Limit only mode"}', OrderRejectedError),
    ("coinbaseexchange", 400, '{"message":"Duplicate client_oid"}', OutcomeUnknownError),
    ("coinbaseexchange", 401, '{"message":"request timestamp expired"}', OrderRejectedError),
    ("coinbaseexchange", 401, '{"message":"Invalid API Key"}', AccountRejectedError),
    ("coinbaseexchange", 401, '{"message":"invalid signature"}', AccountRejectedError),
    ("coinbaseexchange", 429, '{"message":"Private rate limit exceeded"}', OrderRejectedError),
    ("coinbaseexchange", 500, '{"message":"Internal server error"}', OutcomeUnknownError),
    ("coinbaseexchange", 503, '{"message":"We are under maintenance."}', OutcomeUnknownError),
    ("bitstamp", 400, '{"status":"error","reason":{"__all__":["Minimum order size is 10 EUR."]}}', OrderRejectedError),
    ("bitstamp", 400, '{"status":"error","reason":{"__all__":["You have only 1 EUR available."]}}', OrderRejectedError),
    (
        "bitstamp",
        400,
        '{"status":"error","reason":{"__all__":["Provided client_order_id already exists."]},"code":"400.019"}',
        OutcomeUnknownError,
    ),
    (
        "bitstamp",
        400,
        '{"status":"error","reason":{"__all__":["Order rejected by matching engine."]},"response_code":"500.017"}',
        OrderRejectedError,
    ),
    ("bitstamp", 500, '{"response_code":"500.002","response_explanation":"failed"}', OutcomeUnknownError),
    (
        "bitstamp",
        403,
        '{"status":"error","reason":"X-Auth-Timestamp header is out of range","code":"API0017"}',
        OrderRejectedError,
    ),
    ("bitstamp", 403, '{"status":"error","reason":"Invalid signature","code":"API0005"}', AccountRejectedError),
    ("bitflyer", 400, '{"status":-200,"error_message":"Insufficient funds","data":null}', OrderRejectedError),
    ("bitflyer", 400, '{"status":-110,"error_message":"The minimum order size is 0.001 BTC."}', OrderRejectedError),
    ("bitflyer", 401, '{"status":-500,"error_message":"Key not found","data":null}', AccountRejectedError),
    ("bitflyer", 401, '{"status":-500,"error_message":"Timestamp is out of range"}', OrderRejectedError),
    ("bitflyer", 503, '{"status":-2,"error_message":"Under maintenance","data":null}', OutcomeUnknownError),
    ("bitflyer", 500, '{"status":-999,"error_message":"Internal error","data":null}', OutcomeUnknownError),
    ("kraken", 200, '{"error":["EOrder:Insufficient funds"]}', OrderRejectedError),
    ("kraken", 200, '{"error":["EOrder:Order minimum not met"]}', OrderRejectedError),
    ("kraken", 200, '{"error":["EService:Market in cancel_only mode"]}', OrderRejectedError),
    ("kraken", 200, '{"error":["EAPI:Rate limit exceeded"]}', OrderRejectedError),
    ("kraken", 200, '{"error":["EAPI:Invalid key"]}', AccountRejectedError),
    ("kraken", 200, '{"error":["EGeneral:Permission denied"]}', AccountRejectedError),
    ("kraken", 200, '{"error":["EService:Unavailable"]}', OutcomeUnknownError),
    ("kraken", 200, '{"error":["EService:Busy"]}', OutcomeUnknownError),
    ("kraken", 200, '{"error":["EGeneral:Internal error"]}', OutcomeUnknownError),
    (
        "binance",
        400,
        '{"code":-2010,"msg":"Account has insufficient balance for requested action."}',
        OrderRejectedError,
    ),
    ("binance", 400, '{"code":-2010,"msg":"Duplicate order sent."}', OutcomeUnknownError),
    ("binance", 400, '{"code":-1013,"msg":"Filter failure: NOTIONAL"}', OrderRejectedError),
    ("binance", 400, '{"code":-1021,"msg":"Timestamp is outside of the recvWindow."}', OrderRejectedError),
    ("binance", 400, '{"code":-1022,"msg":"Signature for this request is not valid."}', AccountRejectedError),
    ("binance", 401, '{"code":-2015,"msg":"Invalid API-key, IP, or permissions for action."}', AccountRejectedError),
    ("binance", 429, '{"code":-1003,"msg":"Too many requests."}', OrderRejectedError),
    ("binance", 418, '{"code":-1003,"msg":"Way too many requests; IP banned."}', OrderRejectedError),
    ("binance", 500, '{"code":-1000,"msg":"An unknown error occurred."}', OutcomeUnknownError),
    ("binance", 503, '{"code":-1006,"msg":"execution status unknown."}', OutcomeUnknownError),
    ("binance", 503, '{"code":-1007,"msg":"Send status unknown; execution status unknown."}', OutcomeUnknownError),
    ("bybit", 200, '{"retCode":170131,"retMsg":"Insufficient balance."}', OrderRejectedError),
    ("bybit", 200, '{"retCode":170140,"retMsg":"Order value exceeded lower limit."}', OrderRejectedError),
    ("bybit", 200, '{"retCode":170141,"retMsg":"Duplicate clientOrderId"}', OutcomeUnknownError),
    ("bybit", 200, '{"retCode":110072,"retMsg":"OrderLinkedID is duplicate"}', OutcomeUnknownError),
    (
        "bybit",
        200,
        '{"retCode":10002,"retMsg":"invalid request, please check your server timestamp"}',
        OrderRejectedError,
    ),
    ("coinbase", 200, unmade("INSUFFICIENT_FUND", "PREVIEW_INSUFFICIENT_FUND"), OrderRejectedError),
    ("coinbase", 200, unmade("INVALID_SIZE_PRECISION", UNKNOWN_PREVIEW), OrderRejectedError),
    # the same word, with a reason and without
    ("coinbase", 200, unmade("UNKNOWN_FAILURE_REASON", "PREVIEW_INVALID_BASE_SIZE_TOO_SMALL"), OrderRejectedError),
    ("coinbase", 200, unmade("UNKNOWN_FAILURE_REASON", UNKNOWN_PREVIEW), OutcomeUnknownError),
    ("coinbase", 200, unmade("DUPLICATE_CLIENT_ORDER_ID", UNKNOWN_PREVIEW), OutcomeUnknownError),
    ("coinbase", 200, '{"success":true}', OutcomeUnknownError),
    ("coinbase", 200, "{}", OutcomeUnknownError),
    ("coinbase", 200, '{"error":"unknown"}', OutcomeUnknownError),
    ("coinbase", 400, '{"error":"INVALID_ARGUMENT","error_details":"x","message":"x"}', OrderRejectedError),
    ("coinbase", 401, "Unauthorized", AccountRejectedError),
    ("coinbase", 403, '{"error":"PERMISSION_DENIED","error_details":"x","message":"x"}', AccountRejectedError),
    (
        "coinbase",
        429,
        '{"errors":[{"id":"rate_limit_exceeded","message":"Too many requests"}]}',
        OrderRejectedError,
    ),
    ("coinbase", 500, '{"error":"INTERNAL","error_details":"x","message":"x"}', OutcomeUnknownError),
    ("coinbase", 502, "<html>Bad Gateway</html>", OutcomeUnknownError),
    ("okx", 200, okx_row(51008), OrderRejectedError),
    ("okx", 200, okx_row(51020), OrderRejectedError),
    # ccxt calls both an invalid order
    ("okx", 200, okx_row(51016), OutcomeUnknownError),
    ("okx", 200, okx_row(51011), OutcomeUnknownError),
    ("okx", 200, okx_row(51149), OutcomeUnknownError),
    ("okx", 200, okx_row(51054), OutcomeUnknownError),
    ("okx", 200, okx_row(50026), OutcomeUnknownError),
    # not known to ccxt
    ("okx", 200, okx_row(54109), OrderRejectedError),
    ("okx", 200, '{"code":"50004","data":[],"msg":"API endpoint request timeout"}', OutcomeUnknownError),
    ("okx", 429, '{"code":"50013","data":[],"msg":"Systems are busy."}', OutcomeUnknownError),
    ("okx", 503, '{"code":"50001","data":[],"msg":"Service temporarily unavailable."}', OrderRejectedError),
    ("okx", 429, '{"code":"50011","data":[],"msg":"Too Many Requests"}', OrderRejectedError),
    ("okx", 401, '{"code":"50111","data":[],"msg":"Invalid OK-ACCESS-KEY"}', AccountRejectedError),
    ("okx", 401, '{"code":"50113","data":[],"msg":"Invalid Sign"}', AccountRejectedError),
    (
        "okx",
        401,
        '{"code":"50105","data":[],"msg":"Request header OK-ACCESS-PASSPHRASE incorrect."}',
        AccountRejectedError,
    ),
    ("okx", 401, '{"code":"50110","data":[],"msg":"Your IP is not linked to your API key."}', AccountRejectedError),
    ("okx", 403, "<html>Forbidden</html>", OrderRejectedError),
    ("okx", 200, '{"data":[],"msg":""}', OutcomeUnknownError),
    ("okx", 200, '{"code":"0","data":[],"msg":""}', OutcomeUnknownError),
    ("bybit", 200, '{"retCode":10003,"retMsg":"API key is invalid."}', AccountRejectedError),
    ("bybit", 200, '{"retCode":10004,"retMsg":"Error sign"}', AccountRejectedError),
    ("bybit", 200, '{"retCode":10005,"retMsg":"Permission denied"}', AccountRejectedError),
    ("bybit", 200, '{"retCode":10010,"retMsg":"Unmatched IP"}', AccountRejectedError),
    ("bybit", 200, '{"retCode":10006,"retMsg":"Too many visits!"}', OrderRejectedError),
    ("bybit", 403, "<html>access too frequent</html>", OrderRejectedError),
    ("bybit", 200, '{"retCode":10000,"retMsg":"Server Timeout"}', OutcomeUnknownError),
    ("bybit", 200, '{"retCode":10016,"retMsg":"Server error."}', OutcomeUnknownError),
    (
        "bybit",
        200,
        '{"retCode":170007,"retMsg":"Timeout waiting for response from backend server."}',
        OutcomeUnknownError,
    ),
    ("bybit", 200, '{"retCode":170035,"retMsg":"Submitted to the system for processing!"}', OutcomeUnknownError),
    ("bybit", 200, '{"retCode":170146,"retMsg":"Order creation timeout"}', OutcomeUnknownError),
    # begins like "Server Timeout"
    ("bybit", 200, '{"retCode":100001,"retMsg":"Insufficient balance."}', OrderRejectedError),
]


@pytest.mark.parametrize(("exchange", "status", "body", "expected"), WORDED, ids=lambda value: str(value)[:60])
async def test_in_each_exchanges_own_words(
    exchange: str, status: int, body: str, expected: type[ExchangeError]
) -> None:
    market, answering = MARKETS[exchange], Answering(status, body)
    async with account_at(exchange, answering) as account:
        with pytest.raises(ExchangeError) as raised:
            await account.place(order_on(market, "buy", market.minimum_amount * 100_000, market.tick_size * 100_000))
        assert type(raised.value) is expected
        assert len(answering.asked) == 1
        with pytest.raises(AccountRejectedError if expected is AccountRejectedError else ExchangeUnavailableError):
            await account.balances()


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_what_repeats_the_keys_does_not_get_them_repeated(exchange: str) -> None:
    bodies = {
        "coinbaseexchange": '{"message":"no %s"}',
        "bitstamp": '{"status":"error","reason":"no %s"}',
        "bitflyer": '{"status":-1,"error_message":"no %s"}',
        "kraken": '{"error":["EGeneral:no %s"]}',
        "binance": '{"code":-1100,"msg":"no %s"}',
        "bybit": '{"retCode":10001,"retMsg":"no %s"}',
        "okx": '{"code":"51000","data":[],"msg":"no %s"}',
        "coinbase": '{"error":"INVALID_ARGUMENT","error_details":"","message":"no %s"}',
    }
    answering = Answering(400, bodies[exchange] % KEYS.api_key)
    async with account_at(exchange, answering) as account:
        with pytest.raises(ExchangeError, match=r"\*\*\*") as raised:
            await account.balances()
        assert KEYS.api_key not in str(raised.value)
        assert raised.value.__cause__ is None


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("amount", ["0.10000001", "0.30000001", "12.34567891", "1234.00000001", "0.7"])
async def test_amounts_and_prices_are_sent_to_the_digit(exchange: str, amount: str) -> None:
    """bitFlyer takes numbers, of which JSON shows the shortest text; the others take text."""
    market, answering = MARKETS[exchange], Answering(500, "")
    price, whole_lots = 1_234_567 * market.tick_size, floor_to_step(Decimal(amount), market.lot_step)
    async with account_at(exchange, answering) as account:
        with pytest.raises(OutcomeUnknownError):
            await account.place(order_on(market, "sell", whole_lots, price))
    [body] = answering.bodies
    assert {text_of(whole_lots), text_of(price)} <= set(re.findall(r"[\w.-]+", body))
    quotes = {"bitflyer": "", "coinbaseexchange": '"'}.get(exchange)
    assert quotes is None or f":{quotes}{text_of(whole_lots)}{quotes}" in body
