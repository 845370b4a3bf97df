"""Whether every step of every arbitrage was one that the state machine has, taken by whom and when it may be."""

from collections.abc import Iterator

from market.decide.settings import TradingState
from market.trade.arbitrages import Arbitrage, ArbitrageState, LegState, Transition
from market.trade.lifecycle import NEXT_LEG_STATES, NEXT_STATES
from tests.bots.histories.world import World

UNWINDING = ("complete", "reverse", "flatten")


def steps_not_allowed(world: World) -> Iterator[str]:
    for one in world.arbitrages():
        yield from (f"{one.arbitrage_id}: {wrong}" for wrong in _illegal(one))
        yield from (f"{one.arbitrage_id}: {wrong}" for wrong in _forbidden(one, world))
    yield from _fenced_out(world)


def _illegal(arbitrage: Arbitrage) -> Iterator[str]:
    """By its own history, read from the start."""
    state: ArbitrageState | None = None
    legs: dict[str, LegState] = {}
    now = 0
    for step in arbitrage.history:
        if step.at < now:
            yield f"{step.what} at {step.at}, after {now}"
        now = step.at
        role, _, what = step.what.rpartition(" ")
        if not role:
            following = next(name for name in NEXT_STATES if name == what)
            if following != state and following not in NEXT_STATES[state]:
                yield f"{state} → {following}"
            state = following
        elif what in NEXT_LEG_STATES:
            leg = next(name for name in NEXT_LEG_STATES if name == what)
            if leg is None or leg not in NEXT_LEG_STATES[legs.get(role)]:
                yield f"{role} leg {legs.get(role)} → {leg}"
            else:
                legs[role] = leg
    if state != arbitrage.state or legs != {leg.role: leg.state for leg in arbitrage.legs}:
        yield f"history ends as {state} {legs}, the arbitrage is {arbitrage.state}"


def _forbidden(arbitrage: Arbitrage, world: World) -> Iterator[str]:
    """Begun while nothing may begin, or sent while nothing may be sent."""
    begun = arbitrage.history[0].at
    if "running" not in _states_at(world, begun):
        yield f"begun while {_states_at(world, begun)}"
    for step in arbitrage.history:
        if step.what.endswith(" sending") and _states_at(world, step.at) == {"halted"}:
            yield f"{step.what} while halted"


def _states_at(world: World, moment: int) -> set[TradingState]:
    """The one in force; in the moment of a change, those before and after it."""
    before = [state for since, state in world.states if since < moment]
    return {*before[-1:], *(state for since, state in world.states if since == moment)}


def _fenced_out(world: World) -> Iterator[str]:
    """A step by a process after its successor had taken one."""
    newest: dict[str, Transition] = {}
    exchange_of = {process.name: process.exchange for process in world.processes}
    steps = (step for one in world.arbitrages() for step in one.history if step.token > 0)
    for step in sorted(steps, key=lambda one: (one.at, one.token)):
        exchange = exchange_of[step.actor]
        last = newest.get(exchange)
        if last is not None and step.token < last.token:
            yield f"{step.actor} with token {step.token} took the step {step.what} after {last.actor} with {last.token}"
        newest[exchange] = step
