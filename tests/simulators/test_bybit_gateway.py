"""The simulated Bybit over REST: envelopes, signatures, the rules of orders, lists and their pages, limits."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from exchanges.credentials import Credentials
from tests.simulators.visitor import Answer, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, Call

[WIRE] = [wire for wire in WIRE_CLIENTS if wire.exchange == "bybit"]
TERMS = {"category": "spot", "symbol": "BTCUSDT", "side": "Buy", "orderType": "Limit", "qty": "0.01", "price": "50000"}


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path, WIRE) as visitor:
        yield visitor


async def posted(visitor: Visitor, path: str, **fields: object) -> Answer:
    return await visitor.signed(Call("POST", f"/v5/order/{path}", json.dumps({"category": "spot", **fields})))


async def placed(visitor: Visitor, **fields: object) -> Answer:
    return await posted(visitor, "create", **{**TERMS, **fields})


async def listed(visitor: Visitor, path: str) -> list[dict[str, Any]]:
    answer = await visitor.signed(Call("GET", path))
    assert answer.body["retCode"] == 0, answer
    rows: list[dict[str, Any]] = answer.body["result"]["list"]
    return rows


async def test_each_answer_has_an_envelope_with_the_exchanges_time(visitor: Visitor) -> None:
    now = visitor.clock.now()
    answer = await visitor.sent(Call("GET", "/v5/market/time"))
    assert answer.body == {
        "retCode": 0,
        "retMsg": "OK",
        "result": {"timeSecond": str(now // 1_000_000), "timeNano": str(now * 1_000)},
        "retExtInfo": {},
        "time": now // 1_000,
    }


async def test_instruments_have_the_markets_rules_and_derivatives_are_none(visitor: Visitor) -> None:
    [row] = await listed(visitor, "/v5/market/instruments-info?category=spot&symbol=BTCUSDT")
    assert (row["status"], row["priceFilter"]) == ("Trading", {"tickSize": "0.1"})
    assert {name: row["lotSizeFilter"][name] for name in ("basePrecision", "minOrderQty", "minOrderAmt")} == {
        "basePrecision": "0.000001",
        "minOrderQty": "0.000011",
        "minOrderAmt": "5",
    }
    for category in ("linear", "inverse", "option"):
        assert await listed(visitor, f"/v5/market/instruments-info?category={category}") == []


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("orderbook?category=spot&symbol=XYZUSDT", "Not supported symbols"),
        ("orderbook?category=spot&symbol=BTCUSDT&limit=201", r"params error: limit is not in [1, 200]"),
        ("orderbook?category=linear&symbol=BTCUSDT", "params error: only spot is simulated"),
        ("orderbook?symbol=BTCUSDT", "params error: category"),
        ("kline?category=spot&symbol=BTCUSDT&interval=7", "params error: Invalid period!"),
        ("tickers?category=spot&foo=1", "params error: foo is not simulated"),
    ],
)
async def test_questions_that_cannot_be_answered(visitor: Visitor, path: str, said: str) -> None:
    answer = await visitor.sent(Call("GET", f"/v5/market/{path}"))
    assert (answer.status, answer.body["retCode"], answer.body["retMsg"]) == (200, 10001, said)


@pytest.mark.parametrize(("limit", "code"), [("12000", 0), ("0", 10001)])
async def test_more_trades_may_be_asked_for_than_are_sent(visitor: Visitor, limit: str, code: int) -> None:
    path = f"/v5/market/recent-trade?category=spot&symbol=BTCUSDT&limit={limit}"
    assert (await visitor.sent(Call("GET", path))).body["retCode"] == code


RULES = [
    ({"side": "buy"}, 170117),
    ({"orderType": "Stop"}, 170116),
    ({"timeInForce": "GTD"}, 170115),
    ({"symbol": "XYZUSDT"}, 10001),
    ({"category": "linear"}, 10001),
    ({"price": "50000.01"}, 170134),
    ({"qty": "0.0100001"}, 170137),
    ({"qty": "0.00001"}, 170136),
    ({"qty": "0.00009"}, 170140),
    ({"qty": "1000"}, 170135),
    ({"qty": "-1"}, 170130),
    ({"price": "1e5"}, 170130),
    ({"qty": "30"}, 170131),
    ({"orderLinkId": "x" * 37}, 10001),
    ({"orderLinkId": "a.b"}, 10001),
    ({"isLeverage": 1}, 10001),
    ({"triggerPrice": "1"}, 10001),
    ({"orderFilter": "StopOrder"}, 10001),
    ({"orderType": "Market", "marketUnit": "coins"}, 170130),
    ({"orderType": "Market", "qty": "1"}, 170140),
    ({"timeInForce": "PostOnly", "price": "70000"}, 170218),
]


@pytest.mark.parametrize(("fields", "code"), RULES, ids=[str(fields) for fields, _ in RULES])
async def test_orders_that_break_a_rule(visitor: Visitor, fields: dict[str, object], code: int) -> None:
    answer = await placed(visitor, **fields)
    assert (answer.status, answer.body["retCode"], answer.body["result"]) == (200, code, {}), answer
    assert visitor.exchange.customer.orders == {}


async def test_an_order_is_shown_from_its_opening_to_its_end(visitor: Visitor) -> None:
    answer = await placed(visitor, orderLinkId="mine-1")
    assert answer.body["retMsg"] == "OK"
    order_id = answer.body["result"]["orderId"]
    assert answer.body["result"] == {"orderId": order_id, "orderLinkId": "mine-1"}
    [row] = await listed(visitor, "/v5/order/realtime?category=spot")
    assert (row["orderStatus"], row["leavesQty"], row["avgPrice"]) == ("New", "0.01", "")
    assert await listed(visitor, "/v5/order/realtime?category=spot&openOnly=1") == []
    cancelled = await posted(visitor, "cancel", symbol="BTCUSDT", orderLinkId="mine-1")
    assert cancelled.body["result"] == answer.body["result"]
    assert await listed(visitor, "/v5/order/realtime?category=spot") == []
    for path in (
        "realtime?category=spot&openOnly=1",
        f"realtime?category=spot&orderId={order_id}",
        "history?category=spot",
    ):
        [row] = await listed(visitor, f"/v5/order/{path}")
        assert (row["orderStatus"], row["cancelType"], row["leavesQty"]) == ("Cancelled", "CancelByUser", "0")
    again = await posted(visitor, "cancel", symbol="BTCUSDT", orderId=order_id)
    assert again.body["retCode"] == 170213
    assert (await placed(visitor, orderLinkId="mine-1")).body["retCode"] == 170141


async def test_an_immediate_order_says_why_it_ended(visitor: Visitor) -> None:
    await placed(visitor, timeInForce="IOC", price="100", qty="0.1")
    [row] = await listed(visitor, "/v5/order/history?category=spot")
    assert (row["orderStatus"], row["rejectReason"]) == ("Cancelled", "EC_NoImmediateQtyToFill")
    listing, book = visitor.exchange.listings["BTC/USDT"], visitor.exchange.books["BTC/USDT"]
    [(ticks, lots)] = book.levels("sell", 1)
    amount = listing.amount(lots) + listing.market.lot_step
    await placed(visitor, timeInForce="IOC", price=listing.price_text(ticks), qty=str(amount))
    [row] = await listed(visitor, "/v5/order/history?category=spot&orderStatus=PartiallyFilledCanceled")
    assert (row["cumExecQty"], row["leavesQty"]) == (format(listing.amount(lots).normalize(), "f"), "0")
    [fill] = await listed(visitor, f"/v5/execution/list?category=spot&orderId={row['orderId']}")
    assert (fill["feeCurrency"], fill["isMaker"], fill["execType"]) == ("BTC", False, "Trade")


async def test_an_order_at_the_market_buys_for_money_unless_it_says_otherwise(visitor: Visitor) -> None:
    await placed(visitor, orderType="Market", qty="600")
    await placed(visitor, orderType="Market", qty="0.01", marketUnit="baseCoin")
    await placed(visitor, orderType="Market", qty="0.02", side="Sell")
    sold, bought, spent = await listed(visitor, "/v5/order/history?category=spot")
    assert 590 < float(spent["cumExecValue"]) <= 600
    assert [row["cumExecQty"] for row in (sold, bought)] == ["0.02", "0.01"]
    assert {row["orderStatus"] for row in (sold, bought, spent)} == {"Filled"}


async def test_an_amended_order_keeps_its_id(visitor: Visitor) -> None:
    order_id = (await placed(visitor)).body["result"]["orderId"]
    answer = await posted(visitor, "amend", symbol="BTCUSDT", orderId=order_id, qty="0.02", price="49000")
    assert answer.body["result"]["orderId"] == order_id
    [row] = await listed(visitor, "/v5/order/realtime?category=spot")
    assert (row["orderId"], row["qty"], row["price"]) == (order_id, "0.02", "49000")
    await placed(visitor)
    answer = await posted(visitor, "cancel-all", symbol="BTCUSDT")
    assert (answer.body["result"]["success"], len(answer.body["result"]["list"])) == ("1", 2)
    assert visitor.exchange.customer.open_orders() == []


async def test_lists_have_pages(visitor: Visitor) -> None:
    for _ in range(5):
        await placed(visitor)
    seen: list[str] = []
    cursor = ""
    while True:
        path = f"/v5/order/realtime?category=spot&limit=2{cursor and f'&cursor={cursor}'}"
        result = (await visitor.signed(Call("GET", path))).body["result"]
        seen += [row["orderId"] for row in result["list"]]
        cursor = result["nextPageCursor"]
        if not cursor:
            break
    assert len(seen) == len(set(seen)) == 5
    assert seen == sorted(seen, reverse=True)


async def test_fills_are_asked_for_by_a_week_at_most(visitor: Visitor) -> None:
    await visitor.bought()
    now = visitor.clock.now() // 1_000
    assert await listed(visitor, f"/v5/execution/list?category=spot&startTime={now - 1_000}")
    assert await listed(visitor, f"/v5/execution/list?category=spot&endTime={now - 1_000}") == []
    path = f"/v5/execution/list?category=spot&startTime={now - 8 * 86_400_000}&endTime={now}"
    answer = await visitor.signed(Call("GET", path))
    assert (answer.body["retCode"], "7 days" in answer.body["retMsg"]) == (10001, True)


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("/v5/order/realtime?category=spot&baseCoin=BTC", 1),
        ("/v5/order/realtime?category=spot&baseCoin=ETH", 0),
        # a market comes before a coin
        ("/v5/order/realtime?category=spot&symbol=BTCUSDT&baseCoin=ETH", 1),
        ("/v5/order/realtime?category=spot&orderFilter=StopOrder", None),
        ("/v5/order/realtime?category=spot&openOnly=7", None),
        ("/v5/order/realtime?category=spot&orderStatus=New", None),
        ("/v5/order/history?category=spot&baseCoin=ETH", 0),
        ("/v5/order/history?category=spot&baseCoin=BTC", 2),
        ("/v5/order/history?category=spot&openOnly=1", None),
        ("/v5/execution/list?category=spot&baseCoin=BTC&execType=Trade", 1),
        ("/v5/execution/list?category=spot&baseCoin=ETH", 0),
        ("/v5/execution/list?category=spot&execType=Funding", 0),
        ("/v5/account/fee-rate?category=spot&baseCoin=BTC", None),
        ("/v5/market/tickers?category=spot&baseCoin=BTC", None),
        ("/v5/market/instruments-info?category=spot&baseCoin=BTC", None),
        ("/v5/market/instruments-info?category=spot&symbol=BTCUSDT&status=Trading", 1),
        ("/v5/market/instruments-info?category=spot&symbol=BTCUSDT&status=PreLaunch", 0),
    ],
)
async def test_a_parameter_is_obeyed_or_refused(visitor: Visitor, path: str, rows: int | None) -> None:
    await visitor.bought()
    await placed(visitor)
    answer = await visitor.signed(Call("GET", path))
    assert answer.body["retCode"] == (10001 if rows is None else 0), answer
    assert rows is None or len(answer.body["result"]["list"]) == rows


async def test_no_coin_is_cancelled_but_the_named_one(visitor: Visitor) -> None:
    await placed(visitor)
    for coin, left in (("ETH", 1), ("BTC", 0)):
        await posted(visitor, "cancel-all", baseCoin=coin)
        assert len(visitor.exchange.customer.open_orders()) == left


async def test_the_wallet_shows_what_orders_hold(visitor: Visitor) -> None:
    await placed(visitor)
    [account] = await listed(visitor, "/v5/account/wallet-balance?accountType=UNIFIED&coin=USDT")
    [coin] = account["coin"]
    assert (coin["coin"], coin["walletBalance"], coin["locked"]) == ("USDT", "1000000", "500")
    for query in ("accountType=SPOT", "accountType=UNIFIED&coin=XYZ"):
        assert (await visitor.signed(Call("GET", f"/v5/account/wallet-balance?{query}"))).body["retCode"] == 10001


def spoilt(call: Call, **headers: str) -> Call:
    return Call(
        call.method, call.path, call.body, call.headers | {f"X-BAPI-{name}": one for name, one in headers.items()}
    )


async def test_signatures(visitor: Visitor) -> None:
    call, now = Call("GET", "/v5/account/info"), visitor.clock.now()

    async def code_of(signed: Call) -> tuple[int, int]:
        answer = await visitor.sent(signed)
        return answer.status, answer.body["retCode"]

    right = WIRE.sign(call, visitor.keys, now)
    assert await code_of(right) == (200, 0)
    assert await code_of(call) == (401, 10003)
    assert await code_of(spoilt(right, SIGN="0" * 64)) == (200, 10004)
    assert await code_of(WIRE.sign(call, Credentials("nobody", "x"), now)) == (200, 10003)
    for late, code in ((-5_000, 0), (-5_001, 10002), (999, 0), (1_000, 10002)):
        assert await code_of(WIRE.sign(call, visitor.keys, now + late * 1_000)) == (200, code), late


async def test_what_is_left_of_a_limit_is_in_the_headers(tmp_path: Path) -> None:
    async with visiting(tmp_path, WIRE) as visitor:
        first = await visitor.signed(Call("GET", "/v5/user/query-api"))
        second = await visitor.signed(Call("GET", "/v5/user/query-api"))
    assert [answer.headers["X-Bapi-Limit"] for answer in (first, second)] == ["10", "10"]
    assert [answer.headers["X-Bapi-Limit-Status"] for answer in (first, second)] == ["9", "8"]
    assert first.headers["X-Bapi-Limit-Reset-Timestamp"] == str(visitor.clock.now() // 1_000)
