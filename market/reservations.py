"""Whether a leg may be reserved, and what that changes: pure decisions over the rows that one transaction read.

Both adapters of the store read `Rows`, decide here, and write what became of them.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from market.arbitrages import Arbitrage, Leg, held_currency
from market.clock import MICROSECONDS
from market.money import ZERO, Amount, floor_to_step
from market.opportunities import Opportunity
from market.orders import Fill, Side
from market.permission import forbidden
from market.settings import Settings

SIDES: tuple[Side, ...] = ("buy", "sell")

RESERVE_WITHIN = 1 * MICROSECONDS
"""How long a half reservation waits for the other bot."""
SEND_WITHIN = 2 * MICROSECONDS
"""How long after it was reserved a leg may still be sent."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """One bot's wish to reserve its own leg of an opportunity.

    `leg.amount` is this bot's maximum. The matched amount of the arbitrage is the smaller of both wishes, floored to
    `amount_step` (coarse enough for both exchanges); a leg then orders floor(matched × `leg_factor`, `leg_step`).
    """

    opportunity: Opportunity
    leg: Leg
    hold_currency: str
    hold_per_unit: Decimal
    """Of `hold_currency` per unit of the leg's amount: limit price and fee to buy, 1 (and any base fee) to sell."""
    amount_step: Decimal
    leg_factor: Decimal
    """1, or less where a fee taken in base would otherwise leave the two legs unequal."""
    leg_step: Decimal
    minimum_amount: Decimal
    """Least matched amount that both exchanges take."""
    displayed_amount: Decimal
    """Base amount that this leg's quote shows within the limit price; other arbitrages may have used some of it."""
    settings: Settings
    """As the bot knew them; those of `Rows`, in force by then, decide where there are any."""
    valid_until: int | None = None
    """The store's time, microseconds, when the opportunity is over: an outage may outlast it."""


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """The arbitrage as it stands, or why not (a `Refusal` reason, or `expired`: it has ended without this leg)."""

    arbitrage: Arbitrage | None
    refusal: str | None = None


@dataclass(frozen=True, slots=True)
class BalanceRow:
    """What the bots may still use (`free`) and what open legs hold, of one currency on one exchange."""

    exchange: str
    currency: str
    free: Decimal
    held: Decimal

    def holding(self, amount: Decimal) -> "BalanceRow":
        """`amount` more of it held; negative gives back."""
        return replace(self, free=self.free - amount, held=self.held + amount)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the first bot asked for, kept until the second's amount trims its hold."""

    hold_per_unit: Decimal
    leg_factor: Decimal
    leg_step: Decimal
    minimum_amount: Decimal


@dataclass(frozen=True, slots=True)
class PairRow:
    """One ordered pair of exchanges for one base: at most one open arbitrage, and when the last was reserved."""

    arbitrage_id: str | None = None
    reserved_at: int = 0


@dataclass(frozen=True, slots=True)
class Rows:
    """All that one step of an arbitrage is decided on, as of `now` (the server's, microseconds)."""

    now: int
    opportunity: Opportunity
    settings: Settings | None = None
    """Those in force."""
    reservations_open: bool = True
    open_arbitrages: int = 0
    arbitrage: Arbitrage | None = None
    terms: Terms | None = None
    """Of the leg that is reserved first."""
    pair: PairRow = field(default_factory=PairRow)
    balances: Mapping[tuple[str, str], BalanceRow] = field(default_factory=dict)
    """(exchange, currency) → row, of both exchanges."""
    liquidity: Mapping[str, Decimal] = field(default_factory=dict)
    """`liquidity_key` → base amount that arbitrages took of that side of the quote."""
    half_reserved: Mapping[str, str | None] = field(default_factory=dict)
    """`half_key` → the half-reserved arbitrage."""
    known_fills: Container[str] = frozenset()
    """`fill_key`s that are in the ledger already."""
    booked: tuple[Fill, ...] = ()
    """Fills to enter into the ledger."""

    def balance(self, exchange: str, currency: str) -> BalanceRow:
        return self.balances.get((exchange, currency)) or BalanceRow(exchange, currency, ZERO, ZERO)

    def with_hold(self, leg: Leg, amount: Decimal) -> "Rows":
        """`amount` more held for `leg`; negative gives back."""
        return self.with_balance(self.balance(leg.exchange, held_currency(leg)).holding(amount))

    def with_balance(self, row: BalanceRow) -> "Rows":
        return replace(self, balances={**self.balances, (row.exchange, row.currency): row})

    def with_liquidity(self, leg: Leg, amount: Decimal) -> "Rows":
        """`amount` more of the quote behind `leg` used; negative gives back."""
        key = liquidity_key(self.opportunity, leg.side)
        return replace(self, liquidity={**self.liquidity, key: self.liquidity.get(key, ZERO) + amount})

    def with_half(self, leg: Leg, arbitrage_id: str | None) -> "Rows":
        return replace(self, half_reserved={**self.half_reserved, half_key(self.opportunity, leg.side): arbitrage_id})

    def ended(self) -> "Rows":
        """The counter and the pair are free for the next arbitrage."""
        pair = self.pair
        if self.arbitrage is not None and pair.arbitrage_id == self.arbitrage.arbitrage_id:
            pair = replace(pair, arbitrage_id=None)
        return replace(self, open_arbitrages=self.open_arbitrages - 1, pair=pair)


