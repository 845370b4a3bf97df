"""Whether a cycle may be traded, and what that changes: pure decisions over the rows that one transaction read.

All legs are reserved together. A leg whose currency is free goes at once, also if the leg before it would bring it:
three legs then take as long as two. One that has it not, at the exchange of the leg before, waits for its proceeds.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.decide.cycle_checks import (
    CycleContext,
    cycle_notional_keys,
    cycle_notional_left,
    cycle_rejection,
)
from market.decide.cycle_sizing import CycleBounds, SizedCycle, SizedCycleLeg, size_cycle
from market.decide.decision_context import RiskState
from market.decide.market_rules import market_in_force
from market.decide.settings import Settings
from market.decide.sizing import SizingSide
from market.instruments.cycles import Cycle
from market.instruments.orders import Fill, Side
from market.money import EXACT, ZERO, Amount, BoundedDecimal, Price, decimal_of_double, floor_to_step
from market.prices.quotes import Level
from market.trade.arbitrages import Leg
from market.trade.cycle_trades import CycleOrder, CycleTrade, leg_for, role_of
from market.trade.fast_replace import replace
from market.trade.leases import Actor, Lease, block_of
from market.trade.lifecycle import Moment, with_history
from market.trade.reservation_state import BalanceRow, PairRow, TradeRows
from market.trade.unwinding import client_order_id

ZERO_AMOUNT = Amount(ZERO)
BOOKED = Decimal("0.00000001")
"""The most that a cycle may give is cut to so many digits, if it is counted in another currency than the limits."""


@dataclass(frozen=True, slots=True)
class CycleRows(TradeRows):
    """All that one step of a cycle's trade is decided on, as of `now` (the server's, microseconds): as
    `ReservationState` of a pair's."""

    now: int
    by: Actor
    """Who takes the step."""
    settings: Settings
    balances: Mapping[tuple[str, str], BalanceRow]
    """(exchange, currency) → row."""
    trade: CycleTrade | None = None
    """The trade of this id."""
    on_cycle: PairRow = field(default_factory=PairRow)
    """The trade that is open on the same cycle, and when the newest one was reserved."""
    reservations_open: bool = True
    open_arbitrages: int = 0
    """Of pairs and of cycles."""
    notional: Mapping[str, Decimal] = field(default_factory=dict)
    day_net: Decimal = ZERO
    paused_until: Mapping[str, int] = field(default_factory=dict)
    unexplained: tuple[str, ...] = ()
    liquidity: Mapping[str, Decimal] = field(default_factory=dict)
    """`cycle_liquidity_key` → base amount that was taken of that side of the quote."""
    is_of_earlier: bool = False
    """Whether the trade began in an earlier session."""
    leases: Mapping[str, Lease] | None = None
    """Exchange → who acts for it; None if nobody needs a lease: in a backtest."""
    in_flight: Mapping[str, str | None] = field(default_factory=dict)
    """`inflight_key` → the leg (`inflight_owner`) that is reserved or in flight there."""
    known_fills: Container[str] = frozenset()
    """`fill_key`s that are in the ledger already."""
    booked: tuple[Fill, ...] = ()
    """Fills to enter into the ledger."""
    unbooked: tuple[Fill, ...] = ()
    """Fills of the ledger that are not true; one of the same key in `booked` is in its place."""

    def with_order(self, order: CycleOrder) -> "CycleRows":
        """Return the rows with the order as it is now; a new one comes last."""
        if self.trade is None:
            return self
        orders = self.trade.orders
        if self.trade.order(order.name) is None:
            orders = (*orders, order)
        changed = tuple(order if one.name == order.name else one for one in orders)
        return replace(self, trade=replace(self.trade, orders=changed))

    def with_grant(self, order: CycleOrder) -> "CycleRows":
        """Return the rows with the order granted to the bot of its exchange."""
        return self.with_order(replace(order, leg=self.granted(order.leg)))

    def with_steps(self, before: CycleTrade | None) -> "CycleRows":
        """Return the rows with what changed in the trade's history. Raises IllegalStepError."""
        if self.trade is None or self.trade is before:
            return self
        return replace(self, trade=with_history(before, self.trade, Moment(self.now, self.by)))

    def with_notional(self, trade: CycleTrade, sign: int) -> "CycleRows":
        """Return the rows with the trade counted once more (1) or no longer (-1)."""
        own = {key: self.notional.get(key, ZERO) + sign * trade.notional for key in cycle_notional_keys(trade.cycle)}
        return replace(self, open_arbitrages=self.open_arbitrages + sign, notional={**self.notional, **own})


