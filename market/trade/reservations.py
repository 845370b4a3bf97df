"""Whether a trade may be reserved, and what that changes: pure decisions over the rows that one transaction read.

Both adapters of the store read `ReservationState`, decide here, and write what became of them.
"""

from dataclasses import dataclass, field
from decimal import Decimal

from market.decide.decision_context import DecisionContext, RecordedContext, RiskState
from market.decide.risk_checks import first_rejection, notional_left
from market.decide.settings import Settings
from market.money import ZERO, Amount, BoundedDecimal, floor_to_step
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Leg, Strategy, held_currency
from market.trade.fast_replace import replace
from market.trade.leases import block_of
from market.trade.reservation_state import ReservationState, RowsRead, liquidity_key

SEND_WITHIN = 1 * MICROSECONDS
"""How long after it was granted a leg may still be posted."""


@dataclass(frozen=True, slots=True)
class LegRequest:
    """One leg of a trade to be reserved, with its order's limit; its amount follows from the matched amount.

    It orders floor(matched × `factor`, `step`).
    """

    leg: Leg
    hold_currency: str
    hold_per_unit: BoundedDecimal
    """The hold in `hold_currency` for a unit of the leg's amount: limit price and fee to buy, 1 (and any base fee) to
    sell."""
    factor: BoundedDecimal
    """1, or less if a fee taken in base would otherwise leave the two legs unequal."""
    step: BoundedDecimal
    displayed: BoundedDecimal
    """Base amount that this leg's quote shows within the limit price; other arbitrages may have used some of it."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """A request to reserve all legs of a trade at once: buy and sell of an opportunity, or the one leg of an order."""

    opportunity: Opportunity
    legs: tuple[LegRequest, ...]
    amount: Amount
    """The most that may be matched, in base; the matched amount is on `amount_step`."""
    amount_step: BoundedDecimal
    """Coarse enough for both exchanges."""
    minimum_amount: BoundedDecimal
    """Minimum matched amount that both exchanges accept."""
    settings: Settings
    """As the bot knew them; those of `ReservationState`, in force by then, decide if there are any."""
    valid_until: int | None = None
    """The store's time, microseconds, when the opportunity is over: an outage may outlast it."""
    unit_notional: BoundedDecimal = ZERO
    """Settlement currency per unit of the matched amount, at most: what the limits on notional count."""
    strategy: Strategy = "arbitrage"
    """`ma`: its one leg is the whole trade."""
    context: RecordedContext | None = None
    """What it follows from, kept with the decision; None if it is kept itself."""


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """The arbitrage as it stands, or why not (a `Rejection` reason, or `expired`: the opportunity is over)."""

    arbitrage: Arbitrage | None
    rejection: str | None = None
    read: RowsRead | None = field(default=None, compare=False)
    """What a rejection was decided on."""


def reserved(rows: ReservationState, request: Reservation) -> tuple[ReservationState, ReservationResult]:
    """Return the rows with all legs reserved, each granted to the bot of its exchange, and the result; the same rows
    if nothing changes.

    Raises ValueError if the `hold_currency` of a leg is not what such a leg holds.
    """
    for wanted in request.legs:
        if wanted.hold_currency != held_currency(wanted.leg):
            raise ValueError(
                f"a {wanted.leg.side} leg of {wanted.leg.symbol} cannot hold {wanted.hold_currency}",
            )
    if rows.arbitrage is not None:
        return rows, ReservationResult(rows.arbitrage)
    if request.valid_until is not None and rows.now >= request.valid_until:
        return rows, ReservationResult(None, "expired")
    reason = first_rejection(_context(rows, request)) or _bot_reason(rows, request) or _flight_reason(rows, request)
    if reason is not None:
        return rows, ReservationResult(None, reason)
    matched, shortage = _affordable(rows, request)
    if matched <= 0 or matched < request.minimum_amount:
        return rows, ReservationResult(None, shortage)
    legs = tuple(rows.granted(_sized(wanted, matched, rows.now)) for wanted in request.legs)
    if any(leg.amount <= 0 for leg in legs):
        return rows, ReservationResult(None, "too_small")
    after = rows.with_begun(_arbitrage(request, legs, matched, rows.now)).with_history(None)
    return after, ReservationResult(after.arbitrage)


