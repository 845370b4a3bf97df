"""Whether a leg may be reserved, and what that changes: pure decisions over the rows that one transaction read.

Both adapters of the store read `ReservationState`, decide here, and write what became of them.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from market.decide.decision_context import DecisionContext, RecordedContext, RiskState
from market.decide.risk_checks import first_rejection, forbidden, notional_left
from market.decide.settings import Settings
from market.money import ZERO, Amount, BoundedDecimal, floor_to_step
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Leg, Strategy, held_currency
from market.trade.fast_replace import replace
from market.trade.reservation_state import (
    PairRow,
    ReservationState,
    ReservationTerms,
    RowsRead,
    half_key,
    liquidity_key,
)

RESERVE_WITHIN = 1 * MICROSECONDS
"""How long a reservation awaits its second leg."""
SEND_WITHIN = 2 * MICROSECONDS
"""How long after it was reserved a leg may still be sent."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """One bot's request to reserve its own leg of an opportunity.

    `leg.amount` is this bot's maximum. The matched amount of the arbitrage is the smaller of both requests, floored to
    `amount_step` (coarse enough for both exchanges); a leg then orders floor(matched × `leg_factor`, `leg_step`).
    """

    opportunity: Opportunity
    leg: Leg
    hold_currency: str
    hold_per_unit: BoundedDecimal
    """Of `hold_currency` per unit of the leg's amount: limit price and fee to buy, 1 (and any base fee) to sell."""
    amount_step: BoundedDecimal
    leg_factor: BoundedDecimal
    """1, or less where a fee taken in base would otherwise leave the two legs unequal."""
    leg_step: BoundedDecimal
    minimum_amount: BoundedDecimal
    """Minimum matched amount that both exchanges accept."""
    displayed_amount: BoundedDecimal
    """Base amount that this leg's quote shows within the limit price; other arbitrages may have used some of it."""
    settings: Settings
    """As the bot knew them; those of `ReservationState`, in force by then, decide where there are any."""
    valid_until: int | None = None
    """The store's time, microseconds, when the opportunity is over: an outage may outlast it."""
    unit_notional: BoundedDecimal = ZERO
    """Settlement currency per unit of the matched amount, at most: what the limits on notional count."""
    strategy: Strategy = "arbitrage"
    """`ma`: this leg alone is the whole trade."""
    context: RecordedContext | None = None
    """What it follows from, kept with the decision; None where it is kept itself."""


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """The arbitrage as it stands, or why not (a `Rejection` reason, or `expired`: it has ended without this leg)."""

    arbitrage: Arbitrage | None
    rejection: str | None = None
    read: RowsRead | None = field(default=None, compare=False)
    """What a rejection was decided on."""


def reserved(rows: ReservationState, request: Reservation) -> tuple[ReservationState, ReservationResult]:
    """The rows after `request`, and the result for its bot; the same rows where nothing changes.

    The first bot's leg waits as `awaiting_second_leg` with its maximum, the second's fixes the amount for both. Raises
    ValueError where `hold_currency` is not what such a leg holds.
    """
    if request.hold_currency != held_currency(request.leg):
        raise ValueError(f"a {request.leg.side} leg of {request.leg.symbol} cannot hold {request.hold_currency}")
    arbitrage = rows.arbitrage
    if arbitrage is not None and arbitrage.leg(request.leg.role) is not None:
        return rows, ReservationResult(arbitrage)
    if request.valid_until is not None and rows.now >= request.valid_until:
        return rows, ReservationResult(None, "expired")
    if reason := forbidden(request.opportunity, rows.settings or request.settings):
        return rows, ReservationResult(None, reason)
    if arbitrage is None:
        return _with_history(_first(rows, request), None)
    if arbitrage.state != "awaiting_second_leg" or rows.now > arbitrage.reserve_by:
        return rows, ReservationResult(None, "expired")
    return _with_history(_second(rows, request, arbitrage), arbitrage)


