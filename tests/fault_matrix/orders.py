"""One order under a fault, through the order path of the bots: what placing said, and what there really was."""

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.errors import AccountRejectedError, ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from market.instruments.markets import Market
from market.instruments.orders import Fill, LimitOrder, OrderReport
from market.money import floor_to_step
from market.time_units import MICROSECONDS
from runtime.clock import SystemClock, wall_now
from tests.exchanges.balancing import balances_after
from tests.exchanges.served import order_on
from tests.fault_matrix.trials import Found, OrderShows, OrderTrial, Placed
from tests.fault_matrix.world import MARKETS, ORDER_PATHS, World

DEADLINE_SECONDS = 20.0
UNKNOWN_SECONDS = 5.0
"""How long bots look for an order before it counts as never sent."""
_LOOK_SECONDS = 0.05
_REACH = Decimal("1.05")
"""An order's limit over the best ask: what moves meanwhile does not keep it from filling."""


@dataclass(frozen=True, slots=True)
class OrderSeen:
    """`journalled` and `requests`: how many orders stand in the exchange's file, and how many came to its door."""

    shows: OrderShows
    journalled: int
    requests: int
    again: Placed
    """What a second order came to, after the first was found or known not to be."""
    is_balanced: bool


@dataclass(frozen=True, slots=True)
class _Customer:
    world: World
    account: ExchangeAccount
    market: Market

    async def send(self) -> tuple[Placed, LimitOrder]:
        order = self._order()
        try:
            report = await self.account.place(order)
        except OrderRejectedError:
            return "rejected", order
        except AccountRejectedError:
            return "account rejected", order
        except OutcomeUnknownError:
            return "unknown", order
        return ("filled" if report.is_final and report.filled == order.amount else "partly filled"), order

    async def find(self, order: LimitOrder, seconds: float = 0, others: Collection[str] = ()) -> OrderReport | None:
        """Return the order once it is final. Ask again while the exchange does not answer or the order may still fill,
        and for `seconds` while there is none. `others`: the exchange's ids of other orders, however like this one."""
        gives_up_at = wall_now() + int(seconds * MICROSECONDS)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                try:
                    found = await self.account.look_up(order, others)
                except ExchangeUnavailableError:
                    await SystemClock().sleep(_LOOK_SECONDS)
                    continue
                if found.is_final if found is not None else wall_now() >= gives_up_at:
                    return found
                await SystemClock().sleep(_LOOK_SECONDS)

    def _order(self) -> LimitOrder:
        exchange, market = self.world.exchange(self.market.exchange), self.market
        listing = exchange.listings[market.symbol]
        [(ticks, lots)] = exchange.books[market.symbol].levels("sell", 1)
        price = floor_to_step(listing.price(ticks) * _REACH, market.tick_size)
        least = max(market.minimum_amount, market.minimum_notional / price)
        amount = floor_to_step(max(listing.amount(lots) / 2, least * 4), market.lot_step)
        return order_on(market, "buy", amount, price)


async def order_under(world: World, exchange: str, trial: OrderTrial) -> OrderSeen:
    """One order while the fault is on, and another one, after it unless it `lasts`."""
    account = open_account(world.config(exchange), [MARKETS[exchange]])
    try:
        customer = _Customer(world, account, MARKETS[exchange])
        before = await account.balances()
        channel = {"channel": ORDER_PATHS[exchange]} if trial.is_only_for_orders else {}
        world.fault(exchange, trial.kind, {**trial.options, **channel})
        placed, order = await customer.send()
        if not trial.lasts:
            world.clear(exchange)
        found = await customer.find(order, UNKNOWN_SECONDS if trial.waits else 0)
        journalled, requests = len(world.journalled_orders(exchange)), world.order_requests[exchange]
        again, another = await customer.send()
        others = () if found is None else (found.exchange_order_id,)
        fills = _fills_of(found) + _fills_of(await customer.find(another, others=others))
        world.clear(exchange)
        is_balanced = await account.balances() == balances_after(before, fills)
        return OrderSeen(OrderShows(placed, _kind_of(found, order)), journalled, requests, again, is_balanced)
    finally:
        await account.close()


def _fills_of(report: OrderReport | None) -> tuple[Fill, ...]:
    return () if report is None else report.fills


def _kind_of(report: OrderReport | None, order: LimitOrder) -> Found:
    if report is None:
        return "none"
    return "filled" if report.filled == order.amount else "partly filled"
