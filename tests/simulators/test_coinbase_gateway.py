"""The simulated Coinbase Advanced over REST: tokens, the rules of orders, an id that comes again, lists and pages."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key

from tests.simulators.visitor import Answer, Visitor, visiting
from tests.simulators.wire_clients import WIRE_CLIENTS, Call

[WIRE] = [wire for wire in WIRE_CLIENTS if wire.exchange == "coinbase"]
PREFIX = "/api/v3/brokerage"
LIMIT = {"limit_limit_gtc": {"base_size": "0.01", "limit_price": "50000"}}


@pytest.fixture
async def visitor(tmp_path: Path) -> AsyncIterator[Visitor]:
    async with visiting(tmp_path, WIRE) as visitor:
        yield visitor


async def posted(visitor: Visitor, path: str, body: object) -> Answer:
    return await visitor.signed(Call("POST", f"{PREFIX}/{path}", json.dumps(body)))


async def placed(visitor: Visitor, client_id: str = "a", terms: object = LIMIT, **fields: object) -> dict[str, Any]:
    order = {"client_order_id": client_id, "product_id": "BTC-USD", "side": "BUY", "order_configuration": terms}
    answer = await posted(visitor, "orders", {**order, **fields})
    assert answer.status == 200, answer
    body: dict[str, Any] = answer.body
    return body


async def listed(visitor: Visitor, path: str) -> dict[str, Any]:
    answer = await visitor.signed(Call("GET", f"{PREFIX}/{path}"))
    assert answer.status == 200, answer
    body: dict[str, Any] = answer.body
    return body


async def test_the_time_in_three_forms(visitor: Visitor) -> None:
    body, now = (await visitor.sent(Call("GET", f"{PREFIX}/time"))).body, visitor.clock.now()
    assert (body["epochSeconds"], body["epochMillis"]) == (str(now // 1_000_000), str(now // 1_000))
    assert datetime.fromisoformat(body["iso"]) == datetime.fromtimestamp(now / 1_000_000, UTC)


async def test_products_have_the_markets_rules(visitor: Visitor) -> None:
    row = (await visitor.sent(Call("GET", f"{PREFIX}/market/products/BTC-USD"))).body
    assert row == await listed(visitor, "products/BTC-USD")
    assert {name: row[name] for name in ("status", "base_increment", "price_increment", "quote_min_size")} == {
        **{"status": "online", "base_increment": "0.00000001", "price_increment": "0.01", "quote_min_size": "1"},
    }
    body = (await visitor.sent(Call("GET", f"{PREFIX}/market/products?product_ids=BTC-USD&product_ids=ETH-USD"))).body
    assert [one["product_id"] for one in body["products"]] == ["BTC-USD", "ETH-USD"]
    assert (await visitor.sent(Call("GET", f"{PREFIX}/market/products?product_type=FUTURE"))).body["products"] == []


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("product_book?product_id=XYZ-USD", 400),
        ("product_book", 400),
        ("product_book?product_id=BTC-USD&limit=x", 400),
        ("products?product_type=COIN", 400),
        ("products/BTC-USD/ticker?foo=1", 400),
        ("products/BTC-USD/candles?granularity=ONE_YEAR&start=1&end=2", 400),
        ("products/BTC-USD/candles?granularity=ONE_MINUTE&start=1", 400),
        ("products/BTC-USD/candles?granularity=ONE_MINUTE&start=0&end=1000000", 400),
        ("orders/historical/7", 404),
        ("orders/historical/batch?start_date=yesterday", 400),
        ("orders/historical/fills?cursor=x", 400),
        ("accounts/7", 400),
    ],
)
async def test_questions_that_cannot_be_answered(visitor: Visitor, path: str, status: int) -> None:
    answer = await visitor.signed(Call("GET", f"{PREFIX}/{path}"))
    assert (answer.status, sorted(answer.body)) == (status, ["error", "error_details", "message"]), answer


async def test_candles_are_of_the_trades_newest_first(visitor: Visitor) -> None:
    for _ in range(3):
        visitor.clock.advance(60)
        visitor.rounds(200)
    now, tape = visitor.clock.now() // 1_000_000, visitor.exchange.tape
    body = await listed(visitor, f"products/BTC-USD/candles?granularity=ONE_MINUTE&start={now - 600}&end={now}")
    starts = [int(row["start"]) for row in body["candles"]]
    assert starts == sorted(starts, reverse=True)
    assert body["candles"][0]["close"] == format(tape.newest("BTC/USD", 1)[0].price.normalize(), "f")
    assert (await listed(visitor, "products/BTC-USD/ticker?limit=1"))["trades"][0]["trade_id"] == str(
        tape.newest("BTC/USD", 1)[0].number
    )


RULES: list[tuple[dict[str, object], str, str]] = [
    (
        {"terms": {"limit_limit_gtc": {"base_size": "0.01", "limit_price": "50000.001"}}},
        "INVALID_PRICE_PRECISION",
        "PRICE",
    ),
    ({"terms": {"sor_limit_ioc": {"base_size": "0.000000001", "limit_price": "5"}}}, "INVALID_SIZE_PRECISION", "SIZE"),
    (
        {"terms": {"sor_limit_ioc": {"base_size": "100", "limit_price": "50000"}}},
        "INSUFFICIENT_FUND",
        "INSUFFICIENT_FUND",
    ),
    ({"terms": {"sor_limit_ioc": {"base_size": "0.00000001", "limit_price": "5"}}}, "UNKNOWN_FAILURE_REASON", "SMALL"),
    ({"terms": {"stop_limit_stop_limit_gtc": {}}}, "UNSUPPORTED_ORDER_CONFIGURATION", "ORDER_CONFIG"),
    ({"product_id": "XYZ-USD"}, "INVALID_PRODUCT_ID", "PRODUCT_ID"),
    (
        {"terms": {"limit_limit_gtc": {"base_size": "0.01", "limit_price": "70000", "post_only": True}}},
        "INVALID_LIMIT_PRICE_POST_ONLY",
        "POST_ONLY",
    ),
]


@pytest.mark.parametrize(("fields", "error", "preview"), RULES)
async def test_an_order_that_breaks_a_rule_is_refused_in_an_answer(
    visitor: Visitor, fields: dict[str, Any], error: str, preview: str
) -> None:
    body = await placed(visitor, **fields)
    assert (body["success"], body["order_id"], "success_response" in body) == (False, "", False)
    assert body["error_response"]["error"] == error
    assert preview in body["error_response"]["preview_failure_reason"]
    assert visitor.exchange.customer.orders == {}


@pytest.mark.parametrize(
    "fields",
    [
        {"client_order_id": ""},
        {"side": "HOLD"},
        {"order_configuration": None},
        {"order_configuration": {**LIMIT, "sor_limit_ioc": {}}},
        {"order_configuration": {"sor_limit_ioc": {"base_size": "1", "limit_price": "1", "foo": 1}}},
        {"order_configuration": {"market_market_ioc": {"base_size": "1", "quote_size": "1"}}},
        {"leverage": "2"},
    ],
)
async def test_a_request_that_is_none_is_an_error(visitor: Visitor, fields: dict[str, object]) -> None:
    order = {"client_order_id": "a", "product_id": "BTC-USD", "side": "BUY", "order_configuration": LIMIT}
    answer = await posted(visitor, "orders", {**order, **fields})
    assert (answer.status, answer.body["error"]) == (400, "INVALID_ARGUMENT")


async def test_an_id_that_comes_again_makes_no_order_and_shows_the_first_one(visitor: Visitor) -> None:
    first = await placed(visitor)
    again = await placed(visitor, terms={"sor_limit_ioc": {"base_size": "0.02", "limit_price": "70000"}})
    assert again == first
    await posted(visitor, "orders/batch_cancel", {"order_ids": [first["order_id"]]})
    assert (await placed(visitor))["order_id"] == first["order_id"]
    assert len(visitor.exchange.customer.orders) == 1


async def test_orders_are_cancelled_one_by_one(visitor: Visitor) -> None:
    order_id = (await placed(visitor))["order_id"]
    names = [order_id, "7", order_id]
    rows = (await posted(visitor, "orders/batch_cancel", {"order_ids": names})).body["results"]
    assert [(row["order_id"], row["success"]) for row in rows] == [(order_id, True), ("7", False), (order_id, False)]
    assert {row["failure_reason"] for row in rows[1:]} == {"UNKNOWN_CANCEL_ORDER"}
    assert (await posted(visitor, "orders/batch_cancel", {})).status == 400


async def test_an_order_and_its_fills(visitor: Visitor) -> None:
    made = await placed(visitor, terms={"sor_limit_ioc": {"base_size": "0.5", "limit_price": "70000"}})
    row = (await listed(visitor, f"orders/historical/{made['order_id']}"))["order"]
    assert (row["status"], row["filled_size"], row["time_in_force"]) == ("FILLED", "0.5", "IMMEDIATE_OR_CANCEL")
    assert row["order_configuration"] == {"sor_limit_ioc": {"base_size": "0.5", "limit_price": "70000"}}
    body = await listed(visitor, f"orders/historical/fills?order_ids={made['order_id']}")
    assert int(row["number_of_fills"]) == len(body["fills"]) > 1
    assert sum(float(fill["size"]) for fill in body["fills"]) == pytest.approx(0.5)
    assert {fill["liquidity_indicator"] for fill in body["fills"]} == {"TAKER"}
    held = {one["currency"]: one for one in (await listed(visitor, "accounts?limit=250"))["accounts"]}
    assert held["BTC"]["available_balance"]["value"] == format(
        visitor.exchange.customer.balances["BTC"].normalize(), "f"
    )


async def test_a_market_order_for_a_sum_spends_no_more(visitor: Visitor) -> None:
    before = visitor.exchange.customer.balances["USD"]
    body = await placed(visitor, terms={"market_market_ioc": {"quote_size": "1000"}})
    assert body["success"]
    assert 999 < before - visitor.exchange.customer.balances["USD"] <= 1_000


async def test_lists_come_in_pages_newest_first(visitor: Visitor) -> None:
    ids = [(await placed(visitor, str(number)))["order_id"] for number in range(5)]
    seen: list[str] = []
    cursor = ""
    while True:
        body = await listed(visitor, f"orders/historical/batch?product_ids=BTC-USD&limit=2&cursor={cursor}")
        seen += [row["order_id"] for row in body["orders"]]
        cursor = body["cursor"]
        assert body["has_next"] == bool(cursor)
        if not cursor:
            break
    assert seen == ids[::-1]
    assert (await listed(visitor, "orders/historical/batch?order_status=FILLED"))["orders"] == []
    assert len((await listed(visitor, "orders/historical/batch?order_status=OPEN&order_side=BUY"))["orders"]) == 5
    first = await listed(visitor, "accounts?limit=7")
    second = await listed(visitor, f"accounts?limit=250&cursor={first['cursor']}")
    names = [row["currency"] for row in (*first["accounts"], *second["accounts"])]
    assert (len(first["accounts"]), first["has_next"], second["has_next"]) == (7, True, False)
    assert len(set(names)) == len(names) == len(visitor.exchange.customer.balances)


async def test_what_the_account_pays_and_its_key_may(visitor: Visitor) -> None:
    tier = visitor.exchange.tier
    rates = (await listed(visitor, "transaction_summary?product_type=SPOT"))["fee_tier"]
    assert (rates["taker_fee_rate"], rates["maker_fee_rate"]) == (format(tier.taker, "f"), "0")
    assert (await listed(visitor, "key_permissions"))["can_transfer"] is False
    visitor.exchange.funding.may_withdraw = True
    assert (await listed(visitor, "key_permissions"))["can_transfer"] is True


def token(visitor: Visitor, secret: Any = None, head: Any = None, **claims: Any) -> str:
    keys, now = visitor.keys, visitor.clock.now() // 1_000_000
    usual = {
        "iss": "cdp",
        "sub": keys.api_key,
        "nbf": now,
        "exp": now + 120,
        "uri": f"GET api.coinbase.com{PREFIX}/accounts",
    }
    own = {name: value for name, value in {**usual, **claims}.items() if value is not None}
    return jwt.encode(own, secret or keys.secret, algorithm="ES256", headers={"kid": keys.api_key, **(head or {})})


async def asked_with(visitor: Visitor, bearer: str) -> int:
    return (await visitor.sent(Call("GET", f"{PREFIX}/accounts", headers={"Authorization": f"Bearer {bearer}"}))).status


async def test_a_token_is_for_one_request_of_one_key_for_two_minutes(visitor: Visitor) -> None:
    now, path = visitor.clock.now() // 1_000_000, f"{PREFIX}/accounts"
    assert await asked_with(visitor, token(visitor)) == 200
    host = visitor.outside.url.partition("://")[2]
    for uri in (f"GET {host}/coinbase{path}", f"GET {visitor.outside.url}/coinbase{path}"):
        assert await asked_with(visitor, token(visitor, uri=uri)) == 200
    wrong: list[dict[str, Any]] = [
        {"uri": None},
        {"uri": f"POST api.coinbase.com{path}"},
        {"uri": f"GET api.coinbase.com{path}/7"},
        {"uri": f"GET api.example.com{path}"},
        {"iss": "somebody"},
        {"sub": "organizations/1/apiKeys/1"},
        {"exp": now + 121},
        {"exp": now - 1, "nbf": now - 100},
        {"exp": now + 150, "nbf": now + 31},
        {"exp": None},
        {"nbf": None},
    ]
    assert [await asked_with(visitor, token(visitor, **claims)) for claims in wrong] == [401] * len(wrong)


async def test_a_token_that_is_signed_otherwise_is_none(visitor: Visitor) -> None:
    stranger = generate_private_key(SECP256R1())
    good = token(visitor)
    for bearer in (token(visitor, stranger), token(visitor, head={"kid": "x"}), good[:-2], "", "a.b.c", f"{good}.x"):
        assert await asked_with(visitor, bearer) == 401
    answer = await visitor.sent(Call("GET", f"{PREFIX}/accounts"))
    assert answer.status == 401
