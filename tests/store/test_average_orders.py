"""What a signal's row says of its order is what the order's arbitrage says, after each step, on both adapters."""

from dataclasses import replace
from decimal import Decimal

from market.instruments.orders import Fill, OrderReport
from market.money import Amount, total
from market.trade.leases import UNFENCED
from market.trade.moving_average import AverageOrder, order_of
from market.trade.order_results import result_of
from market.trade.unwinding import advancing
from store.ports.trading import TradeStore
from tests.market.samples import MARKETS
from tests.store.booking import finish_leg
from tests.store.reservation_requests import (
    filled,
    granted,
    leg_of,
    leg_request,
    open_books,
    opportunity,
    request,
)
from tests.store.test_mongo_averages import one_trade

ADVANCE = advancing(MARKETS)


async def reserved(store: TradeStore) -> str:
    """Return the id of a signal whose order buys two."""
    await open_books(store)
    trade = await one_trade(store)
    of = opportunity(trade.trade_id)
    result = await store.reserve(replace(request("2", of), legs=(leg_request("buy", of),), strategy="ma"), UNFENCED)
    assert result.arbitrage is not None
    return trade.trade_id


async def order(store: TradeStore) -> AverageOrder:
    """Return what the signal's row says, which is what its arbitrage says."""
    (trade,) = await store.averages.trades()
    arbitrage = await store.arbitrage(trade.trade_id)
    assert arbitrage is not None
    assert trade.order == order_of(arbitrage)
    assert trade.order is not None
    return trade.order


async def restate(store: TradeStore, trade_id: str, *fills: Fill) -> None:
    leg = leg_of(await store.arbitrage(trade_id), "buy")
    report = OrderReport(str(leg.exchange_order_id), True, Amount(total(fill.amount for fill in fills)), fills)
    await store.report_order(replace(result_of(trade_id, leg, report), instead_of=leg.fills), UNFENCED)
    await store.book(trade_id, ADVANCE, UNFENCED)


async def test_an_order_is_open_with_its_reservation_and_filled_with_its_fills(store: TradeStore) -> None:
    trade_id = await reserved(store)
    assert await order(store) == AverageOrder("open")
    leg = await granted(store, trade_id, "buy")
    await finish_leg(store, trade_id, "buy", filled(leg), ADVANCE, UNFENCED)
    assert await order(store) == AverageOrder("filled", None, Decimal(2), 2 * leg.limit_price)


async def test_a_restated_fill_restates_the_order(store: TradeStore) -> None:
    trade_id = await reserved(store)
    leg = await granted(store, trade_id, "buy")
    await finish_leg(store, trade_id, "buy", filled(leg), ADVANCE, UNFENCED)
    [fill] = filled(leg).fills
    half = replace(fill, amount=Amount(fill.amount / 2), cost=fill.cost / 2, fee=fill.fee / 2)
    await restate(store, trade_id, half)
    assert await order(store) == AverageOrder("partly_filled", None, half.amount, half.cost)
    await restate(store, trade_id)
    assert (await order(store)).filled == 0


async def test_a_late_fill_is_the_orders(store: TradeStore) -> None:
    trade_id = await reserved(store)
    leg = await granted(store, trade_id, "buy")
    await finish_leg(store, trade_id, "buy", filled(leg, Decimal(1)), ADVANCE, UNFENCED)
    assert (await order(store)).state == "partly_filled"
    both = (*filled(leg, Decimal(1)).fills, *filled(leg, Decimal(1), "2").fills)
    late = OrderReport(f"order-{leg.client_order_id}", True, leg.amount, both)
    await finish_leg(store, trade_id, "buy", late, ADVANCE, UNFENCED)
    assert await order(store) == AverageOrder("filled", None, Decimal(2), 2 * leg.limit_price)


async def test_the_order_of_an_arbitrage_of_two_legs_is_nobodys(store: TradeStore) -> None:
    await open_books(store)
    trade = await one_trade(store)
    assert (await store.reserve(request("2", opportunity(trade.trade_id)), UNFENCED)).arbitrage is not None
    assert await store.averages.trades() == [trade]