@dataclass(frozen=True, slots=True)
class CycleRequest:
    """A cycle that was found, with what each leg's quote showed: `levels`, best first, and `quotes`, their ids."""

    trade_id: str
    cycle: Cycle
    net_bps: float
    event_time: int
    levels: tuple[tuple[Level, ...], ...]
    quotes: tuple[str, ...]
    currency: str
    """The settlement currency."""
    worth: Mapping[str, BoundedDecimal]
    """Currency or asset → what one counts in the settlement currency."""
    drift: Mapping[str, BoundedDecimal] = field(default_factory=dict)
    legs_left: Mapping[str, int | None] = field(default_factory=dict)
    valid_until: int | None = None
    """The store's time, microseconds, when the sighting is over: an outage may outlast it."""


def cycle_liquidity_key(quote_id: str, side: Side) -> str:
    """Return one side of one quote, as `liquidity_key`: asks if the leg buys."""
    return f"{quote_id}|{side}"


def liquidity_keys(request: CycleRequest) -> tuple[str, ...]:
    """Return the key of each leg."""
    legs = zip(request.quotes, request.cycle.legs, strict=True)
    return tuple(cycle_liquidity_key(quote, leg.side) for quote, leg in legs)


def cycle_reserved(rows: CycleRows, request: CycleRequest) -> tuple[CycleRows, str | None]:
    """Return the rows with all legs reserved, and each that has its balance granted; or the same rows, and why not."""
    if rows.trade is not None:
        return rows, None
    if request.valid_until is not None and rows.now >= request.valid_until:
        return rows, "expired"
    context = cycle_context(rows, request)
    reason = cycle_rejection(context) or _bot_reason(rows, request) or _flight_reason(rows, request)
    if reason is not None or context.unit is None:
        return rows, reason
    sides = tuple(_sides(rows, request))
    if not all(side.levels for side in sides):
        return rows, "liquidity_used"
    left, limit = cycle_notional_left(context)
    sized = size_cycle(sides, _bounds(context, context.unit, left))
    if not isinstance(sized, SizedCycle):
        is_of_all = sized == "limit_reached" and left < rows.settings.cycle_notional(request.cycle)[0]
        return rows, limit if is_of_all else sized
    return _begun(rows, request, sides, sized, context.unit), None


def _bot_reason(rows: CycleRows, request: CycleRequest) -> str | None:
    """Nobody is there, or willing, to send one of the legs."""
    leases = rows.leases
    if leases is None:
        return None
    reasons = (block_of(leases.get(exchange), rows.now) for exchange in request.cycle.exchanges)
    return next((reason for reason in reasons if reason is not None), None)


def _flight_reason(rows: CycleRows, request: CycleRequest) -> str | None:
    """Another leg of its symbol and side is reserved or in flight, and the exchange could not tell the two apart."""
    legs = (_leg(request, number, ZERO_AMOUNT, Price(ZERO)) for number in range(len(request.cycle.legs)))
    return None if all(rows.has_flight(request.trade_id, leg) for leg in legs) else "leg_in_flight"


def cycle_context(rows: CycleRows, request: CycleRequest) -> CycleContext:
    """Return all that its checks look at."""
    risk = RiskState(
        now=rows.now,
        reservations_open=rows.reservations_open,
        open_arbitrages=rows.open_arbitrages,
        notional=rows.notional,
        paused_until=rows.paused_until,
        pair_busy=rows.on_cycle.arbitrage_id is not None,
        pair_reserved_at=rows.on_cycle.reserved_at,
        day_net=rows.day_net,
        unexplained=rows.unexplained,
    )
    return CycleContext(
        request.cycle, request.net_bps, rows.settings, risk, request.worth, request.drift, request.legs_left
    )


