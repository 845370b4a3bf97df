"""The simulated OKX over REST: envelopes, signatures, the rules of orders, rows that failed, lists and their pages."""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.simulators.visitor import Answer, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, Call

[WIRE] = [wire for wire in WIRE_CLIENTS if wire.exchange == "okx"]
TERMS = {"instId": "BTC-USDT", "tdMode": "cash", "side": "buy", "ordType": "limit", "sz": "0.01", "px": "50000"}


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path, WIRE) as visitor:
        yield visitor


async def posted(visitor: Visitor, path: str, body: object) -> Answer:
    return await visitor.signed(Call("POST", f"/api/v5/trade/{path}", json.dumps(body)))


async def placed(visitor: Visitor, **fields: object) -> dict[str, Any]:
    """Return the row of the answer."""
    answer = await posted(visitor, "order", {**TERMS, **fields})
    [row] = answer.body["data"]
    assert answer.body["code"] == ("0" if row["sCode"] == "0" else "1"), answer
    found: dict[str, Any] = row
    return found


async def listed(visitor: Visitor, path: str) -> list[dict[str, Any]]:
    answer = await visitor.signed(Call("GET", f"/api/v5/{path}"))
    assert answer.body["code"] == "0", answer
    rows: list[dict[str, Any]] = answer.body["data"]
    return rows


