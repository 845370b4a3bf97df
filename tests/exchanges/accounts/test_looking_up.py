"""An order whose acknowledgement was lost is found by each exchange's own means; one that never came is not."""

from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from exchanges.accounts.exchange_account import ExchangeAccount, open_account
from exchanges.errors import ExchangeUnavailableError, OrderRejectedError, OutcomeUnknownError
from market.instruments.markets import Market
from market.instruments.orders import LimitOrder, Side
from market.money import Amount, Price, ceil_to_step
from market.trade.arbitrages import Leg
from market.trade.report_checks import ReportRules
from market.trade.unwinding import markets_by_symbol
from simulators.faults.fault_kinds import Fault
from simulators.faults.lies import lies_of
from tests.exchanges.served import TRADED, Served, order_on, served

SKEWS = (-0.9, -0.4, 0.4, 0.9, -20.0)
"""Seconds that an exchange's clock is off; each believes signatures that are half a minute off, and dates all by it."""
BITFLYER = next(market for market in TRADED if market.exchange == "bitflyer")


@dataclass(frozen=True)
class Desk:
    account: ExchangeAccount
    outside: Served
    market: Market


@pytest.fixture(params=TRADED, ids=lambda market: market.exchange)
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    market: Market = request.param
    async with served(tmp_path, only=(market.exchange,)) as outside:
        account = open_account(outside.config(market.exchange), [market])
        try:
            yield Desk(account, outside, market)
        finally:
            await account.close()


def least(market: Market, price: Price) -> Amount:
    """Return what the exchange takes in one order."""
    return Amount(max(market.minimum_amount, ceil_to_step(market.minimum_notional / price, market.lot_step)))


async def test_a_lost_acknowledgement_is_found(desk: Desk) -> None:
    name = desk.market.exchange
    price, amount = desk.outside.best(desk.market, "sell")
    order = order_on(desk.market, "buy", amount, price)
    desk.outside.faults.switch_on(Fault(name, "lost_acknowledgement", count=1, manner="dropped"))
    with pytest.raises(OutcomeUnknownError):
        await desk.account.place(order)
    found = await desk.account.look_up(order)
    [booked] = desk.outside.world.gateways[name].exchange.customer.orders.values()
    assert found is not None
    assert (found.exchange_order_id, found.filled, found.is_final) == (booked.order_id, booked.filled, True)
    assert {one.fill for one in await desk.account.fills_since(order.intended_at)} == set(found.fills) != set()


async def test_a_lost_acknowledgement_is_found_whatever_the_exchanges_clock_says(desk: Desk) -> None:
    """Off while the order comes in, of which nobody knows, and right again when it is sought; or off all the time."""
    name = desk.market.exchange
    customer = desk.outside.world.gateways[name].exchange.customer
    known: list[str] = []
    for number, skew in enumerate(SKEWS):
        desk.outside.faults.switch_on(Fault(name, "clock_skew", seconds=3600, skew_seconds=skew))
        desk.outside.faults.switch_on(Fault(name, "lost_acknowledgement", count=1, manner="dropped"))
        price, _ = desk.outside.best(desk.market, "sell")
        order = order_on(desk.market, "buy", least(desk.market, price), price)
        # one whose time is not believed is rejected, and the clock is measured for the next
        with suppress(OrderRejectedError), pytest.raises(OutcomeUnknownError):
            await desk.account.place(order)
        if not customer.orders.keys() - known:
            with pytest.raises(OutcomeUnknownError):
                await desk.account.place(order)
        if number % 2:
            desk.outside.faults.clear()
        found = await desk.account.look_up(order, known)
        assert found is not None, f"{skew} s"
        assert (found.exchange_order_id, found.is_final) == (list(customer.orders)[-1], True), f"{skew} s"
        listed = {one.fill for one in await desk.account.fills_since(order.intended_at)}
        assert set(found.fills) <= listed, f"{skew} s"
        assert found.fills
        known.append(found.exchange_order_id)
        desk.outside.faults.clear()


