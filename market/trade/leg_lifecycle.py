"""The lifecycle of a reserved leg, from its grant to booked fills. Pure; used by both store adapters."""

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import TypeVar

from market.decide.kill_switch import HALTED, permits_orders
from market.decide.settings import Settings
from market.instruments.orders import Fill, OrderReport, changes_of
from market.money import ZERO
from market.time_units import MICROSECONDS
from market.trade.arbitrages import OPEN_STATES, Arbitrage, ArbitrageState, Leg, LegRole, TradeOfLegs, held_currency
from market.trade.closing import close_order, is_overtaken
from market.trade.fast_replace import replace
from market.trade.lifecycle import IllegalStepError
from market.trade.order_results import OrderResult
from market.trade.profit import day_result, profit_of
from market.trade.reservation_state import ReservationState, TradeRows, fill_key
from market.trade.reservations import SEND_WITHIN
from market.trade.unwinding import CLOSE_NOW, CLOSED, NOT_POSTED, EndAsResidual, waits_for_market

Rows = TypeVar("Rows", bound=TradeRows)
Advance = Callable[[Arbitrage, Settings, int], Arbitrage]
"""(arbitrage whose legs are all final, settings, server time) → what follows: a final state with its profit, or one
more leg to send. Pure; the balance is held here for a leg that was added; if it is lacking, the leg becomes
`not_sent` and the next step is asked for."""

RESUMED = (HALTED, NOT_POSTED, CLOSED)
"""Reasons of residual arbitrages that are resumed."""
WAIT_WITHIN = 15 * MICROSECONDS
"""How long after its reservation a leg may be granted if another order must land first, or a bot come back."""
MAX_STEPS = 4
"""Completing, reversing, flattening, the end: stops an `advance` that keeps adding legs without balance."""


def granted(rows: ReservationState, role: LegRole) -> ReservationState:
    """Return the rows with a reserved leg granted to its exchange's bot, or `not_sent`: past `send_by`, while halted,
    or if an operator closes the arbitrage instead.

    The same rows if it is not due: it was granted before, nobody acts for its exchange, or another order must land
    first that the exchange could not tell from it.
    """
    arbitrage = rows.arbitrage
    leg = None if arbitrage is None else arbitrage.leg(role)
    if arbitrage is None or leg is None or leg.state != "reserved" or arbitrage.state not in OPEN_STATES:
        return rows
    if rows.now > arbitrage.send_by or _is_halted(rows.settings) or _is_overtaken(rows, arbitrage, role):
        changed = _with_leg(arbitrage, replace(leg, state="not_sent"))
        return replace(rows, arbitrage=changed).with_history(arbitrage)
    if not rows.has_bot(leg) or not rows.has_flight(arbitrage.arbitrage_id, leg):
        return rows
    taken = rows.with_flight(arbitrage.arbitrage_id, leg)
    changed = replace(_with_leg(arbitrage, rows.granted(leg)), send_by=rows.now + SEND_WITHIN)
    return replace(taken, arbitrage=changed).with_history(arbitrage)


def booked(
    rows: ReservationState, results: Iterable[OrderResult], settings: Settings, advance: Advance
) -> ReservationState:
    """Return the rows with what became of orders: fills (each once), balances, legs that ended; if no leg is open any
    more, what `advance` says. A leg that follows is granted at once if it can be. The same rows if nothing is
    new.

    A fill that is new to the books after the end opens the arbitrage again. Raises IllegalStepError if there is no
    such arbitrage or leg.
    """
    before = rows.arbitrage
    if before is None:
        raise IllegalStepError(f"there is no arbitrage {rows.opportunity.opportunity_id}")
    after = rows
    for leg in before.legs:
        if leg.is_final and "done" not in leg.times:
            # it was too late to grant it
            after = _with_ended_leg(after, leg, None, ())
    for result in results:
        after = _with_result(after, result)
    arbitrage = after.arbitrage
    if arbitrage is not None and arbitrage.state in OPEN_STATES and all("done" in leg.times for leg in arbitrage.legs):
        unresolved = next((leg.unresolved for leg in arbitrage.legs if leg.unresolved is not None), None)
        if unresolved is None:
            after = _followed(after, _as_ordered(arbitrage, settings, after.now), settings, advance)
        else:
            after = _followed(after, arbitrage, settings, EndAsResidual(unresolved))
    return after.with_history(before)