def _with_history(
    outcome: tuple[ReservationState, ReservationResult], before: Arbitrage | None
) -> tuple[ReservationState, ReservationResult]:
    rows, result = outcome
    if result.arbitrage is None:
        return outcome
    after = rows.with_history(before)
    return after, ReservationResult(after.arbitrage)


def expired(rows: ReservationState) -> ReservationState:
    """The rows after expiring a reservation without second leg; the same rows if there is none."""
    arbitrage = rows.arbitrage
    if arbitrage is None or arbitrage.state != "awaiting_second_leg" or rows.now <= arbitrage.reserve_by:
        return rows
    (leg,) = arbitrage.legs
    ended = replace(
        arbitrage,
        state="expired",
        reason="no_counterpart",
        legs=(replace(leg, state="not_sent", held=ZERO, times=leg.times | {"done": rows.now}),),
        times=arbitrage.times | {"ended": rows.now},
    )
    given_back = rows.with_hold(leg, -leg.held).with_liquidity(leg, -leg.amount).with_half(leg, None)
    given_back = given_back.landed(arbitrage.arbitrage_id, leg)
    return replace(given_back.ended(), arbitrage=ended, terms=None).with_history(arbitrage)


def _first(rows: ReservationState, request: Reservation) -> tuple[ReservationState, ReservationResult]:
    reason = _limit_reached(rows, request) or _flight_reason(rows, request)
    matched, shortage = _affordable(rows, request)
    if reason is None and (matched <= 0 or matched < request.minimum_amount):
        reason = shortage
    leg = _sized(request.leg, matched, request.leg_factor, request.leg_step, request.hold_per_unit, rows.now)
    if reason is None and leg.amount <= 0:
        reason = "too_small"
    if reason is not None:
        return rows, ReservationResult(None, reason)
    arbitrage = _begun(request, leg, matched, rows.now)
    taken = rows.with_hold(leg, leg.held).with_liquidity(leg, leg.amount).with_flight(arbitrage.arbitrage_id, leg)
    if arbitrage.state == "awaiting_second_leg":
        terms = ReservationTerms(request.hold_per_unit, request.leg_factor, request.leg_step, request.minimum_amount)
        taken = replace(taken.with_half(leg, arbitrage.arbitrage_id), terms=terms)
    after = replace(
        taken,
        arbitrage=arbitrage,
        pair=PairRow(arbitrage.arbitrage_id, rows.now),
        open_arbitrages=rows.open_arbitrages + 1,
    )
    return after.with_notional(1), ReservationResult(arbitrage)


def _begun(request: Reservation, leg: Leg, matched: Decimal, now: int) -> Arbitrage:
    """Waiting for the other leg, where there is one."""
    opportunity = request.opportunity
    is_half = request.strategy == "arbitrage"
    times = {"event": opportunity.event_time, "detected": opportunity.detected_time}
    return Arbitrage(
        arbitrage_id=opportunity.opportunity_id,
        base=opportunity.base,
        state="awaiting_second_leg" if is_half else "reserved",
        opportunity=opportunity,
        legs=(leg,),
        amount=Amount(matched),
        reserve_by=now + RESERVE_WITHIN,
        send_by=now + (RESERVE_WITHIN if is_half else 0) + SEND_WITHIN,
        times=times if is_half else times | {"reserved": now},
        strategy=request.strategy,
        notional=matched * request.unit_notional,
    )


