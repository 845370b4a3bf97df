"""The lifecycle of a cycle's orders, from their grant to booked fills, and what follows. Pure; used by both store
adapters and by backtests."""

from collections.abc import Iterable
from decimal import Decimal

from market.decide.kill_switch import HALTED, permits_orders
from market.instruments.order_rules import minimum_order
from market.instruments.orders import Fill, OrderReport
from market.money import ZERO, Amount, floor_to_step
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg
from market.trade.cycle_reservations import CycleRows
from market.trade.cycle_trades import CycleOrder, CycleTrade, hold_for
from market.trade.cycle_unwinding import LACKING, ended, following_orders, over_as, waits_for_market
from market.trade.fast_replace import replace
from market.trade.leg_lifecycle import (
    RESUMED,
    ended_leg,
    has_turned_up,
    is_resolved,
    new_fills,
    with_fills,
)
from market.trade.leg_lifecycle import WAIT_WITHIN as UNWIND_WITHIN
from market.trade.lifecycle import IllegalStepError
from market.trade.order_results import OrderResult
from market.trade.profit import flows_of
from market.trade.reservation_state import is_same_day
from market.trade.unwinding import CLOSED

WAIT_WITHIN = 5 * MICROSECONDS
"""How long after its reservation a leg of a cycle may still be granted: what it was found at is long gone then."""
EXPIRED = "expired"
"""Why an order was not sent: it waited for too long."""


def cycle_booked(rows: CycleRows, results: Iterable[OrderResult] = ()) -> CycleRows:
    """Return the rows with what became of orders (each fill once), and what follows by now: a leg that waited for their
    proceeds, orders that complete or take back what others left, or the end. The same rows if nothing is new.

    A fill that is new to the books after the end opens the trade again. Raises IllegalStepError if there is no such
    trade or order.
    """
    before = rows.trade
    if before is None:
        raise IllegalStepError("there is no such trade on a cycle")
    after = rows
    for result in results:
        after = _with_result(after, result)
    return _followed(_with_proceeds(_with_unwinding(after))).with_steps(before)


def cycle_resumed(rows: CycleRows) -> CycleRows:
    """Return the rows after resuming a trade that stopped because nothing could be sent; the same rows if it cannot
    be."""
    trade, settings = rows.trade, rows.settings
    if trade is None or trade.state != "residual" or trade.reason not in RESUMED:
        return rows
    if not permits_orders(settings.trading_state) or (trade.reason == CLOSED and waits_for_market(trade, settings)):
        return rows
    again = _reopened(trade, "resumed", rows.now)
    # an order that was not posted may be needed again
    kept = tuple(order for order in again.orders if order.step != "flatten" or not order.leg.is_unposted)
    after = _followed(replace(_counted_again(rows), trade=replace(again, orders=kept)))
    return _with_those_left_out(after, trade).with_steps(trade)


def cycle_day_result(trade: CycleTrade) -> Decimal:
    """Return what an ended trade adds to the day's result, as `day_result`: one that nobody can value is lost whole."""
    if trade.profit is not None:
        return trade.profit.net
    return -trade.notional if trade.is_filled else ZERO


def _with_result(rows: CycleRows, result: OrderResult) -> CycleRows:
    order = None if rows.trade is None else rows.trade.order(result.role)
    if order is None:
        raise IllegalStepError(f"the trade {result.arbitrage_id} on a cycle has no order {result.role}")
    leg, report = order.leg, result.report
    if leg.client_order_id != result.client_order_id:
        # of an order that was not posted and has another in its place
        return rows
    if result.instead_of is not None and report is not None:
        return _with_restated_fills(rows, order, report.fills) if leg.fills == result.instead_of else rows
    if report is not None and not report.is_final:
        if leg.state != "granted" or leg.exchange_order_id is not None:
            return rows
        return rows.with_order(replace(order, leg=replace(leg, exchange_order_id=report.exchange_order_id)))
    fills = new_fills(rows, leg, report)
    if "done" in leg.times and not has_turned_up(leg, report) and not fills:
        return rows
    return _with_ended_order(rows, order, replace(leg, unresolved=result.unresolved), report, fills)


