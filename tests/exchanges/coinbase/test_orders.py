"""Coinbase Advanced's answers about orders, fills and balances, as its documents show them, read by our order API."""

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import ccxt
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from exchanges.coinbase.orders import ORDERS, CoinbaseOrderApi
from exchanges.ports.orders import AnswerNotUnderstoodError, KeyRights
from exchanges.requests.time_synced_signing import client_class
from market.instruments.orders import OpenOrder
from market.time_units import MICROSECONDS
from tests.exchanges.played_client import PlayedClient, played_client
from tests.exchanges.served import TRADED, order_on

MARKET = next(market for market in TRADED if (market.exchange, market.symbol) == ("coinbase", "BTC/USD"))
ORDER = replace(order_on(MARKET, "buy", Decimal("0.003"), Decimal("26864.4")), intended_at=1_700_000_000 * MICROSECONDS)
ORDER_ID = "9bc1eb3b-5b46-4b71-9628-ae2ed0cca75b"
ROW: dict[str, Any] = {
    "order_id": ORDER_ID,
    "product_id": "BTC-USD",
    "order_configuration": {"sor_limit_ioc": {"base_size": "0.003", "limit_price": "26864.4"}},
    "side": "BUY",
    "client_order_id": ORDER.client_order_id,
    "status": "CANCELLED",
    "created_time": "2023-11-14T22:13:21.947030Z",
    "filled_size": "0.002",
    "average_filled_price": "26864.1",
    "total_fees": "0.1",
}
FILL: dict[str, Any] = {
    "entry_id": "22222-2222222-22222222",
    "trade_id": "1111-11111-111111",
    "order_id": ORDER_ID,
    "trade_time": "2023-11-14T22:13:21.950000Z",
    "trade_type": "FILL",
    "price": "26864.2",
    "size": "0.001",
    "commission": "0.06",
    "product_id": "BTC-USD",
    "liquidity_indicator": "TAKER",
    "size_in_quote": False,
    "side": "BUY",
}
OTHER = {**FILL, "entry_id": "22222-2222222-22222223", "trade_id": "1111-11111-111112", "price": "26864"}
POST, READ = "v3PrivatePostBrokerageOrders", "v3PrivateGetBrokerageOrdersHistoricalOrderId"
LIST, FILLS = "v3PrivateGetBrokerageOrdersHistoricalBatch", "v3PrivateGetBrokerageOrdersHistoricalFills"
ACCOUNTS, CANCEL = "v3PrivateGetBrokerageAccounts", "v3PrivatePostBrokerageOrdersBatchCancel"
NOT_THERE = ccxt.ExchangeError('coinbase {"error":"unknown","message":"order with this orderID was not found"}')


def api(answers: Mapping[str, object]) -> tuple[CoinbaseOrderApi, PlayedClient]:
    """Return the API, and the client that it asks; an answer is a list of those to one method, or the only one."""
    client = played_client(**answers)
    return CoinbaseOrderApi(client), client


def fills(*rows: object, cursor: str = "") -> dict[str, object]:
    return {"fills": list(rows), "cursor": cursor}


def listed(*rows: object, cursor: str = "") -> dict[str, object]:
    return {"orders": list(rows), "has_next": bool(cursor), "cursor": cursor}


async def test_an_order_is_sent_in_its_words() -> None:
    named = {"order_id": ORDER_ID, "product_id": "BTC-USD", "side": "BUY", "client_order_id": ORDER.client_order_id}
    orders, client = api({POST: {"success": True, "order_id": ORDER_ID, "success_response": named}})
    assert await orders.post(ORDER, MARKET) == ORDER_ID
    [(_, sent)] = client.asked
    assert sent == {
        **{"client_order_id": ORDER.client_order_id, "product_id": "BTC-USD", "side": "BUY"},
        "order_configuration": {"sor_limit_ioc": {"base_size": "0.003", "limit_price": "26864.4"}},
    }


@pytest.mark.parametrize(
    "answer", [{}, [], {"success": True}, {"success_response": {}}, {"success_response": {"order_id": ""}}]
)
async def test_an_answer_that_is_neither_an_order_nor_an_error(answer: object) -> None:
    orders, _ = api({POST: [answer]})
    with pytest.raises(AnswerNotUnderstoodError):
        await orders.post(ORDER, MARKET)


async def test_a_report_has_state_and_fills() -> None:
    orders, client = api({READ: {"order": ROW}, FILLS: fills(OTHER, FILL)})
    report = await orders.report(ORDER, MARKET, ORDER_ID)
    assert report is not None
    assert (report.is_final, report.filled, report.exchange_order_id) == (True, Decimal("0.002"), ORDER_ID)
    assert [(fill.fee, fill.fee_currency) for fill in report.fills] == [(Decimal("0.06"), "USD")] * 2
    assert [fill.cost for fill in report.fills] == [Decimal("26.864"), Decimal("26.8642")]
    assert report.stated is not None
    assert (report.stated.client_order_id, report.stated.symbol) == (ORDER.client_order_id, "BTC/USD")
    assert (report.stated.amount, report.stated.price) == (Decimal("0.003"), Decimal("26864.4"))
    assert report.stated.average == Decimal("26864.1")
    assert (FILLS, {"order_ids": [ORDER_ID], "limit": "250"}) in client.asked