def _second(
    rows: ReservationState, request: Reservation, arbitrage: Arbitrage
) -> tuple[ReservationState, ReservationResult]:
    (other,) = arbitrage.legs
    terms = rows.terms
    if terms is None:
        raise ValueError(f"arbitrage {arbitrage.arbitrage_id} lost the terms of its first leg")
    if reason := _flight_reason(rows, request):
        return rows, ReservationResult(None, reason)
    affordable, shortage = _affordable(rows, request)
    matched = floor_to_step(min(arbitrage.amount, affordable), request.amount_step)
    if matched <= 0 or matched < max(request.minimum_amount, terms.minimum_amount):
        return rows, ReservationResult(None, shortage if affordable < arbitrage.amount else "too_small")
    leg = _sized(request.leg, matched, request.leg_factor, request.leg_step, request.hold_per_unit, rows.now)
    trimmed = _sized(other, matched, terms.leg_factor, terms.leg_step, terms.hold_per_unit, other.times["reserved"])
    if leg.amount <= 0 or trimmed.amount <= 0:
        return rows, ReservationResult(None, "too_small")
    matching = replace(
        arbitrage,
        state="reserved",
        legs=(trimmed, leg),
        amount=Amount(matched),
        send_by=rows.now + SEND_WITHIN,
        times=arbitrage.times | {"reserved": rows.now},
        notional=matched * request.unit_notional,
    )
    taken = rows.with_hold(leg, leg.held).with_liquidity(leg, leg.amount).with_half(other, None)
    taken = taken.with_hold(other, trimmed.held - other.held).with_liquidity(other, trimmed.amount - other.amount)
    taken = replace(taken.with_notional(-1), arbitrage=matching, terms=None)
    taken = taken.with_flight(matching.arbitrage_id, leg)
    return taken.with_notional(1), ReservationResult(matching)


def _limit_reached(rows: ReservationState, request: Reservation) -> str | None:
    """Why no new arbitrage may be opened, whatever its size."""
    return first_rejection(_context(rows, request))


def _flight_reason(rows: ReservationState, request: Reservation) -> str | None:
    """Another leg of its symbol and side is reserved or in flight, and the exchange could not tell the two apart."""
    return None if rows.has_flight(request.opportunity.opportunity_id, request.leg) else "leg_in_flight"


def _context(rows: ReservationState, request: Reservation) -> DecisionContext:
    is_waiting = rows.awaiting_second_leg.get(half_key(request.opportunity, request.leg.side)) is not None
    risk = RiskState(
        now=rows.now,
        reservations_open=rows.reservations_open,
        open_arbitrages=rows.open_arbitrages,
        notional=rows.notional,
        paused_until=rows.paused_until,
        pair_busy=rows.pair.arbitrage_id is not None or is_waiting,
        pair_reserved_at=rows.pair.reserved_at,
        day_net=rows.day_net,
    )
    return DecisionContext(request.opportunity, rows.settings or request.settings, risk)


def _affordable(rows: ReservationState, request: Reservation) -> tuple[Decimal, str]:
    """The matched amount that this leg can bear, and the reason to give where that is too little."""
    leg = request.leg
    used = rows.liquidity.get(liquidity_key(request.opportunity, leg.side), ZERO)
    free = rows.balance(leg.exchange, request.hold_currency).free
    caps = [
        (leg.amount, "too_small"),
        (request.displayed_amount - used, "liquidity_used"),
        (free / request.hold_per_unit, "insufficient_balance"),
    ]
    if request.unit_notional > 0 and rows.arbitrage is None:
        left, limit = notional_left(_context(rows, request))
        if left is not None:
            caps.append((left / request.unit_notional, limit))
    amount, reason = min(caps, key=lambda cap: cap[0])
    matched = floor_to_step(max(amount, ZERO), request.amount_step)
    if matched * request.hold_per_unit > free and matched > 0:
        # the quotient was rounded up in its last digit
        matched -= request.amount_step
    return matched, reason


def _sized(leg: Leg, matched: Decimal, factor: Decimal, step: Decimal, hold_per_unit: Decimal, reserved_at: int) -> Leg:
    amount = floor_to_step(matched * factor, step)
    times = leg.times | {"reserved": reserved_at}
    return replace(leg, state="reserved", amount=Amount(amount), held=amount * hold_per_unit, times=times)
