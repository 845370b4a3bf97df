"""bitFlyer's REST answers: shapes as recorded, rejections in its own words, pages, lifetimes of orders."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ccxt
import pytest

from market.money import decimal_of
from tests.simulators.contract.bench import Bench, opened
from tests.simulators.wire_recordings import answer, has_shape

RECORDED = "xchange-bitflyer"
PRODUCT = {"product_code": "BTC_JPY"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened("bitflyer", tmp_path) as bench:
        yield bench


def limit_order(bench: Bench, price: Decimal | None = None) -> dict[str, Any]:
    price = bench.out_of_reach("buy") if price is None else price
    return {**PRODUCT, "child_order_type": "LIMIT", "side": "BUY", "size": 0.01, "price": int(price)}


async def sent(bench: Bench, order: dict[str, Any]) -> str:
    accepted: str = (await bench.client.privatePostSendchildorder(order))["child_order_acceptance_id"]
    return accepted


async def test_public_answers_have_the_shape_of_recorded_ones(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    client = bench.client
    board = await client.publicGetGetboard(PRODUCT)
    assert has_shape(board, answer(f"{RECORDED}/marketdata/example-orderbook.json"))
    ticker = await client.publicGetGetticker(PRODUCT)
    assert has_shape(ticker, answer(f"{RECORDED}/marketdata/example-ticker.json"))
    executions = await client.publicGetGetexecutions(PRODUCT)
    assert has_shape(executions, answer(f"{RECORDED}/trade/example-execution.json"))
    assert await client.publicGetGethealth(PRODUCT) == {"status": "NORMAL"}
    assert await client.publicGetGetboardstate(PRODUCT) == {"health": "NORMAL", "state": "RUNNING"}


async def test_the_accounts_part_of_a_public_execution_names_its_order(bench: Bench) -> None:
    _, shown = bench.best("sell")
    order_id = await bench.post("buy", shown, None)
    [own] = await bench.client.privateGetGetexecutions(PRODUCT)
    [public, *_] = await bench.client.publicGetGetexecutions(PRODUCT)
    assert (public["id"], public["side"], public["buy_child_order_acceptance_id"]) == (own["id"], "BUY", order_id)
    assert public["sell_child_order_acceptance_id"] != order_id
    assert (public["price"], public["size"], public["exec_date"]) == (own["price"], own["size"], own["exec_date"])


@pytest.mark.parametrize(
    ("fields", "message", "status"),
    [
        ({"size": 900}, "Insufficient funds", -200),
        ({"size": 0.0005}, "The minimum order size is 0.001 BTC.", -110),
        ({"size": "x"}, "Invalid size", -102),
        ({"price": -5}, "Invalid price", -103),
        ({"product_code": "BTC_MARS"}, "Invalid product", -106),
        ({"child_order_type": "STOP"}, "Invalid child_order_type", -1),
        ({"side": "HOLD"}, "Invalid side", -1),
        ({"time_in_force": "GTD"}, "Invalid time_in_force", -1),
        ({"minute_to_expire": 5}, "Invalid minute_to_expire", -1),
        ({"client_order_id": "mine"}, "Invalid client_order_id", -1),
        ({"child_order_acceptance_id": "JRF20150707-050237-639234"}, "Invalid child_order_acceptance_id", -1),
    ],
)
async def test_orders_it_does_not_take(bench: Bench, fields: dict[str, Any], message: str, status: int) -> None:
    with pytest.raises(ccxt.ExchangeError) as rejected:
        await bench.client.privatePostSendchildorder(limit_order(bench) | fields)
    assert f'{{"status":{status},"error_message":"{message}","data":null}}' in str(rejected.value)
    assert bench.exchange.customer.orders == {}


@pytest.mark.parametrize(
    ("lifetime", "more", "state", "executed"),
    [
        ("FOK", "1", "EXPIRED", False),
        ("FOK", "0", "COMPLETED", True),
        ("IOC", "1", "EXPIRED", True),
        ("GTC", "1", "ACTIVE", True),
    ],
)
async def test_how_long_an_order_lives(bench: Bench, lifetime: str, more: str, state: str, executed: bool) -> None:
    price, shown = bench.best("sell")
    order = limit_order(bench, price) | {"size": float(shown + Decimal(more)), "time_in_force": lifetime}
    order_id = await sent(bench, order)
    [row] = await bench.client.privateGetGetchildorders({**PRODUCT, "child_order_acceptance_id": order_id})
    assert (row["child_order_state"], row["time_in_force"]) == (state, lifetime)
    assert decimal_of(row["executed_size"]) == (shown if executed else 0)
    parts = [decimal_of(row[name]) for name in ("executed_size", "outstanding_size", "cancel_size")]
    assert sum(parts) == decimal_of(row["size"])
    assert decimal_of(row["average_price"]) == (price if executed else 0)


async def test_orders_come_in_pages_and_by_state(bench: Bench) -> None:
    client = bench.client
    names = [await sent(bench, limit_order(bench)) for _ in range(5)]
    for name in names[:2]:
        own = name.replace("JRF", "JOR")
        assert await client.privatePostCancelchildorder({**PRODUCT, "child_order_id": own}) in ("", None)

    async def listed(**fields: Any) -> list[str]:
        rows = await client.privateGetGetchildorders({**PRODUCT, **fields})
        return [row["child_order_acceptance_id"] for row in rows]

    newest_first = names[::-1]
    assert await listed() == newest_first
    assert await listed(child_order_state="ACTIVE") == newest_first[:3]
    assert await listed(child_order_state="CANCELED") == newest_first[3:]
    assert await listed(count=2) == newest_first[:2]
    ids = {row["child_order_acceptance_id"]: row["id"] for row in await client.privateGetGetchildorders(PRODUCT)}
    assert await listed(before=ids[names[2]]) == newest_first[3:]
    assert await listed(after=ids[names[2]]) == newest_first[:2]
    assert await listed(child_order_id=names[1].replace("JRF", "JOR")) == [names[1]]
    await client.privatePostCancelallchildorders(PRODUCT)
    assert await listed(child_order_state="ACTIVE") == []
    with pytest.raises(ccxt.ExchangeError, match="Invalid child_order_state"):
        await listed(child_order_state="OPEN")


async def test_an_order_that_nobody_placed_is_not_cancelled(bench: Bench) -> None:
    name = "JRF20150707-050237-639234"
    with pytest.raises(ccxt.ExchangeError, match="Order not found"):
        await bench.client.privatePostCancelchildorder({**PRODUCT, "child_order_acceptance_id": name})


async def test_executions_are_found_by_their_order(bench: Bench) -> None:
    _, shown = bench.best("sell")
    first, second = await bench.post("buy", shown * 2, None), await bench.post("sell", Decimal("0.01"), None)
    for name in (first, second):
        rows = await bench.client.privateGetGetexecutions({**PRODUCT, "child_order_acceptance_id": name})
        fills = bench.exchange.customer.fills_of(name)
        assert [str(row["id"]) for row in rows] == [fill.fill_id for fill in reversed(fills)]
        assert [decimal_of(row["commission"]) for row in rows] == [fill.fee for fill in reversed(fills)]
    newest = await bench.client.privateGetGetexecutions({**PRODUCT, "count": 1})
    assert newest[0]["child_order_acceptance_id"] == second


async def test_what_the_key_may_do(bench: Bench) -> None:
    permissions = await bench.client.privateGetGetpermissions()
    assert {"/v1/me/getbalance", "/v1/me/sendchildorder"} <= set(permissions)
