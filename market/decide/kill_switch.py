"""The kill switch: the states of trading, and what each of them permits (docs/tuning.md). Pure."""

from typing import Final, Literal

TradingState = Literal["running", "reduce_only", "halted"]
"""`reduce_only`: no new arbitrage, single legs are still unwound. `halted`: nothing is sent; orders in flight are
followed to their end."""

HALTED: Final = "halted"
"""The state of a new database for real trading, and the reason of what the switch stopped: of a rejection, and of a
single leg that is not unwound."""


def permits_new(state: TradingState) -> bool:
    """Whether new arbitrages may begin."""
    return state == "running"


def permits_orders(state: TradingState) -> bool:
    """Whether any order may be sent, also one that unwinds a single leg."""
    return state != HALTED


def reduced(state: TradingState) -> TradingState:
    """Return the state in which nothing new begins; whoever halted trading keeps it so."""
    return "reduce_only" if permits_new(state) else state
