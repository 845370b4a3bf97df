"""Whether every step of every arbitrage was one that the state machine has, taken by whom and when it may be."""

from collections.abc import Iterator
from itertools import groupby, pairwise

from bots.execute.order_lookup import NOT_FINAL, UNKNOWN_AFTER_SECONDS
from market.decide.kill_switch import TradingState
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, ArbitrageState, Leg, LegState, Transition
from market.trade.cycle_trades import CycleTrade
from market.trade.cycle_unwinding import LACKING
from market.trade.leases import decision_right
from market.trade.leg_lifecycle import RESUMED
from market.trade.lifecycle import NEXT_LEG_STATES, NEXT_STATES
from market.trade.report_checks import IMPLAUSIBLE
from market.trade.reservations import SEND_WITHIN
from tests.bots.histories.world import World

DECISION = decision_right(0)
"""There is one base, so one partition."""
NEVER = 2**62
_IN_DOUBT = ("ambiguous_order", NOT_FINAL, IMPLAUSIBLE)


Trade = Arbitrage | CycleTrade
OF_NEW_TRADES = ("buy", "sell", "leg1", "leg2", "leg3")
"""Roles of legs that a bot must be ready for."""


def steps_not_allowed(world: World) -> Iterator[str]:
    for one in world.trades():
        wrongs = (*_illegal(one), *_forbidden(one, world), *_granted_wrongly(one, world))
        for wrong in (*wrongs, *given_up_too_early(one, world)):
            yield f"{one.arbitrage_id}: {wrong}"
    for trade in world.cycles():
        yield from (f"{trade.trade_id}: {wrong}" for wrong in _out_of_order(trade))
    yield from _fenced_out(world)
    yield from _posted_wrongly(world)


def _illegal(arbitrage: Trade) -> Iterator[str]:
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


def _forbidden(arbitrage: Trade, world: World) -> Iterator[str]:
    """Begun while nothing may begin, or granted while nothing may be sent."""
    begun = arbitrage.history[0].at
    if "running" not in _states_at(world, begun):
        yield f"begun while {_states_at(world, begun)}"
    for step in arbitrage.history:
        if step.what.endswith(" granted") and _states_at(world, step.at) == {"halted"}:
            yield f"{step.what} while halted"


def _out_of_order(trade: CycleTrade) -> Iterator[str]:
    """Yield legs of the cycle that have no order, and those that were granted before what they wait for had ended."""
    for number in range(len(trade.cycle.legs)):
        order, before = trade.order(f"leg{number + 1}"), trade.order(f"leg{number}")
        if order is None:
            yield f"leg{number + 1} has no order"
        elif order.waits and before is not None and order.times.get("granted", NEVER) < before.times.get("done", NEVER):
            yield f"{order.name} granted before {before.name} had ended"


def _states_at(world: World, moment: int) -> set[TradingState]:
    """Return the one in force; in the moment of a change, those before and after it."""
    before = [state for since, state in world.states if since < moment]
    return {*before[-1:], *(state for since, state in world.states if since == moment)}


def _granted_wrongly(arbitrage: Trade, world: World) -> Iterator[str]:
    """Decided by whoever did not decide then, or granted to whoever did not act for the exchange, or would not."""
    begun = _decided(arbitrage)
    first = begun[0]
    if all(lease.token != first.token for lease in world.leases_at(first.at, DECISION)):
        yield f"decided by {first.actor} with token {first.token}, which was not the newest"
    if any((step.at, step.actor, step.token) != (first.at, first.actor, first.token) for step in begun):
        yield "not decided in one step"
    for leg in arbitrage.legs:
        granted_at = leg.times.get("granted")
        if granted_at is None:
            continue
        acting = [one for one in world.leases_at(granted_at, leg.exchange) if granted_at < one.until]
        if all(one.token != leg.token for one in acting):
            yield f"{leg.role} granted to token {leg.token} while {[one.token for one in acting]} acted"
        is_new = granted_at == first.at and leg.role in OF_NEW_TRADES
        if is_new and all(one.veto is not None for one in acting):
            yield f"{leg.role} granted in spite of the veto {[one.veto for one in acting]}"