def resumed(rows: ReservationState, settings: Settings, advance: Advance) -> ReservationState:
    """Return the rows after resuming a single leg that stopped because nothing could be sent, or that an operator
    closes; the same rows if there is none."""
    arbitrage = rows.arbitrage
    if arbitrage is None or arbitrage.state != "residual" or _is_halted(settings):
        return rows
    is_ordered = close_order(arbitrage, settings, rows.now) is not None
    if not is_ordered and (
        arbitrage.reason not in RESUMED or (arbitrage.reason == CLOSED and waits_for_market(arbitrage, settings))
    ):
        return rows
    again = _reopened(arbitrage, CLOSE_NOW if is_ordered else "resumed", rows.now)
    # an order that was not posted may be needed again
    again = replace(again, legs=tuple(leg for leg in again.legs if leg.role != "flatten" or not leg.is_unposted))
    after = _followed(replace(rows.reopened(), arbitrage=again), again, settings, advance)
    return _with_those_left_out(after, arbitrage).with_history(arbitrage)


def unconfirmed(arbitrages: Iterable[TradeOfLegs], exchange: str, since: int) -> list[tuple[str, Leg]]:
    """Legs of `exchange` counted as not sent at or after `since` because the exchange did not know the order."""
    return [
        (arbitrage.arbitrage_id, leg)
        for arbitrage in arbitrages
        for leg in arbitrage.legs
        if leg.exchange == exchange and leg.state == "not_sent" and leg.times.get("unconfirmed", -1) >= since
    ]


def _with_those_left_out(rows: ReservationState, before: Arbitrage) -> ReservationState:
    """With the legs of `before` that are not needed again, so that no history is lost."""
    if rows.arbitrage is None:
        return rows
    known = {leg.role for leg in rows.arbitrage.legs}
    skipped = tuple(leg for leg in before.legs if leg.role not in known)
    return replace(rows, arbitrage=replace(rows.arbitrage, legs=rows.arbitrage.legs + skipped))


def _reopened(arbitrage: Arbitrage, reason: str, now: int) -> Arbitrage:
    times = arbitrage.times | {"reopened": now}
    return replace(arbitrage, state="single_leg", reason=reason, times=times, profit=None)


def _as_ordered(arbitrage: Arbitrage, settings: Settings, now: int) -> Arbitrage:
    """Return it with an operator's order as the reason of what follows, if he closes it; one that is flattened by now
    is not flattened again."""
    is_ordered = arbitrage.leg("flatten") is None and close_order(arbitrage, settings, now) is not None
    return replace(arbitrage, reason=CLOSE_NOW) if is_ordered else arbitrage


def _is_overtaken(rows: ReservationState, arbitrage: Arbitrage, role: LegRole) -> bool:
    return rows.settings is not None and is_overtaken(arbitrage, role, rows.settings, rows.now)


def _is_halted(settings: Settings | None) -> bool:
    return settings is not None and not permits_orders(settings.trading_state)


def _with_result(rows: ReservationState, result: OrderResult) -> ReservationState:
    arbitrage = rows.arbitrage
    leg = None if arbitrage is None else arbitrage.leg(result.role)
    if arbitrage is None or leg is None:
        raise IllegalStepError(f"arbitrage {result.arbitrage_id} has no {result.role} leg")
    if leg.client_order_id != result.client_order_id:
        # of an order that was not posted and has another in its place
        return rows
    report = result.report
    if result.instead_of is not None and report is not None:
        return _with_restated_fills(rows, arbitrage, leg, report.fills) if leg.fills == result.instead_of else rows
    if report is not None and not report.is_final:
        return _with_acknowledgement(rows, arbitrage, leg, report.exchange_order_id)
    fills = new_fills(rows, leg, report)
    if "done" in leg.times and not has_turned_up(leg, report) and not fills:
        return rows
    return _with_ended_leg(rows, replace(leg, unresolved=result.unresolved), report, fills)