@pytest.mark.parametrize(
    ("changes", "rows", "is_final"),
    [
        ({"status": "OPEN"}, (FILL, OTHER), False),
        ({"status": "PENDING"}, (FILL, OTHER), False),
        ({"status": "CANCEL_QUEUED"}, (FILL, OTHER), False),
        # its last fill is not listed yet
        ({"status": "FILLED"}, (FILL,), False),
        ({"status": "FILLED"}, (FILL, OTHER), True),
        ({"status": "FAILED", "filled_size": "0"}, (), True),
        ({"status": "EXPIRED", "filled_size": "0"}, (), True),
        # what corrects a fill is none
        ({"status": "FILLED"}, (FILL, OTHER, {**FILL, "entry_id": "3", "trade_type": "REVERSAL"}), True),
    ],
)
async def test_a_report_is_final_once_it_has_ended_and_its_fills_add_up(
    changes: dict[str, str], rows: tuple[object, ...], is_final: bool
) -> None:
    orders, _ = api({READ: {"order": {**ROW, **changes}}, FILLS: fills(*rows)})
    report = await orders.report(ORDER, MARKET, ORDER_ID)
    assert report is not None
    assert report.is_final == is_final


async def test_an_order_that_is_not_there() -> None:
    orders, _ = api({READ: NOT_THERE, FILLS: fills()})
    assert await orders.report(ORDER, MARKET, ORDER_ID) is None
    orders, _ = api({READ: ccxt.ExchangeError("coinbase is down"), FILLS: fills()})
    with pytest.raises(ccxt.ExchangeError, match="is down"):
        await orders.report(ORDER, MARKET, ORDER_ID)


async def test_an_order_is_found_by_our_id_on_whatever_page() -> None:
    others = [{**ROW, "order_id": str(number), "client_order_id": str(number)} for number in range(3)]
    orders, client = api({LIST: [listed(*others, cursor="7"), listed(ROW)], FILLS: fills(FILL, OTHER)})
    report = await orders.find(ORDER, MARKET, ())
    assert report is not None
    assert report.exchange_order_id == ORDER_ID
    # ten minutes before the intent, by the exchange's clock
    since = {"product_ids": ["BTC-USD"], "start_date": "2023-11-14T22:03:20Z", "limit": "250"}
    assert [query for method, query in client.asked if method == LIST] == [since, {**since, "cursor": "7"}]
    orders, _ = api({LIST: listed(*others)})
    assert await orders.find(ORDER, MARKET, ()) is None


async def test_a_cancellation_that_was_not_made_is_an_error() -> None:
    made = {"results": [{"success": True, "failure_reason": "UNKNOWN_CANCEL_FAILURE_REASON", "order_id": ORDER_ID}]}
    orders, client = api({CANCEL: made})
    await orders.cancel(ORDER, MARKET, ORDER_ID)
    assert client.asked == [(CANCEL, {"order_ids": [ORDER_ID]})]
    refused = {"results": [{"success": False, "failure_reason": "UNKNOWN_CANCEL_ORDER", "order_id": ORDER_ID}]}
    orders, _ = api({CANCEL: refused})
    with pytest.raises(ccxt.ExchangeError, match="UNKNOWN_CANCEL_ORDER"):
        await orders.cancel(ORDER, MARKET, ORDER_ID)


def account(uuid: str, currency: str, available: str, held: str) -> dict[str, object]:
    values = {"available_balance": available, "hold": held}
    return {"uuid": uuid, "currency": currency} | {
        name: {"value": value, "currency": currency} for name, value in values.items()
    }


async def test_balances_are_those_of_all_accounts_with_what_is_held() -> None:
    pages: list[object] = [
        {
            "accounts": [account("1", "BTC", "1.2", "0.3"), account("2", "CGLD", "5", "0")],
            "has_next": True,
            "cursor": "2",
        },
        {"accounts": [account("3", "BTC", "1", "0")], "has_next": False, "cursor": "3"},
    ]
    orders, client = api({ACCOUNTS: pages})
    assert await orders.balances() == {"BTC": Decimal("2.5"), "CELO": Decimal(5)}
    assert [query.get("cursor") for _, query in client.asked] == [None, "2"]


