"""Stop orders as ccxt makes them: they wait for their price, are in no book until then, and fill or rest after it."""

from decimal import Decimal
from typing import Any

import ccxt
import pytest

from market.instruments.orders import Side
from market.money import floor_to_step
from tests.simulators.contract.abilities import on
from tests.simulators.contract.bench import AMOUNT, Bench, assert_balances_follow

STOPS = ("coinbaseexchange", "kraken", "binance")
both_sides = pytest.mark.parametrize("side", ["buy", "sell"])


def away(bench: Bench, side: Side, share: str) -> Decimal:
    """Return a price that the market reaches when it moves against the holder of the stop."""
    last = bench.exchange.tape.newest(bench.symbol, 1)[0].price
    factor = 1 + Decimal(share) if side == "buy" else 1 - Decimal(share)
    return floor_to_step(last * factor, bench.market.tick_size)


async def stopped(bench: Bench, side: Side, price: Decimal, limit: Decimal | None, amount: Decimal = AMOUNT) -> str:
    """Return the id of a new stop order."""
    parameters: dict[str, Any] = {"stopLossPrice": float(price)}
    if bench.market.exchange == "coinbaseexchange":
        parameters = {"stopPrice": float(price), "stop": "entry" if side == "buy" else "loss"}
    kind = "market" if limit is None else "limit"
    row = await bench.client.create_order(
        bench.symbol, kind, side, float(amount), None if limit is None else float(limit), parameters
    )
    return str(row["id"])


def moved_to(bench: Bench, side: Side, price: Decimal) -> None:
    """Trade the whole market past the price: its maker quotes there, and somebody takes."""
    ticks, lots = bench.listing.ticks(price), bench.listing.lots(Decimal(1))
    ticks += 20 if side == "buy" else -20
    levels = [(ticks - 1 - depth, lots) for depth in range(5)], [(ticks + depth, lots) for depth in range(5)]
    bench.exchange.venue.quote(bench.symbol, *levels)
    bench.exchange.venue.take(bench.symbol, side, bench.listing.lots(AMOUNT))


@both_sides
@on(*STOPS)
async def test_a_stop_order_waits_and_then_fills(bench: Bench, side: Side) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    before, price = await bench.totals(), away(bench, side, "0.02")
    order_id = await stopped(bench, side, price, None)
    row = await bench.order(order_id)
    assert (row["status"], row["filled"]) == ("open", 0)
    assert float(row["triggerPrice"]) == float(price)
    assert await bench.open_orders() == [order_id]
    assert not bench.exchange.books[bench.symbol].rests(order_id)
    moved_to(bench, side, price)
    row = await bench.order(order_id)
    assert (row["status"], row["filled"]) == ("closed", float(AMOUNT))
    assert_balances_follow(before, await bench.totals(), bench.fills())


@on(*STOPS)
async def test_a_stop_with_a_limit_rests_at_its_limit(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    price, limit = away(bench, "sell", "0.02"), away(bench, "sell", "0.01")
    order_id = await stopped(bench, "sell", price, limit)
    moved_to(bench, "sell", price)
    row = await bench.order(order_id)
    assert (row["status"], row["price"], row["filled"]) == ("open", float(limit), 0)
    assert bench.exchange.books[bench.symbol].rests(order_id)


@on(*STOPS)
async def test_a_waiting_stop_is_cancelled_and_gives_back_what_it_held(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    before, base = await bench.client.fetch_balance(), bench.market.base
    order_id = await stopped(bench, "sell", away(bench, "sell", "0.02"), None)
    assert (await bench.client.fetch_balance())[base]["used"] >= float(AMOUNT)
    await bench.cancel(order_id)
    assert (await bench.order(order_id))["status"] == "canceled"
    assert (await bench.client.fetch_balance())[base] == before[base]
    moved_to(bench, "sell", away(bench, "sell", "0.02"))
    assert bench.fills() == []


@on(*STOPS)
async def test_a_stop_that_nobody_can_pay_is_rejected(bench: Bench) -> None:
    bench.tick_until(lambda: bool(bench.exchange.tape.newest(bench.symbol, 1)))
    price = away(bench, "sell", "0.02")
    with pytest.raises(ccxt.InsufficientFunds):
        await stopped(bench, "sell", price, None, Decimal(11))
    assert not bench.exchange.customer.orders
