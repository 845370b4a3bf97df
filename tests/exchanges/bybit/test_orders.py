"""Bybit's answers about orders, fills and balances, as its documents show them, read by our order API."""

import json
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from exchanges.bybit.orders import ORDERS, BybitOrderApi
from exchanges.ports.orders import AnswerNotUnderstoodError, KeyRights
from market.instruments.orders import OpenOrder
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.exchanges.played_client import PlayedClient, played_client
from tests.exchanges.served import TRADED, order_on

MARKET = next(market for market in TRADED if (market.exchange, market.symbol) == ("bybit", "BTC/USDT"))
ORDER = order_on(MARKET, "buy", Decimal("0.003"), Decimal("26864.4"))
ROW = {
    "orderId": "1523347543495541248",
    "orderLinkId": ORDER.client_order_id,
    "symbol": "BTCUSDT",
    "price": "26864.4",
    "qty": "0.003",
    "side": "Buy",
    "orderStatus": "PartiallyFilledCanceled",
    "cancelType": "UNKNOWN",
    "rejectReason": "EC_NoError",
    "avgPrice": "26864.1",
    "leavesQty": "0.000",
    "cumExecQty": "0.002",
    "cumExecValue": "53.7282",
    "cumExecFee": "0.000002",
    "timeInForce": "IOC",
    "orderType": "Limit",
    "createdTime": "1684476068369",
    "updatedTime": "1684476068372",
}
FILL = {
    "symbol": "BTCUSDT",
    "orderId": "1523347543495541248",
    "side": "Buy",
    "execTime": "1684476068372",
    "feeCurrency": "BTC",
    "isMaker": False,
    "execFee": "0.000001",
    "execId": "2290000000007764263",
    "execPrice": "26864.2",
    "execQty": "0.001",
    "execValue": "26.8642",
    "execType": "Trade",
    "seq": 4688002127,
}
OTHER = {**FILL, "execId": "2290000000007764264", "execPrice": "26864", "execValue": "26.864", "feeCurrency": ""}


def listed(*rows: object, cursor: str = "") -> dict[str, object]:
    return {"retCode": 0, "retMsg": "OK", "result": {"category": "spot", "list": list(rows), "nextPageCursor": cursor}}


def api(**answers: object) -> tuple[BybitOrderApi, PlayedClient]:
    """Return the API, and the client that it asks."""
    client = played_client(**answers)
    return BybitOrderApi(client), client


async def test_an_order_is_sent_in_its_words() -> None:
    orders, client = api(privatePostV5OrderCreate={"retCode": 0, "result": {"orderId": "7", "orderLinkId": "x"}})
    assert await orders.post(ORDER, MARKET) == "7"
    [(_, sent)] = client.asked
    assert sent == {
        **{"category": "spot", "symbol": "BTCUSDT", "side": "Buy", "orderType": "Limit", "timeInForce": "IOC"},
        **{"price": "26864.4", "qty": "0.003", "orderLinkId": ORDER.client_order_id},
    }


async def test_a_report_has_state_and_fills() -> None:
    orders, _ = api(privateGetV5OrderRealtime=listed(ROW), privateGetV5ExecutionList=listed(OTHER, FILL))
    report = await orders.report(ORDER, MARKET, "1523347543495541248")
    assert report is not None
    assert (report.is_final, report.filled, report.exchange_order_id) == (True, Decimal("0.002"), ROW["orderId"])
    # a fee of what was received, if the fill does not say its currency
    assert [(fill.fee, fill.fee_currency) for fill in report.fills] == [(Decimal("0.000001"), "BTC")] * 2
    assert report.stated is not None
    assert (report.stated.client_order_id, report.stated.symbol) == (ORDER.client_order_id, "BTC/USDT")
    assert (report.stated.price, report.stated.average) == (Decimal("26864.4"), Decimal("26864.1"))


@pytest.mark.parametrize(
    ("side", "fee", "currency"),
    [("Buy", "1", "BTC"), ("Sell", "1", "USDT"), ("Buy", "-1", "USDT"), ("Sell", "-1", "BTC")],
)
async def test_a_rebate_is_of_what_was_given(side: str, fee: str, currency: str) -> None:
    fill = {**OTHER, "side": side, "execFee": fee}
    orders, _ = api(privateGetV5OrderRealtime=listed(ROW), privateGetV5ExecutionList=listed(fill))
    report = await orders.report(ORDER, MARKET, "1")
    assert report is not None
    assert report.fills[0].fee_currency == currency