async def test_open_orders_are_those_of_the_markets() -> None:
    resting = {
        **ROW,
        "status": "OPEN",
        "order_configuration": {"limit_limit_gtc": {"base_size": "1", "limit_price": "2"}},
    }
    at_market = {
        **ROW,
        "order_id": "8",
        "client_order_id": "",
        "order_configuration": {"market_market_ioc": {"quote_size": "9"}},
    }
    orders, client = api({LIST: listed(resting, at_market, {**resting, "product_id": "ETH-USD"})})
    one, other = await orders.open_orders([MARKET])
    assert client.asked == [(LIST, {"order_status": ["OPEN"], "limit": "250"})]
    placed = 1_700_000_001_947_030
    ours = ORDER.client_order_id
    assert one == OpenOrder("coinbase", "BTC/USD", ORDER_ID, ours, "buy", Decimal(1), Decimal(2), placed)  # type: ignore[arg-type]
    assert (other.client_order_id, other.amount, other.price) == (None, Decimal(0), None)


async def test_fills_are_read_to_the_last_cursor() -> None:
    elsewhere = {**FILL, "entry_id": "3", "product_id": "ETH-USD"}
    pages: list[object] = [fills(FILL, elsewhere, cursor="a"), fills(OTHER, cursor="b"), fills(cursor="b")]
    orders, client = api({FILLS: pages})
    found = await orders.fills_since([MARKET], 1_700_000_000 * MICROSECONDS)
    assert [one.fill.fill_id for one in found] == [FILL["trade_id"], OTHER["trade_id"]]
    assert [query.get("cursor") for _, query in client.asked] == [None, "a", "b"]
    assert client.asked[0][1]["start_sequence_timestamp"] == "2023-11-14T22:12:20Z"


async def test_a_fill_of_an_order_for_a_sum_of_money_says_its_size_in_money() -> None:
    orders, _ = api({FILLS: fills({**FILL, "price": "30000", "size": "100", "size_in_quote": True})})
    [one] = await orders.fills_since([MARKET], 0)
    assert one.fill.amount == Decimal("0.00333333")


@pytest.mark.parametrize("configuration", [{}, None, {"a": {}, "b": {}}, {"sor_limit_ioc": None}])
async def test_an_order_without_its_terms_is_not_understood(configuration: object) -> None:
    orders, _ = api({READ: {"order": {**ROW, "order_configuration": configuration}}, FILLS: fills()})
    with pytest.raises(AnswerNotUnderstoodError):
        await orders.report(ORDER, MARKET, ORDER_ID)


async def test_the_rate_is_that_of_the_accounts_tier() -> None:
    client = PlayedClient({"v3PrivateGetBrokerageTransactionSummary": [{"fee_tier": {"taker_fee_rate": "0.012"}}]})
    assert await ORDERS.taker_rate(client, [MARKET]) == Decimal("0.012")
    assert client.asked[0][1] == {"product_type": "SPOT"}


async def test_the_exchanges_time() -> None:
    client = PlayedClient(
        {"v3PublicGetBrokerageTime": [{"epochSeconds": "1709005034", "epochMillis": "1709005034333"}]}
    )
    assert await ORDERS.server_time(client) == (1_709_005_034_333, 0)


@pytest.mark.parametrize("can_transfer", [True, False])
async def test_a_key_that_may_transfer_may_withdraw(can_transfer: bool) -> None:
    said = {"can_view": True, "can_trade": True, "can_transfer": can_transfer, "portfolio_type": "DEFAULT"}
    client = PlayedClient({"v3PrivateGetBrokerageKeyPermissions": [said]})
    assert await ORDERS.key_rights(client, MARKET) == KeyRights(may_withdraw=can_transfer)


@pytest.mark.parametrize("said", [{}, {"can_transfer": None}, {"can_transfer": "false"}])
async def test_a_key_of_which_it_is_not_said_is_not_taken_for_harmless(said: object) -> None:
    client = PlayedClient({"v3PrivateGetBrokerageKeyPermissions": [said]})
    with pytest.raises(AnswerNotUnderstoodError):
        await ORDERS.key_rights(client, MARKET)


def test_a_request_is_signed_by_the_exchanges_time() -> None:
    private = generate_private_key(SECP256R1())
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()).decode()
    client = client_class("coinbase")({"apiKey": "organizations/1/apiKeys/2", "secret": pem})
    before = client.seconds()
    client.exchange_ahead_ms = 3_600_000
    signed = client.sign("brokerage/orders", ["v3", "private"], "POST", {"a": "b"})
    token = signed["headers"]["Authorization"].removeprefix("Bearer ")
    claims = jwt.decode(
        token, private.public_key(), algorithms=["ES256"], audience="retail_rest_api_proxy", leeway=7_200
    )
    assert jwt.get_unverified_header(token)["kid"] == claims["sub"] == "organizations/1/apiKeys/2"
    assert claims["uri"] == "POST api.coinbase.com/api/v3/brokerage/orders"
    assert 3_600 <= claims["nbf"] - before <= 3_601
    assert claims["exp"] - claims["nbf"] == 120