def _decided(arbitrage: Trade) -> list[Transition]:
    """Return the steps of the reservation."""
    whats = [step.what for step in arbitrage.history]
    return list(arbitrage.history[: whats.index("reserved") + 1])


def given_up_too_early(arbitrage: Trade, world: World) -> Iterator[str]:
    """Yield legs that were counted as not sent although they may have been, before they were denied for long enough."""
    for leg in arbitrage.legs:
        exchange = world.exchanges[leg.exchange]
        if "unconfirmed" not in leg.times or leg.client_order_id in exchange.refused or _is_in_doubt(arbitrage, leg):
            continue
        given_up = world.moment_of(leg.times["unconfirmed"])
        denied = [at for at in exchange.denials.get(leg.client_order_id, []) if at <= given_up]
        if not denied or denied[-1] - denied[0] < UNKNOWN_AFTER_SECONDS * MICROSECONDS:
            yield f"{leg.role} counted as not sent after denials at {denied}"


def _is_in_doubt(arbitrage: Trade, leg: Leg) -> bool:
    """Whether its order was found, and nobody could say what becomes of it: nothing goes in its place. If it was booked
    after all, the history alone tells so."""
    was_found = leg.unresolved is None and leg.exchange_order_id is not None
    return leg.unresolved in _IN_DOUBT or (was_found and any(step.reason in _IN_DOUBT for step in arbitrage.history))


def _posted_wrongly(world: World) -> Iterator[str]:
    """By another process than the one that it was granted to, or too long after that."""
    legs: dict[tuple[str, str], Leg] = {
        (leg.exchange, leg.client_order_id): leg for one in world.trades() for leg in one.legs
    }
    for exchange in world.exchanges.values():
        for post in exchange.posted:
            leg = legs.get((exchange.name, post.client_order_id))
            if leg is None or leg.times.get("granted") is None:
                yield f"{post.client_order_id} was posted and never granted"
                continue
            if leg.token != post.by.token:
                yield f"{leg.role} granted to token {leg.token}, posted by {post.by.name} with {post.by.token}"
            age = post.at - world.moment_of(leg.times["granted"])
            if age > _post_within(world):
                yield f"{leg.role} posted {age} microseconds after its grant"


def _post_within(world: World) -> int:
    """Return the time within which to post; doubled if a clock was set forward, which the next look alone finds."""
    is_set = any(later[1] - earlier[1] > 0 for earlier, later in pairwise(world.clocks))
    return 2 * SEND_WITHIN if is_set else SEND_WITHIN


def _fenced_out(world: World) -> Iterator[str]:
    """Return a step by a process after its successor had taken one."""
    newest: dict[str, Transition] = {}
    exchange_of = {process.name: process.exchange for process in world.processes}
    steps = [
        (exchange_of[step.actor] if is_resumption else DECISION, step)
        for one in world.trades()
        for step, is_resumption in _with_resumptions(one)
        if step.token > 0
    ]
    for right, step in sorted(steps, key=lambda one: (one[1].at, one[1].token)):
        last = newest.get(right)
        if last is not None and step.token < last.token:
            yield f"{step.actor} with token {step.token} took the step {step.what} after {last.actor} with {last.token}"
        newest[right] = step


def _is_reported(step: Transition) -> bool:
    """Return whether it follows from what became of an order; one that lacked its balance was never granted."""
    return step.what.endswith((" done", " not_sent", " filled", " restated")) and step.reason != LACKING


def _with_resumptions(arbitrage: Trade) -> Iterator[tuple[Transition, bool]]:
    """Each step, and whether it was the exchange's own bot that resumed what nothing could be sent for; all else is
    done by whoever decides."""
    ended: Transition | None = None
    for _, group in groupby(arbitrage.history, key=lambda step: (step.at, step.actor, step.token)):
        steps = list(group)
        is_resumption = (
            ended is not None
            and ended.what == "residual"
            and ended.reason in RESUMED
            and not any(_is_reported(step) for step in steps)
        )
        for step in steps:
            yield step, is_resumption
            if " " not in step.what:
                ended = step
