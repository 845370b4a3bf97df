"""Closing an arbitrage by an operator's order: what is left is flattened once, at the price of now. Pure.

The order is a part of the settings (`Settings.close_now`): so it reaches every bot by the one path that changes take,
is in the history and the audit log, and a verification takes the same step again. The bots resume a residual arbitrage
as they resume one that a halt stopped. One with an open leg they flatten in place of the next step of
`single_leg_policy`, once no order of it is under way: two orders for one amount would be one too many. There is no
other way to an exchange.
"""

from market.decide.kill_switch import permits_orders
from market.decide.market_rules import is_closed
from market.decide.settings import CloseOrder, Settings
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage, LegRole
from market.trade.unwinding import flattening, outcome_of

CLOSE_WITHIN = 20 * MICROSECONDS
"""An order that no bot has carried out by then is over: its price is that of a moment."""


def why_not_closed(arbitrage: Arbitrage, settings: Settings) -> str | None:
    """Return why an operator cannot close it now, in one sentence; None if he can."""
    _, seen = flattening(arbitrage)
    flatten = arbitrage.leg("flatten")
    reasons = (
        (arbitrage.state not in ("residual", *OPEN_STATES), "It has ended, and nothing is left of it."),
        (arbitrage.strategy != "arbitrage", "What the moving average bought is meant to stay."),
        (outcome_of(arbitrage).left == 0, "Nothing is left of it."),
        (
            not all(leg.is_booked or leg.is_unposted for leg in arbitrage.legs if leg.is_final),
            "One of its orders is in doubt: what is left is not known before that is settled.",
        ),
        (
            flatten is not None and not flatten.is_unposted,
            "It is flattened, or was once already: trade what is left then by hand, and acknowledge the difference.",
        ),
        (
            not permits_orders(settings.trading_state),
            "Trading is halted: resume it first, or switch to reduce-only.",
        ),
        (
            is_closed(seen.exchange, seen.symbol, settings),
            f"{seen.exchange} takes no orders in {seen.symbol} now.",
        ),
    )
    return next((words for applies, words in reasons if applies), None)


def close_order(arbitrage: Arbitrage, settings: Settings, now: int) -> CloseOrder | None:
    """Return the order to close it, if there is one that can be carried out at `now`, the server's time."""
    order = settings.close_now.get(arbitrage.arbitrage_id)
    if order is None or abs(now - order.asked_at) > CLOSE_WITHIN or why_not_closed(arbitrage, settings) is not None:
        return None
    # an open leg that fills on may have turned what is left round, or made it more than was confirmed
    is_more = order.amount is not None and abs(outcome_of(arbitrage).left) > order.amount
    return order if order.side in (None, flattening(arbitrage)[0]) and not is_more else None


def is_overtaken(arbitrage: Arbitrage, role: LegRole, settings: Settings, now: int) -> bool:
    """Whether a leg that is not granted yet gives way to an operator's order."""
    return role in ("complete", "reverse") and close_order(arbitrage, settings, now) is not None
