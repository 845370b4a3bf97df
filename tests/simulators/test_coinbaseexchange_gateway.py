"""Coinbase Exchange's REST answers: shapes as recorded, rejections in its own words, orders of its own kinds."""

from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import aiohttp
import ccxt
import orjson
import pytest

from simulators.coinbaseexchange.rejections import rejection
from simulators.matching.order_records import Reason, RequestRejectedError
from simulators.matching.simulated_exchange import SimulatedExchange
from tests.simulators.contract.bench import Bench, opened
from tests.simulators.wire_recordings import answer, has_shape

RECORDED = "xchange-coinbasepro"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with opened("coinbaseexchange", tmp_path) as bench:
        yield bench


def limit_order(bench: Bench, price: Decimal | None = None, **fields: Any) -> dict[str, Any]:
    price = bench.out_of_reach("buy") if price is None else price
    return {"product_id": "BTC-USD", "side": "buy", "size": "0.01", "price": str(price)} | fields


async def test_answers_have_the_shape_of_recorded_ones(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    client, price = bench.client, bench.best("sell")[0]
    product = next(row for row in await client.publicGetProducts() if row["id"] == "BTC-USD")
    # the exchange no longer states a greatest size
    expected = {name: value for name, value in answer(f"{RECORDED}/products.json")[0].items() if "max" not in name}
    assert has_shape(product, expected | {"status_message": ""})
    for name in ("BTC-USD", "btc-usd"):
        ticker = await client.publicGetProductsIdTicker({"id": name})
        assert has_shape(ticker, answer(f"{RECORDED}/marketdata/example-ticker-data.json"))
    stats = await client.publicGetProductsIdStats({"id": "BTC-USD"})
    assert has_shape(stats, answer(f"{RECORDED}/marketdata/example-stats-data.json"))
    placed = await client.privatePostOrders(limit_order(bench, price, time_in_force="IOC"))
    assert has_shape(placed, answer(f"{RECORDED}/order/example-limit-order-pending.json"))
    assert (placed["status"], placed["filled_size"]) == ("pending", "0.00000000")
    filled = await client.privateGetOrdersId({"id": placed["id"]})
    assert has_shape(filled, answer(f"{RECORDED}/order/example-limit-order-filled.json"))
    [fill] = await client.privateGetFills({"order_id": placed["id"]})
    assert has_shape(fill, answer(f"{RECORDED}/trade/example-fills.json")[0])
    resting = await client.privatePostOrders(limit_order(bench))
    [row] = await client.privateGetOrders()
    assert row["id"] == resting["id"]
    assert has_shape(row, answer(f"{RECORDED}/__files/openOrders.json")[0])


@pytest.mark.parametrize(
    ("fields", "message", "error"),
    [
        ({"size": "500"}, "Insufficient funds", ccxt.InsufficientFunds),
        ({"size": "0.00001"}, "size is too small. Minimum size is 0.000016", ccxt.InvalidOrder),
        ({"size": "0.010000001"}, "size is too accurate. Smallest unit is 0.00000001", ccxt.ExchangeError),
        ({"price": "50000.001"}, "price is too accurate. Smallest unit is 0.01000000", ccxt.ExchangeError),
        ({"size": "0"}, "Invalid size 0", ccxt.ExchangeError),
        ({"size": "1e30"}, "Invalid size 1E+30", ccxt.ExchangeError),
        ({"price": "1e300"}, "Invalid price price", ccxt.ExchangeError),
        ({"size": ["1"]}, "Invalid size size", ccxt.ExchangeError),
        ({"size": "much"}, "Invalid size size", ccxt.ExchangeError),
        ({"price": "-1"}, "Invalid price -1", ccxt.ExchangeError),
        ({"price": "NaN"}, "Invalid price price", ccxt.ExchangeError),
        ({"product_id": "BTC-XYZ"}, "Product not found", ccxt.InvalidOrder),
        ({"client_oid": "mine"}, "Invalid client_oid", ccxt.ExchangeError),
        ({"side": "hold"}, "side is missing or invalid", ccxt.ExchangeError),
        ({"type": "stop"}, "type is missing or invalid", ccxt.ExchangeError),
        ({"time_in_force": "FOREVER"}, "time_in_force is missing or invalid", ccxt.ExchangeError),
        ({"time_in_force": "IOC", "post_only": True}, "time_in_force is missing or invalid", ccxt.ExchangeError),
        ({"post_only": "false"}, "post_only is missing or invalid", ccxt.ExchangeError),
        ({"ioc_order": "True"}, "ioc_order is missing or invalid", ccxt.ExchangeError),
        ({"cancel_after": "day"}, "cancel_after is not simulated, so it is missing or invalid", ccxt.ExchangeError),
        ({"stop": "loss"}, "stop_price is missing or invalid", ccxt.ExchangeError),
        ({"stop": "limit", "stop_price": "1"}, "stop is missing or invalid", ccxt.ExchangeError),
        ({"stop_price": "x"}, "Invalid price stop_price", ccxt.ExchangeError),
    ],
)
async def test_an_order_is_rejected_in_the_exchanges_words(
    bench: Bench, fields: dict[str, Any], message: str, error: type[Exception]
) -> None:
    with pytest.raises(error) as rejected:
        await bench.client.privatePostOrders(limit_order(bench) | fields)
    assert orjson.loads(bench.client.last_http_response) == {"message": message}
    assert message in str(rejected.value)
    assert not bench.exchange.customer.orders


async def test_a_reject_is_worded_as_recorded(bench: Bench) -> None:
    with pytest.raises(ccxt.InsufficientFunds):
        await bench.client.privatePostOrders(limit_order(bench, size="500"))
    assert orjson.loads(bench.client.last_http_response) == answer(f"{RECORDED}/trade/example-order-entry-reject.json")


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ((), "CB-ACCESS-KEY header is required"),
        (("KEY",), "CB-ACCESS-SIGN header is required"),
        (("KEY", "SIGN"), "CB-ACCESS-TIMESTAMP header is required"),
        (("KEY", "SIGN", "TIMESTAMP"), "CB-ACCESS-PASSPHRASE header is required"),
        (("KEY", "SIGN", "TIMESTAMP", "PASSPHRASE"), "Invalid API Key"),
    ],
)
async def test_what_is_not_signed_is_rejected(bench: Bench, known: tuple[str, ...], message: str) -> None:
    headers = {f"CB-ACCESS-{name}": "x" for name in known}
    url = f"{bench.outside.url}/coinbaseexchange/accounts"
    async with aiohttp.ClientSession() as session, session.get(url, headers=headers) as rejected:
        assert (rejected.status, await rejected.json()) == (401, {"message": message})


