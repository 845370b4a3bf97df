"""Plans what follows once all orders of a cycle are final: it ends, or further orders make its legs equal again. Pure.

Each leg went through to some share of its whole amount. As for a single leg of a pair, `single_leg_policy` decides:
complete what lacks up to the greatest share, then take back what is above the least one; each leg once, at a limit
price `single_leg_limit_bps` from what was seen. What a fill leaves that came after the end is taken back too, at
`flatten_limit_bps`.
"""

from collections.abc import Iterator
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
from market.trade.cycle_trades import TAKES_BACK, CycleOrder, CycleTrade, OrderStep, leg_for, role_of
from market.trade.fast_replace import replace
from market.trade.unwinding import CLOSED, MAX_TRIES, NOT_POSTED, client_order_id

_STEPS: dict[str, tuple[OrderStep, ...]] = {"complete": ("complete", "reverse"), "reverse": ("reverse",), "hold": ()}
_LATE_STEPS: dict[str, tuple[OrderStep, ...]] = {"complete": ("flatten",), "reverse": ("flatten",), "hold": ()}
LACKING = "insufficient_balance"
"""Why an order was not sent: what it needs is not free."""


def following_orders(trade: CycleTrade, settings: Settings, now: int) -> tuple[CycleOrder, ...]:
    """Return the orders of the first step that was not tried yet and that exchanges would take, not granted yet, with
    what they need as held; none: it ends. All orders of `trade` must be final; `now` is the server's, microseconds."""
    if not permits_orders(settings.trading_state):
        return ()
    tried = {order.step for order in trade.orders}
    for step in _steps_of(trade, settings):
        orders = () if step in tried else tuple(_orders(trade, step, settings, now))
        if orders:
            return orders
    return ()


def _steps_of(trade: CycleTrade, settings: Settings) -> tuple[OrderStep, ...]:
    return (_LATE_STEPS if "reopened" in trade.times else _STEPS)[settings.single_leg_policy]


def ended(trade: CycleTrade, settings: Settings, now: int) -> CycleTrade:
    """Return the trade with its final state, why, and its profit."""
    state, reason = _end_of(trade, settings)
    return over_as(trade, state, reason, now)


def over_as(trade: CycleTrade, state: ArbitrageState, reason: str | None, now: int) -> CycleTrade:
    """Return the trade ended so, with its profit."""
    return replace(trade, state=state, reason=reason, times={**trade.times, "ended": now}, profit=cycle_profit(trade))


def unposted_orders(trade: CycleTrade) -> list[CycleOrder]:
    """Return the orders of the last step that never left for certain; not those that lacked their balance."""
    last = [order for order in trade.orders if order.step == trade.orders[-1].step]
    return [order for order in last if order.leg.is_unposted and order.leg.reason != LACKING]


def waits_for_market(trade: CycleTrade, settings: Settings) -> bool:
    """Whether a leg has more than the others whose market takes no orders."""
    return any(
        is_closed(leg.market.exchange, leg.market.symbol, settings)
        and _amount(trade, number, min(trade.shares), leg.market.lot_step) > 0
        for number, leg in enumerate(trade.cycle.legs)
    )


def _end_of(trade: CycleTrade, settings: Settings) -> tuple[ArbitrageState, str | None]:
    if not trade.is_filled:
        return "unfilled", "nothing_filled"
    left = list(_orders(trade, "reverse", settings, 0))
    least = min(trade.shares)
    is_waiting = waits_for_market(trade, settings)
    if left or is_waiting:
        if not permits_orders(settings.trading_state):
            return "residual", HALTED
        if is_waiting:
            return "residual", CLOSED
        return "residual", NOT_POSTED if _is_unposted(trade, settings) else "single_leg_left"
    if any(order.step in TAKES_BACK and order.fills for order in trade.orders):
        return "unwound", "reversed"
    return ("closed", None) if least > 0 else ("residual", "below_minimum")


def _is_unposted(trade: CycleTrade, settings: Settings) -> bool:
    """Whether an order of the last step may still be posted."""
    unposted = unposted_orders(trade)
    # this try is not in the history yet
    tries = 1 + max((_times(trade, f"{order.name} not_sent") for order in unposted), default=0)
    return bool(unposted) and unposted[0].step in _steps_of(trade, settings) and tries < MAX_TRIES


def _times(trade: CycleTrade, what: str) -> int:
    """How often that step was taken."""
    return sum(step.what == what for step in trade.history)


def _orders(trade: CycleTrade, step: OrderStep, settings: Settings, now: int) -> Iterator[CycleOrder]:
    """Return what makes the legs equal by completing or by taking back, as far as their exchanges take it."""
    target = max(trade.shares) if step == "complete" else min(trade.shares)
    slack = settings.flatten_limit_bps if step == "flatten" else settings.single_leg_limit_bps
    for number, leg in enumerate(trade.cycle.legs):
        if is_closed(leg.market.exchange, leg.market.symbol, settings):
            continue
        side: Side = leg.side if step == "complete" else opposite(leg.side)
        market = market_in_force(leg.market, settings)
        limit = limit_price(market, side, trade.prices[number], slack)
        amount = _amount(trade, number, target, market.lot_step)
        if amount >= minimum_order(market, limit):
            role = role_of(step, number)
            order_id = client_order_id(trade.trade_id, role, _times(trade, f"{role} granted"))
            posted = leg_for(role, market, side, Amount(amount), limit, order_id)
            fee = settings.taker_fees.get(market.exchange, ZERO)
            order = CycleOrder(number, step, market, fee, replace(posted, times={"reserved": now}))
            yield replace(order, leg=replace(order.leg, held=order.hold_needed))


def _amount(trade: CycleTrade, number: int, target: Fraction, lot: Decimal) -> Decimal:
    """Return by how much the leg differs from that share of its whole amount, on lots."""
    differs = abs(target * trade.wholes[number] - Fraction(trade.net_of(number)))
    return EXACT.multiply(decimal_of_whole(differs // Fraction(lot)), lot)
