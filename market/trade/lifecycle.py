"""The state machine of one arbitrage: its stages, allowed transitions, and the history of steps. Pure.

The drawing is docs/state-machine.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from market.trade.arbitrages import FINAL_STATES, Arbitrage, ArbitrageState, Leg, LegState, Transition
from market.trade.cycle_trades import CycleTrade
from market.trade.fast_replace import replace
from market.trade.leases import Actor

Traded = TypeVar("Traded", Arbitrage, CycleTrade)
Stage = Literal[
    "reserved",
    "sent",
    "partly_filled",
    "filled",
    "completing",
    "reversing",
    "flattening",
    "closed",
    "unwound",
    "residual",
    "unfilled",
]

NEXT_STATES: Mapping[ArbitrageState | None, frozenset[ArbitrageState]] = {
    None: frozenset({"reserved"}),
    "reserved": frozenset({"single_leg", "closed", "unwound", "residual", "unfilled"}),
    "single_leg": frozenset({"closed", "unwound", "residual", "unfilled"}),
    # an end is final unless a late fill appears, fills are restated (perhaps to none) or trading resumes after a halt
    "closed": frozenset({"single_leg", "residual", "unwound", "unfilled"}),
    "unwound": frozenset({"single_leg", "residual", "closed", "unfilled"}),
    "residual": frozenset({"single_leg", "closed", "unwound", "unfilled"}),
    "unfilled": frozenset({"single_leg", "residual", "closed", "unwound"}),
}
"""State → those that may follow it; None is the opportunity, not yet reserved by anybody."""

NEXT_LEG_STATES: Mapping[LegState | None, frozenset[LegState]] = {
    # a leg without balance is not sent, in the step that would have added it
    None: frozenset({"reserved", "granted", "not_sent"}),
    "reserved": frozenset({"granted", "not_sent"}),
    "granted": frozenset({"done", "not_sent"}),
    # the unknown order was found after all; or one that was not posted is needed again
    "not_sent": frozenset({"done", "reserved", "granted"}),
    "done": frozenset(),
}

_UNWINDING: Mapping[str, Stage] = {"complete": "completing", "reverse": "reversing", "flatten": "flattening"}


class IllegalStepError(Exception):
    """A transition that the state machine does not allow: a bug of this program; nothing is written."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Who takes a step, and when by the server's clock, microseconds."""

    now: int
    by: Actor


def stage_of(arbitrage: Arbitrage) -> Stage:
    """Where it stands, finer than its state: how far the legs of an open one have come."""
    if arbitrage.state in FINAL_STATES:
        return _STAGES[arbitrage.state]
    if arbitrage.state == "single_leg":
        return next((_UNWINDING[leg.role] for leg in reversed(arbitrage.legs) if leg.role in _UNWINDING), "filled")
    if arbitrage.is_filled:
        return "filled" if all(leg.is_final for leg in arbitrage.legs) else "partly_filled"
    return "sent" if any("granted" in leg.times for leg in arbitrage.legs) else "reserved"


def with_history(before: Traded | None, after: Traded, moment: Moment) -> Traded:
    """`after` with what changed since `before` in its history. Raises IllegalStepError if that may not follow."""
    steps: list[Transition] = [*_leg_steps(before, after, moment), *_state_steps(before, after, moment)]
    return replace(after, history=(*after.history, *steps)) if steps else after


def _state_steps(before: Traded | None, after: Traded, moment: Moment) -> list[Transition]:
    state = None if before is None else before.state
    is_same = before is not None and before.state == after.state and before.reason == after.reason
    if is_same:
        return []
    if state != after.state and after.state not in NEXT_STATES[state]:
        raise IllegalStepError(f"arbitrage {after.arbitrage_id}: {state} → {after.state}")
    return [_transition(after.state, moment, after.reason)]


def _leg_steps(before: Traded | None, after: Traded, moment: Moment) -> list[Transition]:
    steps = []
    known_legs = {} if before is None else {leg.role: leg for leg in before.legs}
    for leg in after.legs:
        known = known_legs.get(leg.role)
        state = None if known is None else known.state
        if state != leg.state:
            if _is_again(known, leg) or leg.state not in NEXT_LEG_STATES[state]:
                raise IllegalStepError(f"arbitrage {after.arbitrage_id}, {leg.role} leg: {state} → {leg.state}")
            steps.append(_transition(f"{leg.role} {leg.state}", moment, leg.reason))
        if _is_acknowledged(leg) and (known is None or not _is_acknowledged(known)):
            steps.append(_transition(f"{leg.role} acknowledged", moment))
        if known is not None and any(fill not in leg.fills for fill in known.fills):
            steps.append(_transition(f"{leg.role} restated", moment))
        elif known is not None and len(leg.fills) > len(known.fills):
            steps.append(_transition(f"{leg.role} filled", moment))
    return steps


def _is_again(known: Leg | None, leg: Leg) -> bool:
    """Whether an order would be sent once more: what never left for certain may be, under another id."""
    if known is None or not known.is_final or leg.is_final or "granted" not in known.times:
        return False
    return not known.is_unposted or leg.client_order_id == known.client_order_id


def _is_acknowledged(leg: Leg) -> bool:
    return leg.exchange_order_id is not None


def _transition(what: str, moment: Moment, reason: str | None = None) -> Transition:
    return Transition(what, moment.now, moment.by.name, moment.by.token, reason)


_STAGES: Mapping[str, Stage] = {
    "closed": "closed",
    "unwound": "unwound",
    "residual": "residual",
    "unfilled": "unfilled",
}