def pair_key(opportunity: Opportunity) -> str:
    return f"{opportunity.base}|{opportunity.buy.exchange}|{opportunity.sell.exchange}"


def liquidity_key(opportunity: Opportunity, side: Side) -> str:
    """One side of one quote: asks where the leg buys."""
    seen = opportunity.buy if side == "buy" else opportunity.sell
    return f"{seen.quote_id}|{side}"


def half_key(opportunity: Opportunity, side: Side) -> str:
    """One bot, one currency, one pair of exchanges: it may wait for the other bot with one opportunity at a time."""
    exchange = opportunity.buy.exchange if side == "buy" else opportunity.sell.exchange
    currency = opportunity.buy.quote_currency if side == "buy" else opportunity.base
    return f"{exchange}|{currency}|{opportunity.buy.exchange}|{opportunity.sell.exchange}"


def fill_key(fill: Fill) -> str:
    """Unique in the ledger: fill ids are unique per exchange only."""
    return f"{fill.exchange}|{fill.fill_id}"


def reserved(rows: Rows, wish: Reservation) -> tuple[Rows, ReservationResult]:
    """The rows after `wish`, and what its bot is told; the same rows where nothing changes.

    The first bot's leg waits as `half_reserved` with its maximum, the second's fixes the amount for both. Raises
    ValueError where `hold_currency` is not what such a leg holds.
    """
    if wish.hold_currency != held_currency(wish.leg):
        raise ValueError(f"a {wish.leg.side} leg of {wish.leg.symbol} cannot hold {wish.hold_currency}")
    arbitrage = rows.arbitrage
    if arbitrage is not None and arbitrage.leg(wish.leg.role) is not None:
        return rows, ReservationResult(arbitrage)
    if wish.valid_until is not None and rows.now >= wish.valid_until:
        return rows, ReservationResult(None, "expired")
    if reason := forbidden(wish.opportunity, rows.settings or wish.settings):
        return rows, ReservationResult(None, reason)
    if arbitrage is None:
        return _first(rows, wish)
    if arbitrage.state != "half_reserved" or rows.now > arbitrage.reserve_by:
        return rows, ReservationResult(None, "expired")
    return _second(rows, wish, arbitrage)


def expired(rows: Rows) -> Rows:
    """The rows after ending a half reservation past its time; the same rows where there is none."""
    arbitrage = rows.arbitrage
    if arbitrage is None or arbitrage.state != "half_reserved" or rows.now <= arbitrage.reserve_by:
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
    return replace(given_back.ended(), arbitrage=ended, terms=None)