def _with_ended_order(
    rows: CycleRows, order: CycleOrder, leg: Leg, report: OrderReport | None, fills: tuple[Fill, ...]
) -> CycleRows:
    """Nothing more of the order can fill; `fills` are those that are new."""
    trade = rows.trade
    if trade is None:
        return rows
    after = with_fills(rows, leg, fills).landed(trade.trade_id, leg)
    closed = replace(order, leg=ended_leg(leg, report, fills, rows.now))
    if not trade.is_open and (fills or is_resolved(trade.state, trade.reason, order.leg, leg)):
        # the end was decided without these fills
        reason = "late_fill" if fills else "order_resolved"
        after = replace(_counted_again(after), trade=_reopened(trade, reason, rows.now))
    return after.with_order(closed)


def _with_restated_fills(rows: CycleRows, order: CycleOrder, fills: tuple[Fill, ...]) -> CycleRows:
    """Have the order filled as the exchange says; the same rows if another order has one of the fills."""
    trade, moved = rows.trade, rows.with_restated(order.leg, fills)
    if moved is rows or trade is None:
        return rows
    if not trade.is_open:
        moved = replace(_counted_again(moved), trade=_reopened(trade, "fill_restated", rows.now))
    return moved.with_order(replace(order, leg=replace(order.leg, fills=fills)))


def _reopened(trade: CycleTrade, reason: str, now: int) -> CycleTrade:
    return replace(trade, state="single_leg", reason=reason, times={**trade.times, "reopened": now}, profit=None)


def _counted_again(rows: CycleRows) -> CycleRows:
    """Return the rows with an ended trade counted as open; what it counted on this day is taken back."""
    over = rows.trade
    if over is None:
        return rows
    counted = cycle_day_result(over) if is_same_day(over.times.get("ended", 0), rows.now) else ZERO
    return replace(rows, day_net=rows.day_net - counted).with_notional(over, 1)


def _with_those_left_out(rows: CycleRows, before: CycleTrade) -> CycleRows:
    """Return the rows with the orders of `before` that are not needed again, so that no history is lost."""
    for order in before.orders:
        if rows.trade is not None and rows.trade.order(order.name) is None:
            rows = rows.with_order(order)
    return rows


def _with_unwinding(rows: CycleRows) -> CycleRows:
    """Return the rows with each unwinding order granted that waited for its exchange, or not sent if it is too late."""
    for order in () if rows.trade is None else rows.trade.orders:
        if order.step == "leg" or order.state != "waiting":
            continue
        if not permits_orders(rows.settings.trading_state):
            rows = _without(rows, order, HALTED)
        elif rows.now > order.times["reserved"] + UNWIND_WITHIN:
            rows = _without(rows, order, EXPIRED)
        else:
            rows = _granted_if_due(rows, order)
    return rows


def _with_proceeds(rows: CycleRows) -> CycleRows:
    """Return the rows with each leg granted, or not sent, that waited for an order that has ended by now."""
    for number in range(1, 0 if rows.trade is None else len(rows.trade.cycle.legs)):
        trade = rows.trade
        waiting = None if trade is None else trade.order(f"leg{number + 1}")
        before = None if trade is None else trade.order(f"leg{number}")
        if trade is None or waiting is None or before is None or waiting.state != "waiting" or not before.is_final:
            continue
        sized, reason = _affordable(rows, waiting, before)
        if sized is None:
            rows = _without(rows, waiting, reason)
        elif rows.has_bot(sized.leg):
            sized = replace(sized, follows=trade.net_of(number - 1))
            rows = rows.with_hold(sized.leg, sized.held).with_grant(sized)
    return rows