async def test_an_order_of_all_or_nothing(bench: Bench) -> None:
    price, shown = bench.best("sell")
    killed = await bench.client.create_order(
        bench.symbol, "limit", "buy", float(shown) + 0.01, float(price), {"timeInForce": "FOK"}
    )
    row = await bench.order(killed["id"])
    assert (row["status"], row["filled"], row["timeInForce"]) == ("canceled", 0, "FOK")
    done = await bench.client.create_order(
        bench.symbol, "limit", "buy", float(shown), float(price), {"timeInForce": "FOK"}
    )
    assert (await bench.order(done["id"]))["status"] == "closed"


async def test_an_order_that_may_only_make(bench: Bench) -> None:
    taking = await bench.client.privatePostOrders(limit_order(bench, bench.best("sell")[0], post_only=True))
    assert (taking["status"], taking["reject_reason"]) == ("rejected", "post only")
    assert not bench.exchange.customer.orders
    making = await bench.client.privatePostOrders(limit_order(bench, post_only=True))
    assert (making["status"], making["post_only"]) == ("pending", True)
    assert await bench.open_orders() == [making["id"]]


async def test_a_market_order_for_a_sum_of_money(bench: Bench) -> None:
    before = await bench.totals()
    await bench.client.create_order(bench.symbol, "market", "buy", 1, None, {"cost": 30_000})
    spent = before["USD"] - (await bench.totals())["USD"]
    # one lot more would have been too much
    assert Decimal("29999.99") < spent <= 30_000
    for side, funds in (("sell", "30000"), ("buy", "1e999"), ("buy", "-1")):
        order = {"product_id": "BTC-USD", "type": "market", "side": side, "funds": funds}
        with pytest.raises(ccxt.ExchangeError, match=r"funds is missing or invalid|Invalid size funds"):
            await bench.client.privatePostOrders(order)


async def test_orders_are_cancelled_by_the_clients_id_or_all_at_once(bench: Bench) -> None:
    client_oid = str(uuid4())
    placed = await bench.client.privatePostOrders(limit_order(bench, client_oid=client_oid))
    await bench.client.privateDeleteOrdersClientClientOid({"client_oid": client_oid})
    assert orjson.loads(bench.client.last_http_response) == placed["id"]
    with pytest.raises(ccxt.OrderNotFound, match="Order already done"):
        await bench.client.cancel_order(placed["id"], bench.symbol)
    with pytest.raises(ccxt.OrderNotFound, match="NotFound"):
        await bench.client.cancel_order(str(uuid4()), bench.symbol)
    ids = {(await bench.client.privatePostOrders(limit_order(bench)))["id"] for _ in range(3)}
    await bench.client.cancel_all_orders(bench.symbol)
    assert set(orjson.loads(bench.client.last_http_response)) == ids
    assert await bench.open_orders() == []