def _first(rows: Rows, wish: Reservation) -> tuple[Rows, ReservationResult]:
    reason = _limit_reached(rows, wish)
    matched, shortage = _affordable(rows, wish)
    if reason is None and (matched <= 0 or matched < wish.minimum_amount):
        reason = shortage
    leg = _sized(wish.leg, matched, wish.leg_factor, wish.leg_step, wish.hold_per_unit, rows.now)
    if reason is None and leg.amount <= 0:
        reason = "too_small"
    if reason is not None:
        return rows, ReservationResult(None, reason)
    opportunity = wish.opportunity
    arbitrage = Arbitrage(
        arbitrage_id=opportunity.opportunity_id,
        base=opportunity.base,
        state="half_reserved",
        opportunity=opportunity,
        legs=(leg,),
        amount=Amount(matched),
        reserve_by=rows.now + RESERVE_WITHIN,
        send_by=rows.now + RESERVE_WITHIN + SEND_WITHIN,
        times={"event": opportunity.event_time, "detected": opportunity.detected_time},
    )
    taken = rows.with_hold(leg, leg.held).with_liquidity(leg, leg.amount).with_half(leg, arbitrage.arbitrage_id)
    after = replace(
        taken,
        arbitrage=arbitrage,
        terms=Terms(wish.hold_per_unit, wish.leg_factor, wish.leg_step, wish.minimum_amount),
        pair=PairRow(arbitrage.arbitrage_id, rows.now),
        open_arbitrages=rows.open_arbitrages + 1,
    )
    return after, ReservationResult(arbitrage)


def _second(rows: Rows, wish: Reservation, arbitrage: Arbitrage) -> tuple[Rows, ReservationResult]:
    (other,) = arbitrage.legs
    terms = rows.terms
    if terms is None:
        raise ValueError(f"arbitrage {arbitrage.arbitrage_id} lost the terms of its first leg")
    affordable, shortage = _affordable(rows, wish)
    matched = floor_to_step(min(arbitrage.amount, affordable), wish.amount_step)
    if matched <= 0 or matched < max(wish.minimum_amount, terms.minimum_amount):
        return rows, ReservationResult(None, shortage if affordable < arbitrage.amount else "too_small")
    leg = _sized(wish.leg, matched, wish.leg_factor, wish.leg_step, wish.hold_per_unit, rows.now)
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
    )
    taken = rows.with_hold(leg, leg.held).with_liquidity(leg, leg.amount).with_half(other, None)
    taken = taken.with_hold(other, trimmed.held - other.held).with_liquidity(other, trimmed.amount - other.amount)
    return replace(taken, arbitrage=matching, terms=None), ReservationResult(matching)


def _limit_reached(rows: Rows, wish: Reservation) -> str | None:
    """Why no new arbitrage may begin, whatever its size."""
    settings = rows.settings or wish.settings
    if not rows.reservations_open:
        return "stopping"
    if rows.open_arbitrages >= settings.max_open_arbitrages:
        return "too_many_open"
    if rows.pair.arbitrage_id or rows.half_reserved.get(half_key(wish.opportunity, wish.leg.side)):
        return "pair_busy"
    if rows.now - rows.pair.reserved_at < settings.cool_down_ms * 1_000:
        return "cooling_down"
    return None


def _affordable(rows: Rows, wish: Reservation) -> tuple[Decimal, str]:
    """The matched amount that this leg can bear, and the reason to give where that is too little."""
    leg = wish.leg
    used = rows.liquidity.get(liquidity_key(wish.opportunity, leg.side), ZERO)
    free = rows.balance(leg.exchange, wish.hold_currency).free
    amount, reason = min(
        (leg.amount, "too_small"),
        (wish.displayed_amount - used, "liquidity_used"),
        (free / wish.hold_per_unit, "insufficient_balance"),
        key=lambda limit: limit[0],
    )
    matched = floor_to_step(max(amount, ZERO), wish.amount_step)
    if matched * wish.hold_per_unit > free and matched > 0:
        # the quotient was rounded up in its last digit
        matched -= wish.amount_step
    return matched, reason


def _sized(leg: Leg, matched: Decimal, factor: Decimal, step: Decimal, hold_per_unit: Decimal, reserved_at: int) -> Leg:
    amount = floor_to_step(matched * factor, step)
    times = leg.times | {"reserved": reserved_at}
    return replace(leg, state="reserved", amount=Amount(amount), held=amount * hold_per_unit, times=times)
