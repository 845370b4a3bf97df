"""What an account lists of its own: all pages of it, whoever placed the orders, and no market that is not ours."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from uuid import uuid4

import pytest

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from market.instruments.markets import Market
from market.instruments.orders import Side
from market.money import floor_to_step
from runtime.clock import wall_now
from simulators.catalogue import EXCHANGES
from simulators.faults.fault_kinds import Fault
from simulators.matching.order_records import OrderRequest, SimulatedFill
from tests.exchanges.served import TRADED, Served, order_on, served

EVERYWHERE = pytest.mark.parametrize("market", TRADED, ids=lambda market: market.exchange)
SIDES: tuple[Side, ...] = ("buy", "sell")
NAMES = {name: import_module(f"simulators.{name}.gateway").NAMES for name in EXCHANGES}


@asynccontextmanager
async def account_on(market: Market, home: Path) -> AsyncIterator[tuple[ExchangeAccount, Served]]:
    async with served(home, only=(market.exchange,)) as outside:
        account = open_account(outside.config(market.exchange), [market])
        try:
            yield account, outside
        finally:
            await account.close()


@EVERYWHERE
@pytest.mark.parametrize("side", SIDES)
async def test_a_resting_order_is_listed_whoever_placed_it(market: Market, side: Side, tmp_path: Path) -> None:
    async with account_on(market, tmp_path) as (account, outside):
        exchange = outside.world.gateways[market.exchange].exchange
        best, _ = outside.best(market, side)
        far = floor_to_step(best * (Decimal("0.9") if side == "buy" else Decimal("1.1")), market.tick_size)
        names = None if market.exchange == "bitflyer" else str(uuid4())
        amount = floor_to_step(Decimal("0.02"), market.lot_step)
        placed = exchange.place(OrderRequest(market.symbol, side, amount, far, False, names))
        [listed] = await account.open_orders()
        assert (listed.exchange, listed.symbol) == (market.exchange, market.symbol)
        assert listed.exchange_order_id == placed.order_id
        assert listed.client_order_id == names
        assert (listed.side, listed.amount, listed.price) == (side, amount, far)
        # to the second: kraken's float and bitFlyer's milliseconds lose the rest
        assert abs(listed.placed_at - placed.placed_at) < 1_000
        exchange.cancel(placed.order_id)
        assert await account.open_orders() == []


@EVERYWHERE
async def test_more_resting_orders_than_one_page_holds(market: Market, tmp_path: Path) -> None:
    count = 1_010
    async with account_on(market, tmp_path) as (account, outside):
        exchange = outside.world.gateways[market.exchange].exchange
        best, _ = outside.best(market, "buy")
        far = floor_to_step(best / 2, market.tick_size)
        first = exchange.place(OrderRequest(market.symbol, "buy", Decimal("0.02"), far, False, "first"))
        for number in range(1, count):
            # as they would stand after a long day; the exchange itself would want the money for all of them
            other = NAMES[market.exchange].order(first.number + number, first.placed_at + number)
            exchange.customer.store(
                replace(first, order_id=other, number=first.number + number, placed_at=first.placed_at + number)
            )
        listed = await account.open_orders()
        assert len({order.exchange_order_id for order in listed}) == len(listed) == count


@EVERYWHERE
async def test_more_fills_than_one_page_holds(market: Market, tmp_path: Path) -> None:
    count = 2_010 if market.exchange != "kraken" else 110
    async with account_on(market, tmp_path) as (account, outside):
        exchange = outside.world.gateways[market.exchange].exchange
        price, _ = outside.best(market, "sell")
        began = wall_now()
        report = await account.place(order_on(market, "buy", Decimal("0.02"), price))
        first: SimulatedFill = exchange.customer.fills_of(report.exchange_order_id)[0]
        for number in range(1, count):
            # many in the same moment
            when = first.filled_at + number // 100
            name = NAMES[market.exchange].fill(first.number + number, when)
            fill = replace(first, fill_id=name, number=first.number + number, filled_at=when)
            exchange.customer.add_fill(fill)
        listed = await account.fills_since(began)
        assert len({one.fill.fill_id for one in listed}) == len(listed) == count
        assert {one.exchange_order_id for one in listed} == {report.exchange_order_id}


@pytest.mark.parametrize("skew_seconds", [-7_200, 7_200])
@EVERYWHERE
async def test_a_clock_that_is_off_hides_no_fill(market: Market, skew_seconds: float, tmp_path: Path) -> None:
    async with account_on(market, tmp_path) as (account, outside):
        outside.faults.switch_on(Fault(market.exchange, "clock_skew", seconds=600, skew_seconds=skew_seconds))
        price, _ = outside.best(market, "sell")
        began = wall_now()
        report = await account.place(order_on(market, "buy", Decimal("0.02"), price))
        assert {one.fill for one in await account.fills_since(began)} == set(report.fills)


async def test_what_is_traded_in_other_markets_is_not_ours(tmp_path: Path) -> None:
    """Kraken lists all its pairs in one answer, FX among them."""
    bitcoin = next(market for market in TRADED if market.exchange == "kraken")
    async with served(tmp_path, only=("kraken",)) as outside:
        exchange = outside.world.gateways["kraken"].exchange
        other = next(listing for symbol, listing in exchange.listings.items() if symbol != bitcoin.symbol)
        [(ticks, lots)] = exchange.books[other.market.symbol].levels("sell", 1)
        price, amount = other.price(ticks), max(other.amount(lots), other.market.minimum_amount)
        account = open_account(outside.config("kraken"), [bitcoin])
        try:
            began = wall_now()
            exchange.place(OrderRequest(other.market.symbol, "buy", amount, price, True))
            resting = exchange.place(
                OrderRequest(
                    other.market.symbol, "buy", amount, floor_to_step(price / 2, other.market.tick_size), False
                )
            )
            assert exchange.customer.fills
            assert exchange.customer.order(resting.order_id).state == "open"
            assert await account.fills_since(began) == []
            assert await account.open_orders() == []
        finally:
            await account.close()
