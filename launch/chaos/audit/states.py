"""Checks the end state and the history of each arbitrage. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from itertools import chain

from launch.chaos.audit.records import Evidence, Violation, ViolationKind
from market.instruments.markets import Market
from market.money import total
from market.time_units import MICROSECONDS
from market.trade.arbitrages import FINAL_STATES, Arbitrage, Leg
from market.trade.cycle_trades import CycleTrade
from market.trade.lifecycle import NEXT_LEG_STATES, NEXT_STATES
from store.queries.store_snapshot import TakenStep


def state_violations(evidence: Evidence) -> Iterator[Violation]:
    """Return violations: every trade has ended by a path of the state machine, and no single leg is left without a
    decision."""
    for arbitrage in evidence.snapshot.arbitrages:
        yield from _violations(arbitrage, _single_legs(arbitrage, evidence.markets), _history_faults(arbitrage))
    for cycle in evidence.snapshot.cycles:
        yield from _violations(cycle, _unequal_legs(cycle), chain(_history_faults(cycle), _order_faults(cycle)))


def _violations(trade: Arbitrage | CycleTrade, undecided: Iterable[str], illegal: Iterable[str]) -> Iterator[Violation]:
    kinds: tuple[tuple[ViolationKind, Iterable[str]], ...] = (
        ("left_open", _unfinished(trade)),
        ("single_leg_undecided", undecided),
        ("illegal_history", illegal),
    )
    for kind, details in kinds:
        for detail in details:
            yield Violation(kind, detail, trade.arbitrage_id)


def step_violations(evidence: Evidence) -> Iterator[Violation]:
    """Return violations: nobody takes a step after a later holder of the same lease has taken one."""
    newest: dict[str | None, TakenStep] = {}
    for step in sorted(evidence.snapshot.steps, key=lambda one: (one.at, one.by.token)):
        last = newest.setdefault(step.by.exchange, step)
        if step.by.token < last.by.token:
            after = f"{(step.at - last.at) / MICROSECONDS:.3f} s after one with token {last.by.token}"
            detail = f"step {step.number} by {step.by.name} with token {step.by.token}, {after}"
            yield Violation("step_after_takeover", detail, step.arbitrage_id)
        else:
            newest[step.by.exchange] = step


def _unfinished(arbitrage: Arbitrage | CycleTrade) -> Iterator[str]:
    if arbitrage.state not in FINAL_STATES:
        yield f"still {arbitrage.state}"
    for leg in arbitrage.legs:
        if not leg.is_final:
            yield f"its {leg.role} leg is still {leg.state}"
        if leg.held != 0:
            yield f"its {leg.role} leg still holds {leg.held}"


def _single_legs(arbitrage: Arbitrage, markets: Mapping[tuple[str, str], Market]) -> Iterator[str]:
    """Return violations: the residual base is dust, or the arbitrage is in state residual with a reason."""
    if arbitrage.state == "residual":
        if not arbitrage.reason:
            yield "residual without a reason"
        return
    bought = total(leg.filled for leg in arbitrage.legs if leg.side == "buy")
    sold = total(leg.filled for leg in arbitrage.legs if leg.side == "sell")
    if arbitrage.strategy == "ma":
        return
    if (bought == 0) != (sold == 0):
        yield f"{arbitrage.state}, but bought {bought} and sold {sold}"
        return
    residual = bought - sold - total(leg.base_fee for leg in arbitrage.legs)
    if abs(residual) > _dust(arbitrage, markets):
        yield f"{arbitrage.state}, with {residual} {arbitrage.base} left"


def _unequal_legs(trade: CycleTrade) -> Iterator[str]:
    """Return legs of a cycle through which more went than through another, by more than lots leave or an exchange
    takes; none of a trade in state residual with a reason."""
    if trade.state == "residual":
        if not trade.reason:
            yield "residual without a reason"
        return
    least = min(trade.shares)
    for leg, share, whole, price in zip(trade.cycle.legs, trade.shares, trade.wholes, trade.prices, strict=True):
        market = leg.market
        # one lot of what was taken back, and what is too little for an order
        smallest = max(market.minimum_amount, market.minimum_notional / price) + 2 * market.lot_step
        beyond = (share - least) * whole
        if beyond > Fraction(smallest):
            yield f"{trade.state}, with {float(beyond):g} {market.base} too much of its leg at {market.exchange}"


def _order_faults(trade: CycleTrade) -> Iterator[str]:
    """Return legs of the cycle that have no order, and those sent before what they wait for had ended."""
    orders = {order.name: order for order in trade.orders}
    for number in range(1, len(trade.cycle.legs) + 1):
        order, before = orders.get(f"leg{number}"), orders.get(f"leg{number - 1}")
        if order is None:
            yield f"its leg {number} has no order"
        elif order.waits and before is not None and _was_granted_before(order.leg, before.leg):
            yield f"its leg {number} was granted before what it waits for had ended"


def _was_granted_before(leg: Leg, other: Leg) -> bool:
    granted_at, ended_at = leg.times.get("granted"), other.times.get("done")
    return granted_at is not None and (ended_at is None or granted_at < ended_at)


def _dust(arbitrage: Arbitrage, markets: Mapping[tuple[str, str], Market]) -> Decimal:
    """Return the largest amount that cannot be traded on either of the two exchanges."""
    seen = (arbitrage.opportunity.buy, arbitrage.opportunity.sell)
    both = [(one, markets[one.exchange, one.symbol]) for one in seen]
    lot = max(market.lot_step for _, market in both)
    # one lot more than the minimum order, because the residual is floored after a fee in base was added
    minimum = min(
        max(market.minimum_amount, market.minimum_notional / one.price) + market.lot_step for one, market in both
    )
    return max(lot, minimum)


def _history_faults(arbitrage: Arbitrage | CycleTrade) -> Iterator[str]:
    """Return steps that may not follow each other, or that do not lead to the current state."""
    states: list[str] = []
    legs: dict[str, str] = {}
    last = 0
    for step in arbitrage.history:
        if step.at < last:
            yield f"{step.what} at {step.at}, after a step at {last}"
        last = step.at
        role, _, what = step.what.rpartition(" ")
        if not role:
            yield from _state_fault(states, step.what)
            states.append(step.what)
        elif what in _LEG_AFTER:
            yield from _leg_fault(legs, role, what)
    if (states[-1] if states else None) != arbitrage.state:
        yield f"{arbitrage.state}, but its history ends with {states[-1:]}"
    for leg in arbitrage.legs:
        if legs.get(leg.role) != leg.state:
            yield f"its {leg.role} leg is {leg.state}, its history says {legs.get(leg.role)}"


def _state_fault(before: list[str], state: str) -> Iterator[str]:
    """Return the fault of a step to `state`; the same state again, with another reason, is legal."""
    last = before[-1] if before else None
    if state != last and state not in _AFTER.get(last, ()):
        yield f"{last} → {state}"


def _leg_fault(legs: dict[str, str], role: str, state: str) -> Iterator[str]:
    last = legs.get(role)
    if state not in _LEG_AFTER.get(last, ()):
        yield f"{role} leg: {last} → {state}"
    legs[role] = state


_AFTER: Mapping[str | None, frozenset[str]] = {state: frozenset[str](after) for state, after in NEXT_STATES.items()}
_LEG_AFTER: Mapping[str | None, frozenset[str]] = {
    state: frozenset[str](after) for state, after in NEXT_LEG_STATES.items()
}