@pytest.mark.parametrize(
    ("status", "filled", "is_final"),
    [
        ("New", "0", False),
        ("PartiallyFilled", "0.001", False),
        ("Filled", "0.001", True),
        ("Cancelled", "0.001", True),
        ("PartiallyFilledCanceled", "0.001", True),
        ("Rejected", "0.001", True),
        # a fill that is counted and not listed yet
        ("Filled", "0.002", False),
    ],
)
async def test_it_is_final_once_it_has_ended_and_all_its_fills_are_there(
    status: str, filled: str, is_final: bool
) -> None:
    row = {**ROW, "orderStatus": status, "cumExecQty": filled}
    orders, _ = api(privateGetV5OrderRealtime=listed(row), privateGetV5ExecutionList=listed(FILL))
    report = await orders.find(ORDER, MARKET, ())
    assert report is not None
    assert report.is_final is is_final


async def test_an_order_without_fills_has_no_average() -> None:
    row = {**ROW, "orderStatus": "Cancelled", "cumExecQty": "0", "avgPrice": "0"}
    orders, _ = api(privateGetV5OrderRealtime=listed(row), privateGetV5ExecutionList=listed())
    report = await orders.find(ORDER, MARKET, ())
    assert report is not None
    assert report.stated is not None
    assert (report.is_final, report.filled, report.stated.average) == (True, Decimal(0), None)


async def test_what_ended_before_a_restart_of_theirs_is_found_in_the_history() -> None:
    orders, client = api(
        privateGetV5OrderRealtime=listed(), privateGetV5OrderHistory=listed(ROW), privateGetV5ExecutionList=listed(FILL)
    )
    assert await orders.find(ORDER, MARKET, ()) is not None
    named = {"category": "spot", "symbol": "BTCUSDT", "orderLinkId": ORDER.client_order_id}
    assert [query for _, query in client.asked[:2]] == [named, named]
    nowhere, _ = api(privateGetV5OrderRealtime=listed(), privateGetV5OrderHistory=listed())
    assert await nowhere.find(ORDER, MARKET, ()) is None


async def test_open_orders_of_all_pages_and_of_our_markets() -> None:
    page = [{**ROW, "orderId": str(number), "symbol": "BTCUSDT"} for number in range(50)]
    last = [{**ROW, "orderId": "50", "price": "0", "orderLinkId": ""}, {**ROW, "orderId": "51", "symbol": "XYZUSDT"}]
    orders, client = api(privateGetV5OrderRealtime=[listed(*page, cursor="p2"), listed(*last, cursor="p3"), listed()])
    found = await orders.open_orders([MARKET])
    assert [one.exchange_order_id for one in found] == [str(number) for number in range(51)]
    assert found[-1] == OpenOrder(
        exchange="bybit",
        symbol="BTC/USDT",
        exchange_order_id="50",
        client_order_id=None,
        side="buy",
        amount=ORDER.amount,
        price=None,
        placed_at=1_684_476_068_369_000,
    )
    assert [query.get("cursor") for _, query in client.asked] == [None, "p2", "p3"]


GST = {"feeCoin": "BTC", "feeType": "GST", "subFeeType": "IND_GST", "feeRate": "0.00018", "fee": "0.00000018"}


@pytest.mark.parametrize(
    ("said", "fee"),
    [
        ("", "0.000001"),
        (None, "0.000001"),
        ([], "0.000001"),
        ("[]", "0.000001"),
        ([GST], "0.00000118"),
        (json.dumps([GST, GST]), "0.00000136"),
        ([{**GST, "feeCoin": "INR", "fee": "0"}], "0.000001"),
        ([{**GST, "feeCoin": "INR"}], None),
        ([{**GST, "fee": "much"}], None),
        ("none", None),
        ({"GST": "1"}, None),
    ],
    ids=str,
)
async def test_taxes_are_added_to_the_fee_of_their_currency(said: object, fee: str | None) -> None:
    orders, _ = api(privateGetV5ExecutionList=listed({**FILL, "extraFees": said}))
    if fee is None:
        with pytest.raises(AnswerNotUnderstoodError):
            await orders.fills_since([MARKET], wall_now())
    else:
        [one] = await orders.fills_since([MARKET], wall_now())
        assert (one.fill.fee, one.fill.fee_currency) == (Decimal(fee), "BTC")


async def test_a_page_that_is_not_full_need_not_be_the_last() -> None:
    orders, client = api(privateGetV5ExecutionList=[listed(FILL, cursor="p2"), listed(OTHER)])
    found = await orders.fills_since([MARKET], wall_now())
    assert [one.fill.fill_id for one in found] == [FILL["execId"], OTHER["execId"]]
    assert [query.get("cursor") for _, query in client.asked] == [None, "p2"]


@pytest.mark.parametrize("way", ["find", "report"])
async def test_an_order_whose_fills_are_all_there_is_read_once_whatever_the_cursor_says(way: str) -> None:
    page = listed(FILL, OTHER, cursor="p2")
    orders, client = api(privateGetV5OrderRealtime=listed(ROW), privateGetV5ExecutionList=page)
    report = await (orders.find(ORDER, MARKET, ()) if way == "find" else orders.report(ORDER, MARKET, "1"))
    assert report is not None
    assert (report.is_final, len(report.fills)) == (True, 2)
    assert [method for method, _ in client.asked].count("privateGetV5ExecutionList") == 1


