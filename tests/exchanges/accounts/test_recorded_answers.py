"""Whatever an exchange answers, an account gives a value or a named error: never a KeyError, never a TypeError."""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from decimal import Decimal
from typing import Any

import ccxt
import pytest

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.catalogue import EXCHANGES
from exchanges.ccxt.client import ExchangeConfig
from exchanges.credentials import Credentials
from exchanges.errors import ExchangeError
from exchanges.ports.error_mapping import post_error, read_error
from exchanges.requests.time_synced_signing import client_class
from exchanges.simulated_markets import simulated_markets
from market.instruments.markets import Market
from market.instruments.orders import AccountFill, OpenOrder, OrderReport
from tests.exchanges.recorded_answers import Parrot, parrot, recorded_bodies, recorded_body, routed_bodies
from tests.exchanges.served import order_on

Question = Callable[[], Awaitable[object]]
# Base64, as two of the exchanges want their secrets.
KEYS = Credentials("key", "c2VjcmV0", "passphrase", "1")
FOLDERS = {
    "bitstamp": "xchange/xchange-bitstamp",
    "bitflyer": "xchange/xchange-bitflyer",
    "kraken": "xchange/xchange-kraken",
    "coinbaseexchange": "xchange/xchange-coinbasepro",
    "binance": "xchange/xchange-binance",
}
"""Of exchanges whose answers others have recorded; Bybit's documented ones are in `tests/exchanges/bybit`."""
SINCE = 1_700_000_000_000_000
STATUSES = (200, 400, 403, 404, 500, 503)
NONSENSE = (
    *("", "null", "true", "0", '""', "[]", "{}", "[null]", "[[]]", "[{}]", "{", "<html>502 Bad Gateway</html>"),
    *('{"error":null}', '{"error":[null]}', '{"error":[]}', '{"error":[],"result":null}', '{"error":[],"result":[]}'),
    *('{"error":[],"result":{"x":null}}', '{"status":"error"}', '{"status":-2}', '{"message":null}', '{"message":{}}'),
    *('{"id":null}', '{"id":{}}', '{"transactions":{}}', '{"error":[],"result":{"open":[],"closed":5}}'),
    *('{"error":[],"result":{"open":{"O1":null}}}', '[{"currency":"BTC","balance":"NaN"}]', '[{"currency":5}]'),
)


def market_on(exchange: str) -> Market:
    return next(market for market in simulated_markets() if market.exchange == exchange and market.base == "BTC")


@asynccontextmanager
async def account_at(bird: Parrot, exchange: str) -> AsyncIterator[ExchangeAccount]:
    config = ExchangeConfig(exchange, "simulated", f"{bird.url}/{exchange}", KEYS, is_limited=False)
    account = open_account(config, simulated_markets())
    try:
        yield account
    finally:
        await account.close()


async def outcome_of(question: Question) -> str:
    """Return a value's or a named error's type; every other error is the test's failure."""
    try:
        answer = await question()
    except ExchangeError as error:
        return type(error).__name__
    if isinstance(answer, list):
        assert all(isinstance(row, (OpenOrder, AccountFill)) for row in answer)
        assert all(row.fill.amount.is_finite() for row in answer if isinstance(row, AccountFill))
    elif isinstance(answer, dict):
        assert all(isinstance(total, Decimal) and total.is_finite() for total in answer.values())
    else:
        assert answer is None or isinstance(answer, OrderReport)
    return "value"


async def outcomes_of(exchange: str, bodies: list[str], statuses: tuple[int, ...], *, posts: bool) -> Counter[str]:
    """How the account took each body with each status, for every question that it can ask."""
    order = order_on(market_on(exchange), "buy", Decimal("0.01"), Decimal(50_000))
    outcomes: Counter[str] = Counter()
    async with parrot() as bird, account_at(bird, exchange) as account:
        for bird.body in bodies:
            for bird.status in statuses:
                questions: list[Question] = [
                    account.balances,
                    account.open_orders,
                    lambda: account.fills_since(SINCE),
                    lambda: account.look_up(order),
                ]
                if posts:
                    questions.append(lambda: account.place(order))
                for question in questions:
                    outcomes[await outcome_of(question)] += 1
    return outcomes


@pytest.mark.parametrize("exchange", FOLDERS)
async def test_recorded_answers_are_understood_or_rejected_by_name(exchange: str) -> None:
    bodies = [body for _, body in recorded_bodies(FOLDERS[exchange])]
    assert bodies
    outcomes = await outcomes_of(exchange, bodies, (200, 400), posts=True)
    assert outcomes.total() == len(bodies) * 2 * 5
    assert set(outcomes) - {"value"}


@pytest.mark.parametrize("exchange", EXCHANGES)
async def test_nonsense_is_rejected_by_name(exchange: str) -> None:
    outcomes = await outcomes_of(exchange, list(NONSENSE), STATUSES, posts=True)
    assert outcomes.total() == len(NONSENSE) * len(STATUSES) * 5


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("name", ["gemini_http.json", "poloniex_http.json"])
async def test_answers_of_other_exchanges_are_rejected_by_name(exchange: str, name: str) -> None:
    bodies = [body for _, body in routed_bodies(name)]
    assert len(bodies) > 20
    outcomes = await outcomes_of(exchange, bodies, (200,), posts=False)
    assert outcomes.total() == len(bodies) * 4