@pytest.mark.parametrize(
    "client_oid",
    [
        "0a1b2c3d-4e5f-5a6b-8c7d-9e0f1a2b3c4d",
        "0A1B2C3D-4E5F-4A6B-8C7D-9E0F1A2B3C4D",
        "0a1b2c3d4e5f4a6b8c7d9e0f1a2b3c4d",
    ],
    ids=["version 5", "capitals", "no hyphens"],
)
async def test_an_order_is_accepted_whose_id_is_not_processed(bench: Bench, client_oid: str) -> None:
    placed = await bench.client.privatePostOrders(limit_order(bench, client_oid=client_oid))
    assert "client_oid" not in await bench.client.privateGetOrdersId({"id": placed["id"]})
    with pytest.raises(ccxt.OrderNotFound):
        await bench.client.privateGetOrdersId({"id": f"client:{client_oid}"})


async def test_orders_and_fills_are_listed_by_state_market_and_time(bench: Bench) -> None:
    exchange: SimulatedExchange = bench.exchange
    done = await bench.post("buy", Decimal("0.01"), None)
    resting = await bench.post("buy", Decimal("0.01"), bench.out_of_reach("buy"))
    assert [row["id"] for row in await bench.client.fetch_orders(bench.symbol)] == [done, resting]
    assert [row["id"] for row in await bench.client.fetch_closed_orders(bench.symbol)] == [done]
    assert await bench.client.privateGetOrders({"product_id": "ETH-USD"}) == []
    fills = await bench.client.privateGetFills({"product_id": "BTC-USD"})
    assert [row["trade_id"] for row in fills] == [fill.number for fill in reversed(exchange.customer.fills)]
    tomorrow = bench.client.iso8601(exchange.clock.now() // 1_000 + 86_400_000)
    assert await bench.client.privateGetFills({"product_id": "BTC-USD", "start_date": tomorrow}) == []
    assert len(await bench.client.privateGetFills({"product_id": "BTC-USD", "end_date": tomorrow})) == len(fills)
    for query in ({}, {"product_id": "BTC-USD", "start_date": "soon"}, {"product_id": "BTC-USD", "limit": "few"}):
        with pytest.raises(ccxt.ExchangeError, match="is missing or invalid"):
            await bench.client.privateGetFills(query)


async def test_the_book_by_level(bench: Bench) -> None:
    best = await bench.client.publicGetProductsIdBook({"id": "BTC-USD", "level": 1})
    whole = await bench.client.publicGetProductsIdBook({"id": "BTC-USD", "level": 2})
    for side in ("bids", "asks"):
        assert best[side] == whole[side][:1]
        assert all(len(level) == 3 for level in whole[side])
    bench.outside.round()
    assert (await bench.client.publicGetProductsIdBook({"id": "BTC-USD", "level": 2}))["sequence"] > whole["sequence"]
    with pytest.raises(ccxt.ExchangeError, match="level"):
        await bench.client.publicGetProductsIdBook({"id": "BTC-USD", "level": 4})
    with pytest.raises(ccxt.ExchangeError, match="Product not found"):
        await bench.client.publicGetProductsIdBook({"id": "BTC-XYZ", "level": 2})


async def test_level_3_has_each_order_by_its_id(bench: Bench) -> None:
    price = sorted(bench.standing("buy"))[-2]
    placed = await bench.client.privatePostOrders(limit_order(bench, price))
    whole = await bench.client.publicGetProductsIdBook({"id": "BTC-USD", "level": 2})
    each = await bench.client.publicGetProductsIdBook({"id": "BTC-USD", "level": 3})
    [row] = [row for row in each["bids"] if row[2] == placed["id"]]
    assert (Decimal(row[0]), row[1]) == (price, "0.01000000")
    for side in ("bids", "asks"):
        names = [UUID(name) for _, _, name in each[side]]
        assert len(set(names)) == len(names)
        levels: dict[str, list[Decimal]] = {}
        for text, amount, _ in each[side]:
            levels.setdefault(text, []).append(Decimal(amount))
        summed = [[text, sum(amounts), len(amounts)] for text, amounts in levels.items()]
        assert summed[:50] == [[text, Decimal(amount), count] for text, amount, count in whole[side]]
    assert [count for text, _, count in whole["bids"] if Decimal(text) == price] == [2]


@pytest.mark.parametrize(
    ("reason", "status", "message"),
    [
        ("rate_limited", 429, "rate limit exceeded"),
        ("banned", 403, "Forbidden"),
        ("maintenance", 503, "under maintenance"),
        ("unavailable", 500, "Internal server error"),
        ("order_rejected", 400, "Limit only mode"),
    ],
)
def test_troubles_are_worded(reason: Reason, status: int, message: str) -> None:
    answered = rejection(RequestRejectedError(reason))
    assert answered.status == status
    assert message in orjson.loads(answered.text or "")["message"]
