"""The fields of Kraken's orders that bots send: kinds, lifetimes, references, batches, tests and amendments."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import ccxt
import pytest

from market.time_units import MICROSECONDS
from tests.exchanges.stepped_clock import SteppedClock
from tests.simulators.contract.bench import Bench, opened
from tests.simulators.test_kraken_gateway import bench, limit_order

__all__ = ["bench"]


@pytest.mark.parametrize(
    "fields",
    [
        {"trading_agreement": "agree"},
        {"stptype": "cancel-newest"},
        {"userref": "17"},
        {"leverage": "none"},
        {"oflags": "fciq,post"},
        {"expiretm": "+60", "timeinforce": "GTD"},
        {"starttm": "0", "reduce_only": "false"},
    ],
)
async def test_ordinary_fields_are_read(bench: Bench, fields: dict[str, str]) -> None:
    row = await bench.client.privatePostAddOrder(limit_order(bench) | fields)
    assert [order.order_id for order in bench.exchange.customer.open_orders()] == row["result"]["txid"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trading_agreement", "no"),
        ("stptype", "decrement"),
        ("userref", "x"),
        ("userref", "9999999999"),
        ("leverage", "2:1"),
        ("oflags", "fcib"),
        ("expiretm", "1"),
        ("expiretm", "soon"),
        ("timeinforce", "GTD"),
        ("trigger", "index"),
        ("ordertype", "iceberg"),
        ("price", "+1%"),
    ],
)
async def test_what_is_not_simulated_is_rejected_by_name(bench: Bench, name: str, value: str) -> None:
    with pytest.raises(ccxt.ExchangeError, match=f"EGeneral:Invalid arguments:{name}"):
        await bench.client.privatePostAddOrder(limit_order(bench) | {name: value})
    assert not bench.exchange.customer.orders


async def test_an_order_that_is_only_checked_is_not_placed(bench: Bench) -> None:
    row = await bench.client.privatePostAddOrder(limit_order(bench, validate="true"))
    assert row["result"] == {"descr": {"order": f"buy 0.01000000 XBTUSD @ limit {bench.out_of_reach('buy')}"}}
    with pytest.raises(ccxt.InsufficientFunds):
        await bench.client.privatePostAddOrder(limit_order(bench, validate="true", volume="1000"))
    assert not bench.exchange.customer.orders


async def test_fill_or_kill_takes_all_or_nothing(bench: Bench) -> None:
    price, shown = bench.best("sell")
    half = bench.listing.amount(bench.listing.lots(shown / 2))
    for amount, status, filled in ((half, "closed", half), (shown, "canceled", Decimal(0))):
        order_id = await bench.post("buy", amount, price, {"timeInForce": "FOK"})
        row = await bench.order(order_id)
        assert (row["status"], row["filled"]) == (status, float(filled))


async def test_a_volume_in_quote_currency_buys_no_more(bench: Bench) -> None:
    await bench.client.create_order(bench.symbol, "market", "buy", 500, None, {"oflags": "viqc"})
    spent = sum(fill.cost + fill.fee for fill in bench.fills())
    assert Decimal(490) < spent <= Decimal(500)


async def test_a_reference_names_several_orders(bench: Bench) -> None:
    for reference in ("7", "7", "8"):
        await bench.client.privatePostAddOrder(limit_order(bench, userref=reference))
    seven = (await bench.client.privatePostOpenOrders({"userref": "7"}))["result"]["open"]
    assert [int(row["userref"]) for row in seven.values()] == [7, 7]
    assert (await bench.client.cancel_order("", bench.symbol, {"userref": 7}))["info"]["result"]["count"] in ("2", 2)
    [order] = bench.exchange.customer.open_orders()
    assert order.user_reference == 8
    with pytest.raises(ccxt.OrderNotFound):
        await bench.client.cancel_order("", bench.symbol, {"userref": 7})
    closed = (await bench.client.privatePostClosedOrders({"userref": "7"}))["result"]["closed"]
    assert set(closed) == set(seven)


async def test_an_order_ends_when_its_time_is_over(tmp_path: Path) -> None:
    clock = SteppedClock()
    async with opened("kraken", tmp_path, clock) as bench:
        row = await bench.client.privatePostAddOrder(limit_order(bench, expiretm="+30", timeinforce="GTD"))
        [name] = row["result"]["txid"]
        clock.advance(29)
        bench.outside.world.gateways["kraken"].beat()
        assert await bench.open_orders() == [name]
        clock.advance(2)
        bench.outside.world.gateways["kraken"].beat()
        [ended] = (await bench.client.privatePostQueryOrders({"txid": name}))["result"].values()
        assert (ended["status"], ended["reason"]) == ("expired", "Order expired")
        assert int(ended["expiretm"]) == clock.now() // MICROSECONDS - 1


async def test_a_batch_is_placed_and_cancelled(bench: Bench) -> None:
    price = float(bench.out_of_reach("buy"))
    order = {"symbol": bench.symbol, "type": "limit", "side": "buy", "amount": 0.01, "price": price}
    placed = [row["id"] for row in await bench.client.create_orders([order, order])]
    assert sorted(await bench.open_orders()) == sorted(placed)
    [answer] = await bench.client.cancel_orders([*placed, "O00000-00000-000000"], bench.symbol)
    assert answer["info"]["result"]["count"] in (2, "2")
    assert await bench.open_orders() == []


async def test_the_orders_of_a_batch_are_rejected_apart(bench: Bench) -> None:
    price = float(bench.out_of_reach("buy"))
    order = {"symbol": bench.symbol, "type": "limit", "side": "buy", "amount": 0.01, "price": price}
    with pytest.raises(ccxt.InsufficientFunds, match='"error":"EOrder:Insufficient funds"'):
        await bench.client.create_orders([{**order, "amount": 1_000}, order])
    assert [open_order.amount for open_order in bench.exchange.customer.open_orders()] == [Decimal("0.01")]


async def test_a_batch_of_one_is_none(bench: Bench) -> None:
    order = {"symbol": bench.symbol, "type": "limit", "side": "buy", "amount": 0.01, "price": 1.0}
    with pytest.raises(ccxt.ExchangeError, match="EGeneral:Invalid arguments:orders"):
        await bench.client.create_orders([order])


async def test_an_order_is_amended_by_rest_and_over_the_socket(bench: Bench) -> None:
    price, tick = bench.out_of_reach("buy"), bench.market.tick_size
    order_id = await bench.post("buy", Decimal("0.01"), price)
    await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 0.02, float(price - tick))
    row: dict[str, Any] = await bench.order(order_id)
    assert (row["status"], row["amount"], row["price"]) == ("open", 0.02, float(price - tick))
    edited = await bench.client.edit_order_ws(order_id, bench.symbol, "limit", "buy", 0.03, float(price))
    assert edited["info"]["order_id"] == order_id
    row = await bench.order(order_id)
    assert (row["amount"], row["price"]) == (0.03, float(price))
    currency, held = bench.exchange.customer.hold_of(bench.exchange.customer.order(order_id))
    assert (await bench.client.fetch_balance())[currency]["used"] == pytest.approx(float(held))
    with pytest.raises(ccxt.InsufficientFunds):
        await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 1_000, float(price))
    assert (await bench.order(order_id))["amount"] == 0.03


async def test_an_amended_order_that_crosses_fills(bench: Bench) -> None:
    order_id = await bench.post("buy", Decimal("0.01"), bench.out_of_reach("buy"))
    await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 0.01, float(bench.best("sell")[0]))
    assert (await bench.order(order_id))["status"] == "closed"
    with pytest.raises(ccxt.InvalidOrder, match="EOrder:Unknown order"):
        await bench.client.edit_order(order_id, bench.symbol, "limit", "buy", 0.02, 1.0)