def bodies_of(exchange: str) -> list[str]:
    if exchange in ("gemini", "poloniex"):
        return [body for _, body in routed_bodies(f"{exchange}_http.json")]
    return [body for _, body in recorded_bodies(FOLDERS[exchange])]


@pytest.mark.parametrize("exchange", [*FOLDERS, "gemini", "poloniex"])
async def test_errors_as_ccxt_sorts_them_have_a_name_of_ours(exchange: str) -> None:
    client = client_class(exchange)()
    sorted_errors = [
        error for body in bodies_of(exchange) for status in STATUSES if (error := sorted_error(client, status, body))
    ]
    await client.close()
    assert sorted_errors
    for error in sorted_errors:
        assert isinstance(read_error(exchange, error, KEYS), ExchangeError)
        assert isinstance(post_error(exchange, error, KEYS), ExchangeError)


def sorted_error(client: Any, status: int, body: str) -> ccxt.BaseError | None:
    """Return what ccxt makes of an answer; None if it takes it for a good one. `client` is untyped, as ccxt is."""
    try:
        client.handle_errors(status, "", "https://x/y", "POST", {}, body, json.loads(body), {}, "")
        client.handle_http_status_code(status, "", "https://x/y", "POST", body)
    except ccxt.BaseError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("exchange", "body", "expected"),
    [
        ("bitstamp", '{"error": "Invalid username and/or password"}', "AccountRejectedError"),
        ("bitstamp", '{"error": {"__all__": ["Minimum order size is $1"]}}', "OrderRejectedError"),
        ("coinbaseexchange", '{"message": "Insufficient funds"}', "OrderRejectedError"),
        ("kraken", '{"error": ["EAPI:Invalid key"]}', "AccountRejectedError"),
        ("kraken", '{"error": ["EOrder:Insufficient funds"]}', "OrderRejectedError"),
        ("bitflyer", '{"status": -200, "error_message": "Insufficient funds", "data": null}', "OrderRejectedError"),
    ],
)
async def test_rejections_of_an_order(exchange: str, body: str, expected: str) -> None:
    order = order_on(market_on(exchange), "buy", Decimal("0.01"), Decimal(50_000))
    async with parrot() as bird, account_at(bird, exchange) as account:
        bird.body, bird.status = body, 400
        assert await outcome_of(lambda: account.place(order)) == expected


async def test_a_recorded_order_of_bitstamp() -> None:
    order = order_on(market_on("bitstamp"), "buy", Decimal("0.01"), Decimal(50_000))
    async with parrot() as bird, account_at(bird, "bitstamp") as account:
        bird.by_path = {"/buy/": recorded_body("xchange/xchange-bitstamp/trade/example-place-limit-order.json")}
        assert (await account.place(order)).exchange_order_id == "1273070"


async def test_a_recorded_order_and_fill_of_kraken() -> None:
    order = order_on(market_on("kraken"), "sell", Decimal("0.84962599"), Decimal(50_000))
    folder = "xchange/xchange-kraken"
    stands = json.loads(recorded_body(f"{folder}/order/example-market-ask-order.json"))
    [(name, row)] = stands["result"].items()
    row["cl_ord_id"] = order.client_order_id
    trades = json.loads(recorded_body(f"{folder}/trading/example-tradehistory-icn.json"))["result"]["trades"]
    async with parrot() as bird, account_at(bird, "kraken") as account:
        bird.by_path = {"AddOrder": recorded_body(f"{folder}/trading/example-order-data.json")}
        assert (await account.place(order)).exchange_order_id == "OBQHEF-4PORS-OGMG2F"
        bird.by_path = {
            "OpenOrders": recorded_body(f"{folder}/trading/example-openorders-data.json"),
            "ClosedOrders": json.dumps({"error": [], "result": {"closed": {name: row}, "count": 1}}),
            "QueryTrades": json.dumps({"error": [], "result": {row["trades"][0]: next(iter(trades.values()))}}),
        }
        report = await account.look_up(order)
    assert report is not None
    assert (report.exchange_order_id, report.filled) == (name, Decimal("0.84962599"))
    [fill] = report.fills
    assert (fill.price, fill.amount, fill.cost) == (Decimal("32.07562"), Decimal("0.5"), Decimal("16.03781"))
    assert (fill.fee, fill.filled_at) == (Decimal("0.03208"), 1_389_071_942_208_900)
    # The fill is of another order, so that the amounts differ: not to be taken for the order's end.
    assert not report.is_final


async def test_a_recorded_order_and_fill_of_coinbase() -> None:
    order = order_on(market_on("coinbaseexchange"), "sell", Decimal("0.07060351"), Decimal(14_000))
    folder = "xchange/xchange-coinbasepro"
    async with parrot() as bird, account_at(bird, "coinbaseexchange") as account:
        bird.by_path = {
            "/orders/": recorded_body(f"{folder}/order/example-limit-order-filled.json"),
            "/fills": recorded_body(f"{folder}/trade/example-fills.json"),
        }
        report = await account.look_up(order)
    assert report is not None
    assert report.exchange_order_id == "b2cdd7fe-1f4a-495e-8b96-7a4be368f43c"
    [fill] = report.fills
    assert (report.filled, fill.fill_id, fill.amount) == (Decimal("0.07060351"), "470768", Decimal("0.01"))
    assert (fill.fee, fill.filled_at) == (Decimal("0.0000017745"), 1_493_623_910_243_000)
