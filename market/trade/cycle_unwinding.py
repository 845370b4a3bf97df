"""Plans what follows once all orders of a cycle are final: it ends, or further orders make its legs equal again. Pure.

Each leg went through to some share of its whole amount. As for a single leg of a pair, `single_leg_policy` decides:
complete what lacks up to the greatest share, then take back what is above the least one; each leg once, at a limit
price `single_leg_limit_bps` from what was seen.
"""

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

from market.decide.kill_switch import HALTED, permits_orders
from market.decide.market_rules import is_closed, market_in_force
from market.decide.settings import Settings
from market.instruments.order_rules import limit_price, minimum_order
from market.instruments.orders import Side, opposite
from market.money import EXACT, ZERO, Amount, decimal_of_whole
from market.trade.arbitrages import ArbitrageState
from market.trade.cycle_profit import cycle_profit
from market.trade.cycle_trades import CycleOrder, CycleTrade, OrderStep
from market.trade.unwinding import CLOSED, client_order_id

_STEPS: dict[str, tuple[OrderStep, ...]] = {"complete": ("complete", "reverse"), "reverse": ("reverse",), "hold": ()}


def following_orders(trade: CycleTrade, settings: Settings, now: int) -> tuple[CycleOrder, ...]:
    """Return the orders of the first step that was not tried yet and that exchanges would take; none: it ends. All
    orders of `trade` must be final; `now` is the server's, microseconds."""
    if not permits_orders(settings.trading_state):
        return ()
    tried = {order.step for order in trade.orders}
    for step in _STEPS[settings.single_leg_policy]:
        orders = () if step in tried else tuple(_orders(trade, step, settings, now))
        if orders:
            return orders
    return ()


def ended(trade: CycleTrade, settings: Settings, now: int) -> CycleTrade:
    """Return the trade with its final state, why, and its profit."""
    state, reason = _end_of(trade, settings)
    return replace(trade, state=state, reason=reason, times={**trade.times, "ended": now}, profit=cycle_profit(trade))


def _end_of(trade: CycleTrade, settings: Settings) -> tuple[ArbitrageState, str | None]:
    if not trade.is_filled:
        return "unfilled", "nothing_filled"
    left = list(_orders(trade, "reverse", settings, 0))
    least = min(trade.shares)
    if left or (_has_closed_market(trade, least, settings)):
        if not permits_orders(settings.trading_state):
            return "residual", HALTED
        return "residual", "single_leg_left" if left else CLOSED
    if any(order.step == "reverse" and order.fills for order in trade.orders):
        return "unwound", "reversed"
    return ("closed", None) if least > 0 else ("residual", "below_minimum")


def _orders(trade: CycleTrade, step: OrderStep, settings: Settings, now: int) -> Iterator[CycleOrder]:
    """Return what makes the legs equal by completing or by reversing, as far as their exchanges take it."""
    target = max(trade.shares) if step == "complete" else min(trade.shares)
    for number, leg in enumerate(trade.cycle.legs):
        if is_closed(leg.market.exchange, leg.market.symbol, settings):
            continue
        side: Side = leg.side if step == "complete" else opposite(leg.side)
        market = market_in_force(leg.market, settings)
        limit = limit_price(market, side, trade.prices[number], settings.single_leg_limit_bps)
        amount = _amount(trade, number, target, market.lot_step)
        if amount >= minimum_order(market, limit):
            order = CycleOrder(
                number=number,
                step=step,
                market=market,
                side=side,
                amount=Amount(amount),
                limit_price=limit,
                fee_rate=settings.taker_fees.get(market.exchange, ZERO),
                client_order_id=client_order_id(trade.trade_id, f"{step}{number + 1}"),
                state="granted",
                times={"reserved": now, "granted": now},
            )
            yield replace(order, held=order.hold_needed)


def _amount(trade: CycleTrade, number: int, target: Fraction, lot: Decimal) -> Decimal:
    """Return by how much the leg differs from that share of its whole amount, on lots."""
    differs = abs(target * trade.wholes[number] - Fraction(trade.net_of(number)))
    return EXACT.multiply(decimal_of_whole(differs // Fraction(lot)), lot)


def _has_closed_market(trade: CycleTrade, least: Fraction, settings: Settings) -> bool:
    """Return whether a leg has more than the others whose market takes no orders."""
    return any(
        is_closed(leg.market.exchange, leg.market.symbol, settings)
        and _amount(trade, number, least, leg.market.lot_step) > 0
        for number, leg in enumerate(trade.cycle.legs)
    )