async def test_an_order_that_never_came_is_not_found(desk: Desk) -> None:
    """The connection broke before it was taken; other orders of the account do not stand for it."""
    name = desk.market.exchange
    price, amount = desk.outside.best(desk.market, "sell")
    await desk.account.place(order_on(desk.market, "sell", amount, price))
    order = order_on(desk.market, "buy", amount, price)
    desk.outside.faults.switch_on(Fault(name, "disconnect_during_order", count=1, taken=False))
    with pytest.raises(OutcomeUnknownError):
        await desk.account.place(order)
    assert await desk.account.look_up(order) is None
    assert len(desk.outside.world.gateways[name].exchange.customer.orders) == 1


@pytest.mark.parametrize("desk", [BITFLYER], indirect=True, ids=["bitflyer"])
async def test_an_order_known_to_be_another_is_not_taken_for_this_one(desk: Desk) -> None:
    """Equal in all that bitFlyer says of it, but whose it is was noted when it was acknowledged."""
    price, amount = desk.outside.best(desk.market, "sell")
    order = order_on(desk.market, "buy", amount, price)
    other = await desk.account.place(replace(order, client_order_id="another"))
    assert await desk.account.look_up(order) == other
    assert await desk.account.look_up(order, others=[other.exchange_order_id]) is None
    own = await desk.account.place(order)
    assert await desk.account.look_up(order, others=[other.exchange_order_id]) == own


def leg_of(order: LimitOrder, market: Market) -> Leg:
    return Leg(
        role=order.side,
        exchange=order.exchange,
        symbol=order.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=order.side,
        amount=order.amount,
        limit_price=order.price,
        client_order_id=order.client_order_id,
        state="granted",
        times={"granted": order.intended_at},
    )


async def test_what_is_left_of_an_order_is_cancelled(desk: Desk) -> None:
    name = desk.market.exchange
    price, amount = desk.outside.best(desk.market, "sell")
    order = order_on(desk.market, "buy", amount, price)
    desk.outside.faults.switch_on(Fault(name, "partial_fill_then_nothing", seconds=3600))
    stuck = await desk.account.place(order)
    assert not stuck.is_final
    await desk.account.cancel(order, stuck.exchange_order_id)
    ended = await desk.account.look_up(order)
    assert ended is not None
    assert ended.is_final
    assert 0 < ended.filled < order.amount
    # once it has ended some exchanges say so, and nothing changes
    with suppress(ExchangeUnavailableError):
        await desk.account.cancel(order, stuck.exchange_order_id)
    assert await desk.account.look_up(order) == ended


async def test_no_lie_passes_for_the_truth(desk: Desk) -> None:
    """Whatever its answers say of an order that has filled: it is denied, cannot be read, is
    not final, is doubted, or is true."""
    name, rules = desk.market.exchange, ReportRules(markets_by_symbol((desk.market,)))
    for number, lie in enumerate(lies_of(name)):
        desk.outside.round()
        side: Side = "sell" if number % 2 else "buy"
        price, _ = desk.outside.best(desk.market, "buy" if side == "sell" else "sell")
        order = order_on(desk.market, side, least(desk.market, price), price)
        await desk.account.place(order)
        truth = await desk.account.look_up(order)
        assert truth is not None
        assert truth.is_final
        assert rules.doubt(leg_of(order, desk.market), truth) is None
        desk.outside.faults.switch_on(Fault(name, "lie", seconds=3600, lie=lie))
        with suppress(ExchangeUnavailableError):
            told = await desk.account.look_up(order)
            leg = replace(leg_of(order, desk.market), exchange_order_id=truth.exchange_order_id)
            doubt = None if told is None else rules.doubt(leg, told)
            is_true = told is None or replace(told, stated=None) == replace(truth, stated=None)
            assert doubt or is_true or (told is not None and not told.is_final), lie
        desk.outside.faults.clear()