def _with_acknowledgement(
    rows: ReservationState, arbitrage: Arbitrage, leg: Leg, exchange_order_id: str
) -> ReservationState:
    if leg.state != "granted" or leg.exchange_order_id is not None:
        return rows
    return replace(rows, arbitrage=_with_leg(arbitrage, replace(leg, exchange_order_id=exchange_order_id)))


def _with_ended_leg(
    rows: ReservationState, leg: Leg, report: OrderReport | None, fills: tuple[Fill, ...]
) -> ReservationState:
    """Nothing more of `leg` can fill; `fills` are those that are new."""
    arbitrage = rows.arbitrage
    if arbitrage is None:
        return rows
    closed = _with_leg(arbitrage, ended_leg(leg, report, fills, rows.now))
    after = with_fills(rows, leg, fills).landed(arbitrage.arbitrage_id, leg)
    if arbitrage.state not in OPEN_STATES:
        if not fills and not _is_resolved(arbitrage, leg):
            return replace(after, arbitrage=closed)
        # the end was decided without these fills: the residual base has to be unwound
        after, closed = after.reopened(), _reopened(closed, "late_fill" if fills else "order_resolved", rows.now)
    return replace(after, arbitrage=_with_times(closed, rows.now))


def _with_restated_fills(
    rows: ReservationState, arbitrage: Arbitrage, leg: Leg, fills: tuple[Fill, ...]
) -> ReservationState:
    """Have the leg filled as the exchange says; the same rows if another leg has one of the fills."""
    moved = rows.with_restated(leg, fills)
    if moved is rows:
        return rows
    changed = _with_leg(arbitrage, replace(leg, fills=fills))
    if arbitrage.state in OPEN_STATES:
        return replace(moved, arbitrage=changed)
    # the end was decided by what was not true
    return replace(moved.reopened(), arbitrage=_reopened(changed, "fill_restated", rows.now))


def _is_resolved(arbitrage: Arbitrage, leg: Leg) -> bool:
    """Whether the arbitrage ended because nobody knew what became of `leg`, which is known now: it filled nothing, so
    what the other leg filled is left."""
    known = arbitrage.leg(leg.role)
    return known is not None and is_resolved(arbitrage.state, arbitrage.reason, known, leg)


def is_resolved(state: ArbitrageState, reason: str | None, known: Leg, leg: Leg) -> bool:
    """Whether a trade ended so because nobody knew what became of `known`, which `leg` says now."""
    was = known.unresolved
    return was is not None and leg.unresolved is None and (state, reason) == ("residual", was)


def has_turned_up(leg: Leg, report: OrderReport | None) -> bool:
    """Whether the report is of an order that counted as not sent."""
    return report is not None and report.is_posted and leg.state == "not_sent" and "granted" in leg.times


def new_fills(rows: TradeRows, leg: Leg, report: OrderReport | None) -> tuple[Fill, ...]:
    """Fill that are neither in the ledger nor on the leg, whose fills an earlier version stored under other keys."""
    reported = {} if report is None else {fill_key(fill): fill for fill in report.fills}
    own = {fill_key(fill) for fill in leg.fills}
    return tuple(fill for key, fill in reported.items() if key not in rows.known_fills and key not in own)


def ended_leg(leg: Leg, report: OrderReport | None, fills: tuple[Fill, ...], now: int) -> Leg:
    """Return the leg of which nothing more can fill; `fills` are those that are new."""
    # not the one of the acknowledgement, which may have been wrong
    order_id = (report.exchange_order_id if report is not None else None) or leg.exchange_order_id
    times = {"done": now} | leg.times
    if report is not None and report.posted_at is not None:
        times = {"sent": report.posted_at} | times
    if report is None and leg.state == "granted":
        # it may still be on its way: reconciliation keeps searching for it
        times |= {"unconfirmed": now}
    return replace(
        leg,
        state="not_sent" if (report is None or not report.is_posted) and leg.state != "done" else "done",
        exchange_order_id=order_id,
        fills=leg.fills + fills,
        held=ZERO,
        times=times,
        reason=None if report is None else report.reason,
    )