def _arbitrage(request: Reservation, legs: tuple[Leg, ...], matched: Decimal, now: int) -> Arbitrage:
    opportunity = request.opportunity
    return Arbitrage(
        arbitrage_id=opportunity.opportunity_id,
        base=opportunity.base,
        state="reserved",
        opportunity=opportunity,
        legs=legs,
        amount=Amount(matched),
        send_by=now + SEND_WITHIN,
        times={"event": opportunity.event_time, "detected": opportunity.detected_time, "reserved": now},
        strategy=request.strategy,
        notional=matched * request.unit_notional,
    )


def _bot_reason(rows: ReservationState, request: Reservation) -> str | None:
    """Nobody is there, or willing, to send one of the legs."""
    leases = rows.leases
    if leases is None:
        return None
    reasons = (block_of(leases.get(wanted.leg.exchange), rows.now) for wanted in request.legs)
    return next((reason for reason in reasons if reason is not None), None)


def _flight_reason(rows: ReservationState, request: Reservation) -> str | None:
    """Another leg of its symbol and side is reserved or in flight, and the exchange could not tell the two apart."""
    identity = request.opportunity.opportunity_id
    is_free = all(rows.has_flight(identity, wanted.leg) for wanted in request.legs)
    return None if is_free else "leg_in_flight"


def _context(rows: ReservationState, request: Reservation) -> DecisionContext:
    risk = RiskState(
        now=rows.now,
        reservations_open=rows.reservations_open,
        open_arbitrages=rows.open_arbitrages,
        notional=rows.notional,
        paused_until=rows.paused_until,
        pair_busy=rows.pair.arbitrage_id is not None,
        pair_reserved_at=rows.pair.reserved_at,
        day_net=rows.day_net,
        unexplained=rows.unexplained,
    )
    imbalance = None if request.context is None else request.context.imbalance
    return DecisionContext(request.opportunity, rows.settings or request.settings, risk, imbalance=imbalance)


def _affordable(rows: ReservationState, request: Reservation) -> tuple[Decimal, str]:
    """Return the matched amount that all legs can bear, and the reason to give if that is too little."""
    caps: list[tuple[Decimal, str]] = [(request.amount, "too_small")]
    for wanted in request.legs:
        used = rows.liquidity.get(liquidity_key(request.opportunity, wanted.leg.side), ZERO)
        caps.append((wanted.displayed - used, "liquidity_used"))
        caps.append((_free(rows, wanted) / wanted.hold_per_unit, "insufficient_balance"))
    if request.unit_notional > 0:
        left, limit = notional_left(_context(rows, request))
        if left is not None:
            caps.append((left / request.unit_notional, limit))
    amount, reason = min(caps, key=lambda cap: cap[0])
    matched = floor_to_step(max(amount, ZERO), request.amount_step)
    if matched > 0 and any(matched * wanted.hold_per_unit > _free(rows, wanted) for wanted in request.legs):
        # the quotient was rounded up in its last digit
        matched -= request.amount_step
    return matched, reason


def _free(rows: ReservationState, wanted: LegRequest) -> Decimal:
    return rows.balance(wanted.leg.exchange, wanted.hold_currency).usable


def _sized(wanted: LegRequest, matched: Decimal, now: int) -> Leg:
    amount = floor_to_step(matched * wanted.factor, wanted.step)
    times = wanted.leg.times | {"reserved": now}
    held = amount * wanted.hold_per_unit
    return replace(wanted.leg, amount=Amount(amount), held=held, times=times)