def _affordable(rows: CycleRows, waiting: CycleOrder, before: CycleOrder) -> tuple[CycleOrder | None, str | None]:
    """Return the order for as many lots as the proceeds booked can pay at its limit, at most those planned; or why
    none is sent."""
    if not permits_orders(rows.settings.trading_state):
        return None, HALTED
    if rows.now > waiting.times["reserved"] + WAIT_WITHIN:
        return None, EXPIRED
    market = waiting.market
    proceeds = flows_of((before.leg,)).get(waiting.hold_currency, ZERO)
    usable = min(proceeds, rows.balance(market.exchange, waiting.hold_currency).usable)
    per_unit = hold_for(market, waiting.side, waiting.fee_rate, waiting.limit_price, Decimal(1))
    amount = min(waiting.amount, floor_to_step(max(usable, ZERO) / per_unit, market.lot_step))
    if amount > 0 and amount * per_unit > usable:
        # the quotient was rounded up in its last digit
        amount -= market.lot_step
    if amount < minimum_order(market, waiting.limit_price):
        return None, "too_small"
    sized = replace(waiting, leg=replace(waiting.leg, amount=Amount(amount)))
    return replace(sized, leg=replace(sized.leg, held=sized.hold_needed)), None


def _without(rows: CycleRows, order: CycleOrder, reason: str | None) -> CycleRows:
    """Return the rows with a waiting order not sent."""
    leg = order.leg
    after = rows if rows.trade is None else rows.landed(rows.trade.trade_id, leg)
    over = replace(leg, state="not_sent", held=ZERO, times=leg.times | {"done": rows.now}, reason=reason)
    return after.with_hold(leg, -leg.held).with_order(replace(order, leg=over))


def _granted_if_due(rows: CycleRows, order: CycleOrder) -> CycleRows:
    """Return the rows with the order granted; or as it is while nobody acts for its exchange, or another order must
    land first that the exchange could not tell from it."""
    if rows.trade is None or not rows.has_flight(rows.trade.trade_id, order.leg) or not rows.has_bot(order.leg):
        return rows
    return rows.with_flight(rows.trade.trade_id, order.leg).with_grant(order)


def _followed(rows: CycleRows) -> CycleRows:
    """Return the rows with further orders, or with the end, once all orders are final. An order without enough balance
    counts as not sent; of one of which nobody knows what became nothing follows."""
    while (trade := rows.trade) is not None and trade.is_open and all(order.is_final for order in trade.orders):
        unresolved = next((leg.unresolved for leg in trade.legs if leg.unresolved is not None), None)
        if unresolved is not None:
            return _over(rows, over_as(trade, "residual", unresolved, rows.now))
        added = following_orders(trade, rows.settings, rows.now)
        if not added:
            return _over(rows, ended(trade, rows.settings, rows.now))
        rows = replace(rows, trade=replace(trade, state="single_leg"))
        for order in added:
            rows = _added(rows, order)
    return rows


def _added(rows: CycleRows, order: CycleOrder) -> CycleRows:
    leg = order.leg
    if rows.balance(leg.exchange, order.hold_currency).usable >= leg.held:
        return _granted_if_due(rows.with_hold(leg, leg.held).with_order(order), order)
    times = leg.times | {"done": rows.now}
    lacking = replace(leg, state="not_sent", held=ZERO, times=times, reason=LACKING)
    return rows.with_order(replace(order, leg=lacking))


def _over(rows: CycleRows, over: CycleTrade) -> CycleRows:
    # a trade that was opened again is not the one that is open on its cycle now
    is_own = rows.on_cycle.arbitrage_id == over.trade_id
    on_cycle = replace(rows.on_cycle, arbitrage_id=None) if is_own else rows.on_cycle
    after = replace(rows, trade=over, on_cycle=on_cycle, day_net=rows.day_net + cycle_day_result(over))
    return after.with_notional(over, -1)
