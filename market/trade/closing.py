"""Closing a residual arbitrage by an operator's order: what is left is flattened once, at the price of now. Pure.

The order is a part of the settings (`Settings.close_now`): so it reaches every bot by the one path that changes take,
is in the history and the audit log, and a verification takes the same step again. The bots resume the arbitrage as they
resume one that a halt stopped; there is no other way to an exchange.
"""

from market.decide.kill_switch import permits_orders
from market.decide.market_rules import is_closed
from market.decide.settings import CloseOrder, Settings
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage
from market.trade.unwinding import flattening, outcome_of

CLOSE_WITHIN = 20 * MICROSECONDS
"""An order that no bot has carried out by then is over: its price is that of a moment."""


def why_not_closed(arbitrage: Arbitrage, settings: Settings) -> str | None:
    """Return why an operator cannot close it now, in one sentence; None if he can."""
    _, seen = flattening(arbitrage)
    flatten = arbitrage.leg("flatten")
    reasons = (
        (arbitrage.state != "residual", "Only a residual can be closed: bots unwind an open leg themselves."),
        (arbitrage.strategy != "arbitrage", "What the moving average bought is meant to stay."),
        (outcome_of(arbitrage).left == 0, "Nothing is left of it."),
        (
            not all(leg.is_booked or leg.is_unposted for leg in arbitrage.legs),
            "One of its orders is in doubt: what is left is not known before that is settled.",
        ),
        (
            flatten is not None and not flatten.is_unposted,
            "It was flattened once already: trade the rest by hand, then acknowledge the difference.",
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
    is_due = order is not None and order.asked_at <= now + CLOSE_WITHIN and now <= order.asked_at + CLOSE_WITHIN
    return order if is_due and why_not_closed(arbitrage, settings) is None else None