async def test_an_answer_has_an_envelope(visitor: Visitor) -> None:
    answer = await visitor.sent(Call("GET", "/api/v5/public/time"))
    assert answer.body == {"code": "0", "msg": "", "data": [{"ts": str(visitor.clock.now() // 1_000)}]}


async def test_instruments_have_the_markets_rules_and_derivatives_are_none(visitor: Visitor) -> None:
    [row] = await listed(visitor, "public/instruments?instType=SPOT&instId=BTC-USDT")
    assert {name: row[name] for name in ("state", "tickSz", "lotSz", "minSz", "baseCcy", "quoteCcy")} == {
        **{"state": "live", "tickSz": "0.1", "lotSz": "0.00000001", "minSz": "0.00001"},
        **{"baseCcy": "BTC", "quoteCcy": "USDT"},
    }
    for kind in ("SWAP", "FUTURES", "OPTION&uly=BTC-USD"):
        assert await listed(visitor, f"public/instruments?instType={kind}") == []


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("market/books?instId=XYZ-USDT", "51001"),
        ("market/books", "50014"),
        ("market/books?instId=BTC-USDT&sz=x", "51000"),
        ("market/candles?instId=BTC-USDT&bar=7m", "51000"),
        ("market/tickers?instType=COIN", "51000"),
        ("market/ticker?instId=BTC-USDT&foo=1", "51000"),
        ("public/instruments", "50014"),
        ("trade/order?instId=BTC-USDT", "51003"),
        ("trade/order?instId=BTC-USDT&ordId=7", "51603"),
        ("trade/fills-history", "50014"),
        ("trade/orders-history", "50014"),
        ("account/balance?ccy=XYZ", "51000"),
    ],
)
async def test_questions_that_cannot_be_answered(visitor: Visitor, path: str, code: str) -> None:
    answer = await visitor.signed(Call("GET", f"/api/v5/{path}"))
    assert (answer.body["code"], answer.body["data"]) == (code, []), answer


RULES = [
    ({"side": "BUY"}, "51000"),
    ({"ordType": "stop"}, "51000"),
    ({"tdMode": "cross"}, "51000"),
    ({"tgtCcy": "coins"}, "51000"),
    # of orders at the market alone
    ({"tgtCcy": "quote_ccy"}, "51000"),
    ({"stpMode": "none"}, "51000"),
    ({"instId": "XYZ-USDT"}, "51001"),
    ({"px": "50000.01"}, "51000"),
    ({"px": ""}, "50014"),
    ({"px": "5e4"}, "51000"),
    ({"sz": "-1"}, "51000"),
    ({"sz": "0.010000001"}, "51121"),
    ({"sz": "0.000009"}, "51020"),
    ({"sz": "401"}, "51185"),
    ({"sz": "30"}, "51008"),
    ({"clOrdId": "x" * 33}, "51000"),
    ({"clOrdId": "0a1b2c3d-4e5f"}, "51000"),
    ({"tag": "two words"}, "51000"),
    ({"ordType": "market", "sz": "1000001"}, "51201"),
    ({"ordType": "market", "sz": "0.1"}, "51020"),
    ({"ordType": "post_only", "px": "70000"}, "51511"),
]


@pytest.mark.parametrize(("fields", "code"), RULES, ids=[str(fields) for fields, _ in RULES])
async def test_orders_that_break_a_rule(visitor: Visitor, fields: dict[str, object], code: str) -> None:
    row = await placed(visitor, **fields)
    assert (row["sCode"], row["ordId"]) == (code, "")
    assert visitor.exchange.customer.orders == {}


async def test_a_field_that_is_not_read_is_refused(visitor: Visitor) -> None:
    for field in ("posSide", "reduceOnly", "attachAlgoOrds"):
        answer = await posted(visitor, "order", {**TERMS, field: "net"})
        assert (answer.status, answer.body["code"], answer.body["msg"]) == (400, "51000", f"Parameter {field} error")


async def test_a_batch_says_of_each_order_whether_it_failed(visitor: Visitor) -> None:
    both = await posted(visitor, "batch-orders", [{**TERMS, "clOrdId": "a"}, {**TERMS, "clOrdId": "b"}])
    assert (both.body["code"], [row["sCode"] for row in both.body["data"]]) == ("0", ["0", "0"])
    one = await posted(visitor, "batch-orders", [TERMS, {**TERMS, "sz": "0"}])
    assert (one.body["code"], [row["sCode"] for row in one.body["data"]]) == ("2", ["0", "51000"])
    none = await posted(visitor, "cancel-batch-orders", [{"instId": "BTC-USDT", "clOrdId": "c"}])
    assert (none.body["code"], none.body["data"][0]["sCode"]) == ("1", "51400")
    wrong: tuple[object, ...] = ({}, [], [7], [TERMS] * 21)
    for body in wrong:
        assert (await posted(visitor, "batch-orders", body)).status == 400
    assert len(visitor.exchange.customer.open_orders()) == 3


async def test_an_order_is_shown_from_its_opening_to_its_end(visitor: Visitor) -> None:
    row = await placed(visitor, clOrdId="mine1")
    assert (row["sCode"], row["clOrdId"]) == ("0", "mine1")
    named = f"instId=BTC-USDT&ordId={row['ordId']}"
    [shown] = await listed(visitor, "trade/orders-pending")
    assert shown == (await listed(visitor, f"trade/order?{named}"))[0]
    assert (shown["state"], shown["accFillSz"], shown["avgPx"], shown["fee"]) == ("live", "0", "", "0")
    assert (await placed(visitor, clOrdId="mine1"))["sCode"] == "51016"
    cancelled = await posted(visitor, "cancel-order", {"instId": "BTC-USDT", "clOrdId": "mine1"})
    assert (cancelled.body["code"], cancelled.body["data"][0]["ordId"]) == ("0", row["ordId"])
    assert await listed(visitor, "trade/orders-pending") == []
    for path in (
        f"trade/order?{named}",
        "trade/orders-history?instType=SPOT",
        "trade/order?instId=BTC-USDT&clOrdId=mine1",
    ):
        [shown] = await listed(visitor, path)
        assert (shown["ordId"], shown["state"], shown["cancelSource"]) == (row["ordId"], "canceled", "1")
    # an id is free again once its order has ended
    assert (await placed(visitor, clOrdId="mine1"))["sCode"] == "0"


async def test_what_was_cancelled_without_a_fill_is_forgotten_after_two_hours(visitor: Visitor) -> None:
    row = await placed(visitor, ordType="ioc", px="100", sz="0.1")
    path = f"/api/v5/trade/order?instId=BTC-USDT&ordId={row['ordId']}"
    [shown] = await listed(visitor, path.removeprefix("/api/v5/"))
    assert (shown["state"], shown["cancelSource"]) == ("canceled", "14")
    visitor.clock.advance(2 * 3_600)
    assert (await visitor.signed(Call("GET", path))).body["code"] == "0"
    visitor.clock.advance(1)
    assert (await visitor.signed(Call("GET", path))).body["code"] == "51603"
    assert await listed(visitor, "trade/orders-history?instType=SPOT") == []


async def test_fills_are_charged_with_a_minus(visitor: Visitor) -> None:
    await visitor.bought()
    [fill] = await listed(visitor, "trade/fills")
    [booked] = visitor.exchange.customer.fills
    assert (fill["tradeId"], fill["feeCcy"], fill["execType"]) == (booked.fill_id, "BTC", "T")
    assert float(fill["fee"]) == -float(booked.fee) < 0
    [order] = await listed(visitor, "trade/orders-history?instType=SPOT")
    assert (order["state"], float(order["fee"]), order["tradeId"]) == ("filled", float(fill["fee"]), fill["tradeId"])


async def test_an_order_at_the_market_buys_for_money_unless_it_says_otherwise(visitor: Visitor) -> None:
    await placed(visitor, ordType="market", sz="600")
    await placed(visitor, ordType="market", sz="0.01", tgtCcy="base_ccy")
    await placed(visitor, ordType="market", sz="0.02", side="sell")
    sold, bought, spent = await listed(visitor, "trade/orders-history?instType=SPOT")
    assert 590 < float(spent["accFillSz"]) * float(spent["avgPx"]) <= 600
    assert [row["accFillSz"] for row in (sold, bought)] == ["0.02", "0.01"]


async def test_an_amended_order_keeps_its_id(visitor: Visitor) -> None:
    order_id = (await placed(visitor))["ordId"]
    changed = {"instId": "BTC-USDT", "ordId": order_id, "newSz": "0.02", "newPx": "49000", "reqId": "r1"}
    answer = await posted(visitor, "amend-order", changed)
    assert {name: answer.body["data"][0][name] for name in ("ordId", "reqId", "sCode")} == {
        **{"ordId": order_id, "reqId": "r1"},
        "sCode": "0",
    }
    [row] = await listed(visitor, "trade/orders-pending")
    assert (row["ordId"], row["sz"], row["px"]) == (order_id, "0.02", "49000")
    for fields, code in (({}, "51500"), ({"newSz": "0.000001"}, "51020"), ({"ordId": "7", "newPx": "1"}, "51503")):
        answer = await posted(visitor, "amend-order", {"instId": "BTC-USDT", "ordId": order_id, **fields})
        assert answer.body["data"][0]["sCode"] == code


async def test_lists_have_pages(visitor: Visitor) -> None:
    for _ in range(5):
        await placed(visitor)
        await visitor.bought()
        visitor.clock.advance(1)
    for path, number in (("trade/orders-pending?", "ordId"), ("trade/fills?", "billId")):
        seen: list[int] = []
        behind = ""
        while rows := await listed(visitor, f"{path}limit=2{behind}"):
            seen += [int(row[number]) for row in rows]
            behind = f"&after={seen[-1]}"
        assert len(seen) == len(set(seen)) >= 5
        assert seen == sorted(seen, reverse=True)
        newer = await listed(visitor, f"{path}before={seen[3]}")
        assert [int(row[number]) for row in newer] == seen[:3]


@pytest.mark.parametrize(
    ("path", "rows"),
    [
        ("trade/orders-pending?ordType=limit,ioc", 1),
        ("trade/orders-pending?ordType=fok", 0),
        ("trade/orders-pending?state=partially_filled", 0),
        ("trade/orders-pending?instType=SWAP", 0),
        ("trade/orders-pending?instId=ETH-USDT", 0),
        ("trade/orders-history?instType=SPOT&state=filled", 1),
        ("trade/orders-history?instType=SPOT&state=canceled", 0),
        ("trade/orders-history?instType=SPOT&category=twap", 0),
        ("trade/orders-history?instType=SPOT&end=1", 0),
        ("trade/fills?subType=1", 1),
        ("trade/fills?subType=2", 0),
        ("trade/fills?ordId=7", 0),
        ("trade/fills?begin=99999999999999", 0),
        ("account/balance?ccy=BTC", 1),
        ("asset/deposit-history?ccy=BTC", 1),
        ("asset/deposit-history?ccy=BTC&state=0", 0),
        ("asset/currencies?ccy=BTC,ETH", 2),
        ("asset/withdrawal-history", 0),
    ],
)
async def test_a_parameter_is_obeyed(visitor: Visitor, path: str, rows: int) -> None:
    await visitor.bought()
    await placed(visitor)
    answer = await visitor.signed(Call("GET", f"/api/v5/{path}"))
    assert (answer.body["code"], len(answer.body["data"])) == ("0", rows), answer


async def test_the_balance_shows_what_orders_hold(visitor: Visitor) -> None:
    await placed(visitor)
    [account] = await listed(visitor, "account/balance?ccy=USDT")
    [coin] = account["details"]
    assert (coin["ccy"], coin["cashBal"], coin["availBal"], coin["frozenBal"]) == ("USDT", "1000000", "999500", "500")


def spoilt(call: Call, **headers: str) -> Call:
    return replace(call, headers=call.headers | {f"OK-ACCESS-{name}": one for name, one in headers.items()})


async def test_signatures(visitor: Visitor) -> None:
    call, now = Call("GET", "/api/v5/account/config"), visitor.clock.now()

    async def code_of(signed: Call) -> tuple[int, str]:
        answer = await visitor.sent(signed)
        return answer.status, answer.body["code"]

    right = WIRE.sign(call, visitor.keys, now)
    assert await code_of(right) == (200, "0")
    assert await code_of(call) == (401, "50103")
    assert await code_of(spoilt(right, SIGN="x")) == (401, "50113")
    assert await code_of(spoilt(right, PASSPHRASE="x")) == (401, "50105")
    assert await code_of(spoilt(right, TIMESTAMP="yesterday")) == (401, "50112")
    assert await code_of(spoilt(right, TIMESTAMP="")) == (401, "50107")
    assert await code_of(WIRE.sign(call, replace(visitor.keys, api_key="nobody"), now)) == (401, "50111")
    visitor.clock.advance(2)
    late = WIRE.sign(call, visitor.keys, now)
    assert await code_of(late) == (200, "0")
    visitor.clock.advance(31)
    assert await code_of(late) == (401, "50102")