async def test_an_order_that_counts_more_fills_than_a_page_is_read_on() -> None:
    orders, client = api(
        privateGetV5OrderRealtime=listed(ROW),
        privateGetV5ExecutionList=[listed(FILL, cursor="p2"), listed(OTHER, cursor="p3"), listed()],
    )
    report = await orders.find(ORDER, MARKET, ())
    assert report is not None
    assert (report.is_final, len(report.fills)) == (True, 2)
    assert [query.get("cursor") for method, query in client.asked[1:]] == [None, "p2", "p3"]
    assert {query["orderId"] for _, query in client.asked[1:]} == {ROW["orderId"]}


async def test_fills_are_asked_for_week_by_week() -> None:
    orders, client = api(privateGetV5ExecutionList=listed())
    assert await orders.fills_since([MARKET], wall_now() - 20 * 86_400 * MICROSECONDS) == []
    spans = [(int(query["startTime"]), int(query["endTime"])) for _, query in client.asked]
    assert len(spans) == 3
    assert all(ended - began < 7 * 86_400_000 for began, ended in spans)
    assert [began for began, _ in spans[1:]] == [ended + 1 for _, ended in spans[:-1]]
    assert spans[-1][1] > wall_now() // 1_000


async def test_fills_of_other_markets_are_left_out() -> None:
    orders, _ = api(privateGetV5ExecutionList=listed(FILL, {**FILL, "symbol": "ETHUSDT"}))
    [one] = await orders.fills_since([MARKET], wall_now())
    assert (one.fill.fill_id, one.exchange_order_id) == (FILL["execId"], FILL["orderId"])


async def test_balances_are_whole_also_while_orders_hold_them() -> None:
    coins = [{"coin": "BTC", "walletBalance": "0.805994", "locked": "0.1"}, {"coin": "USDT", "walletBalance": "-1.5"}]
    answer = {"retCode": 0, "result": {"list": [{"accountType": "UNIFIED", "coin": coins}]}}
    orders, client = api(privateGetV5AccountWalletBalance=answer)
    assert await orders.balances() == {"BTC": Decimal("0.805994"), "USDT": Decimal("-1.5")}
    assert client.asked[0][1] == {"accountType": "UNIFIED"}


@pytest.mark.parametrize("answer", [{}, {"result": None}, {"result": {}}, {"result": {"list": [{"coin": [{}]}]}}, []])
async def test_balances_that_are_none_are_not_understood(answer: object) -> None:
    orders, _ = api(privateGetV5AccountWalletBalance=[answer])
    with pytest.raises(AnswerNotUnderstoodError):
        await orders.balances()


@pytest.mark.parametrize(
    ("said", "rights"),
    [
        ({"permissions": {"Wallet": ["AccountTransfer"]}, "ips": ["*"]}, KeyRights(may_withdraw=False, is_bound=False)),
        ({"permissions": {"Wallet": ["Withdraw"]}, "ips": ["1.2.3.4"]}, KeyRights(may_withdraw=True, is_bound=True)),
        ({"permissions": {}, "ips": []}, KeyRights(may_withdraw=False, is_bound=False)),
    ],
)
async def test_the_rights_of_a_key(said: dict[str, Any], rights: KeyRights) -> None:
    _, client = api(privateGetV5UserQueryApi={"retCode": 0, "result": said})
    assert await ORDERS.key_rights(client, MARKET) == rights


@pytest.mark.parametrize(
    ("symbols", "rate", "query"),
    [
        (["BTC/USDT"], "0.0008", {"category": "spot", "symbol": "BTCUSDT"}),
        (["BTC/USDT", "SOL/USDT"], "0.001", {"category": "spot"}),
    ],
)
async def test_the_fee_is_the_highest_of_the_markets(symbols: list[str], rate: str, query: dict[str, str]) -> None:
    rates = {"ETHUSDT": "0.002", "BTCUSDT": "0.0008", "SOLUSDT": "0.001"}
    rows = [{"symbol": name, "takerFeeRate": one} for name, one in rates.items()]
    _, client = api(privateGetV5AccountFeeRate=listed(*rows))
    assert await ORDERS.taker_rate(client, [replace(MARKET, symbol=symbol) for symbol in symbols]) == Decimal(rate)
    assert client.asked == [("privateGetV5AccountFeeRate", query)]


async def test_a_market_without_a_fee_has_none() -> None:
    _, client = api(privateGetV5AccountFeeRate=listed({"symbol": "ETHUSDT", "takerFeeRate": "0.0006"}))
    with pytest.raises(AnswerNotUnderstoodError, match="no taker fee for BTCUSDT"):
        await ORDERS.taker_rate(client, [MARKET])
