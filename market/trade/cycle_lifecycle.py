"""The lifecycle of a cycle's orders, from their grant to booked fills, and what follows. Pure."""

from dataclasses import replace
from decimal import Decimal

from market.decide.kill_switch import HALTED, permits_orders
from market.instruments.order_rules import minimum_order
from market.instruments.orders import OrderReport, changes_of
from market.money import ZERO, Amount, floor_to_step
from market.time_units import MICROSECONDS
from market.trade.cycle_reservations import CycleRows
from market.trade.cycle_trades import CycleOrder, CycleTrade, flows_of, hold_for
from market.trade.cycle_unwinding import ended, following_orders
from market.trade.lifecycle import IllegalStepError

WAIT_WITHIN = 5 * MICROSECONDS
"""How long after its reservation a leg of a cycle may still be granted: what it was found at is long gone then."""


def cycle_booked(rows: CycleRows, name: str, report: OrderReport) -> CycleRows:
    """Return the rows with what became of one order: its fills, balances, and what follows: a leg that waited for its
    proceeds, orders that complete or reverse what others left, or the end.

    Raises IllegalStepError if there is no such order, or it was not granted, or has ended.
    """
    trade = rows.trade
    order = None if trade is None else trade.order(name)
    if trade is None or order is None or order.state != "granted":
        raise IllegalStepError(f"order {name} of a cycle cannot end now")
    after = rows.with_hold(order, -order.held)
    for fill in report.fills:
        for currency, change in changes_of(fill, order.market.base, order.market.quote_currency):
            row = after.balance(order.market.exchange, currency)
            after = after.with_balance(replace(row, free=row.free + change))
    done = replace(
        order,
        state="done" if report.is_posted else "not_sent",
        held=ZERO,
        fills=report.fills,
        times={**order.times, "done": rows.now},
        reason=report.reason,
    )
    after = replace(after, trade=_with_order(trade, done), booked=after.booked + report.fills)
    return _followed(_with_proceeds(after))


def _with_proceeds(rows: CycleRows) -> CycleRows:
    """Return the rows with each leg granted, or not sent, that waited for an order that has ended by now."""
    for number in range(1, 0 if rows.trade is None else len(rows.trade.cycle.legs)):
        trade = rows.trade
        waiting = None if trade is None else trade.order(f"leg{number + 1}")
        before = None if trade is None else trade.order(f"leg{number}")
        if trade is None or waiting is None or before is None or waiting.state != "waiting" or not before.is_final:
            continue
        granted, reason = _affordable(rows, waiting, before)
        times = {**waiting.times, "done" if granted is None else "granted": rows.now}
        if granted is None:
            ended_order = replace(waiting, state="not_sent", times=times, reason=reason)
            rows = replace(rows, trade=_with_order(trade, ended_order))
        else:
            rows = replace(
                rows.with_hold(granted, granted.held), trade=_with_order(trade, replace(granted, times=times))
            )
    return rows


def _affordable(rows: CycleRows, waiting: CycleOrder, before: CycleOrder) -> tuple[CycleOrder | None, str | None]:
    """Return the order for as many lots as the proceeds booked can pay at its limit, at most those planned; or why
    none is sent."""
    if not permits_orders(rows.settings.trading_state):
        return None, HALTED
    if rows.now > waiting.times["reserved"] + WAIT_WITHIN:
        return None, "expired"
    market = waiting.market
    proceeds = flows_of((before,)).get(waiting.hold_currency, ZERO)
    usable = min(proceeds, rows.balance(market.exchange, waiting.hold_currency).usable)
    per_unit = hold_for(market, waiting.side, waiting.fee_rate, waiting.limit_price, Decimal(1))
    amount = min(waiting.amount, floor_to_step(max(usable, ZERO) / per_unit, market.lot_step))
    if amount > 0 and amount * per_unit > usable:
        # the quotient was rounded up in its last digit
        amount -= market.lot_step
    if amount < minimum_order(market, waiting.limit_price):
        return None, "too_small"
    sized = replace(waiting, amount=Amount(amount), state="granted")
    return replace(sized, held=sized.hold_needed), None


def _followed(rows: CycleRows) -> CycleRows:
    """Return the rows with further orders, or with the end, once all orders are final. An order without enough balance
    counts as not sent."""
    while rows.trade is not None and all(order.is_final for order in rows.trade.orders):
        trade, settings = rows.trade, rows.settings
        added = following_orders(trade, settings, rows.now)
        if not added:
            return _over(rows, ended(trade, settings, rows.now))
        rows = replace(rows, trade=replace(trade, state="single_leg", orders=(*trade.orders, *added)))
        for order in added:
            rows = _granted(rows, order)
    return rows


def _granted(rows: CycleRows, order: CycleOrder) -> CycleRows:
    if rows.trade is None:
        return rows
    if rows.balance(order.market.exchange, order.hold_currency).usable >= order.held:
        return rows.with_hold(order, order.held)
    times = {**order.times, "done": rows.now}
    lacking = replace(order, state="not_sent", held=ZERO, times=times, reason="insufficient_balance")
    return replace(rows, trade=_with_order(rows.trade, lacking))


def _over(rows: CycleRows, over: CycleTrade) -> CycleRows:
    on_cycle = replace(rows.on_cycle, arbitrage_id=None)
    after = replace(rows, trade=over, on_cycle=on_cycle, day_net=rows.day_net + cycle_day_result(over))
    return after.with_notional(over, -1)


def cycle_day_result(trade: CycleTrade) -> Decimal:
    """Return what an ended trade adds to the day's result, as `day_result`: one that nobody can value is lost whole."""
    if trade.profit is not None:
        return trade.profit.net
    return -trade.notional if trade.is_filled else ZERO


def _with_order(trade: CycleTrade, changed: CycleOrder) -> CycleTrade:
    orders = tuple(changed if order.name == changed.name else order for order in trade.orders)
    return replace(trade, orders=orders)