def with_fills(rows: Rows, leg: Leg, fills: tuple[Fill, ...]) -> Rows:
    """Return the rows with the hold released and each fill booked to the free balances."""
    changes = [change for fill in fills for change in changes_of(fill, leg.base, leg.quote_currency)]
    if "done" in leg.times:
        return rows.with_fills(leg, (), fills).with_late_changes(leg, changes)
    return rows.with_fills(leg, changes, fills)


def _followed(rows: ReservationState, before: Arbitrage, settings: Settings, advance: Advance) -> ReservationState:
    """Return the rows after `advance`: an end, or a further leg with its hold.

    A leg without enough balance counts as not sent, and `advance` is called again for the next step.
    """
    tried = before
    for _ in range(MAX_STEPS):
        following = advance(tried, settings, rows.now)
        added = following.legs[len(tried.legs) :]
        if all(_has_balance_for(rows, leg) for leg in added):
            break
        tried = replace(tried, legs=(*tried.legs, *(_as_not_sent(leg, rows.now) for leg in added)))
    else:
        following, added = replace(tried, state="residual", profit=profit_of(tried)), ()
    if following.state == "residual" and tried is not before:
        following = replace(following, reason="insufficient_balance")
    if following.state not in OPEN_STATES:
        over = replace(following, times=following.times | {"ended": rows.now})
        return rows.ended(over, day_result(over))
    after = replace(rows, arbitrage=following)
    for leg in added:
        after = _reserved(after, replace(leg, held=_hold_needed(leg), times=leg.times | {"reserved": rows.now}))
    return after


def _has_balance_for(rows: ReservationState, leg: Leg) -> bool:
    return rows.balance(leg.exchange, held_currency(leg)).usable >= _hold_needed(leg)


def _as_not_sent(leg: Leg, now: int) -> Leg:
    return replace(leg, state="not_sent", held=ZERO, times=leg.times | {"reserved": now, "done": now})


def _reserved(rows: ReservationState, leg: Leg) -> ReservationState:
    held = rows.with_hold(leg, leg.held)
    if held.arbitrage is None:
        return held
    next_up = held.with_flight(held.arbitrage.arbitrage_id, leg)
    can_go = next_up.has_flight(held.arbitrage.arbitrage_id, leg) and next_up.has_bot(leg)
    changed = _with_leg(held.arbitrage, next_up.granted(leg) if can_go else leg)
    return replace(next_up, arbitrage=replace(changed, send_by=rows.now + (SEND_WITHIN if can_go else WAIT_WITHIN)))


def _hold_needed(leg: Leg) -> Decimal:
    """Return the hold of an added leg; computed if `advance` did not set it."""
    if leg.held > 0:
        return leg.held
    return leg.amount * leg.limit_price if leg.side == "buy" else leg.amount


def _with_leg(arbitrage: Arbitrage, changed: Leg) -> Arbitrage:
    legs = tuple(changed if leg.role == changed.role else leg for leg in arbitrage.legs)
    return replace(arbitrage, legs=legs)


def _with_times(arbitrage: Arbitrage, now: int) -> Arbitrage:
    """Set the times `sent` and `filled` once both first legs are final, at least one of them with a fill."""
    firsts = [leg for leg in arbitrage.legs if leg.role in ("buy", "sell")]
    if "filled" in arbitrage.times or not all(leg.is_final for leg in firsts) or not any(leg.fills for leg in firsts):
        return arbitrage
    sent = [leg.times["sent"] for leg in firsts if "sent" in leg.times]
    times = arbitrage.times | ({"sent": max(sent)} if sent else {})
    return replace(arbitrage, times=times | {"filled": now})