def _bounds(context: CycleContext, unit: Decimal, left: Decimal) -> CycleBounds:
    settings = context.settings
    (threshold, _), (notional, _) = settings.cycle_threshold(context.cycle), settings.cycle_notional(context.cycle)
    most = min(notional, left)
    in_first = most if unit == 1 else floor_to_step(most / unit, BOOKED)
    return CycleBounds(decimal_of_double(threshold), settings.max_slippage_bps, in_first)


def _sides(rows: CycleRows, request: CycleRequest) -> Iterator[SizingSide]:
    """Return what each leg meets by the rules in force, less what was taken of it, and what it may spend: of the
    balances that the cycle needs, since the others are proceeds."""
    settings, cycle = rows.settings, request.cycle
    for leg, levels, key in zip(cycle.legs, request.levels, liquidity_keys(request), strict=True):
        exchange = leg.market.exchange
        free = rows.balance(exchange, leg.gives).usable if (exchange, leg.gives) in cycle.needs else None
        market, fee = market_in_force(leg.market, settings), settings.taker_fees[exchange]
        shown = tuple(_left(levels, rows.liquidity.get(key, ZERO)))
        yield SizingSide(leg.side, market, shown, fee, None, free)


def _left(levels: Iterable[Level], taken: Decimal) -> Iterator[Level]:
    """Return the levels less what was taken of the best ones."""
    for level in levels:
        own = min(level.amount, taken)
        taken = EXACT.subtract(taken, own)
        if level.amount > own:
            yield level if own == 0 else Level(Price(level.price), Amount(EXACT.subtract(level.amount, own)))


def _begun(
    rows: CycleRows, request: CycleRequest, sides: tuple[SizingSide, ...], sized: SizedCycle, unit: Decimal
) -> CycleRows:
    """Return the rows with the trade open, what its orders hold, and the liquidity that they use."""
    liquidity = dict(rows.liquidity)
    for key, leg in zip(liquidity_keys(request), sized.legs, strict=True):
        liquidity[key] = liquidity.get(key, ZERO) + leg.amount
    trade = CycleTrade(
        trade_id=request.trade_id,
        cycle=request.cycle,
        planned=sized,
        net_bps=request.net_bps,
        prices=tuple(levels[0].price for levels in request.levels),
        currency=request.currency,
        unit=unit,
        notional=EXACT.multiply(sized.legs[0].hold, unit),
        orders=(),
        threshold=rows.settings.cycle_threshold(request.cycle),
        most=rows.settings.cycle_notional(request.cycle),
        times={"event": request.event_time, "reserved": rows.now},
    )
    after = replace(rows, trade=trade, on_cycle=PairRow(trade.trade_id, rows.now), liquidity=liquidity)
    for number, (side, leg) in enumerate(zip(sides, sized.legs, strict=True)):
        after = _with_leg(after, request, number, side, leg)
    return after.with_notional(trade, 1).with_steps(None)


def _with_leg(rows: CycleRows, request: CycleRequest, number: int, side: SizingSide, sized: SizedCycleLeg) -> CycleRows:
    """Return the rows with a leg's order: granted if its balance is free, else it waits for the leg before."""
    leg = replace(_leg(request, number, sized.amount, sized.limit_price), times={"reserved": rows.now})
    order = CycleOrder(number, "leg", side.market, side.fee_rate, leg)
    # on an exchange that takes one such order at a time nobody else's may come between
    claimed = rows.with_flight(request.trade_id, leg)
    if rows.balance(leg.exchange, sized.hold_currency).usable < sized.hold:
        return claimed.with_order(replace(order, waits=True))
    held = replace(order, leg=replace(leg, held=sized.hold))
    return claimed.with_hold(leg, sized.hold).with_grant(held)


def _leg(request: CycleRequest, number: int, amount: Amount, limit: Price) -> Leg:
    one, role = request.cycle.legs[number], role_of("leg", number)
    return leg_for(role, one.market, one.side, amount, limit, client_order_id(request.trade_id, role))
