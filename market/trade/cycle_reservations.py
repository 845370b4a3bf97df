"""Whether a cycle may be traded, and what that changes: pure decisions over the rows that one transaction read.

All legs are reserved together. A leg whose currency is free goes at once, also if the leg before it would bring it:
three legs then take as long as two. One that has it not, at the exchange of the leg before, waits for its proceeds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
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
from market.money import EXACT, ZERO, Amount, Price, decimal_of_double, floor_to_step
from market.prices.quotes import Level
from market.trade.cycle_trades import CycleOrder, CycleTrade
from market.trade.reservation_state import BalanceRow, PairRow
from market.trade.unwinding import client_order_id

BOOKED = Decimal("0.00000001")
"""The most that a cycle may give is cut to so many digits, if it is counted in another currency than the limits."""


@dataclass(frozen=True, slots=True)
class CycleRows:
    """All that one step of a cycle's trade is decided on, as of `now` (the server's, microseconds)."""

    now: int
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
    booked: tuple[Fill, ...] = ()
    """Fills to enter into the ledger."""

    def balance(self, exchange: str, currency: str) -> BalanceRow:
        return self.balances.get((exchange, currency)) or BalanceRow(exchange, currency, ZERO, ZERO)

    def with_balance(self, row: BalanceRow) -> "CycleRows":
        return replace(self, balances={**self.balances, (row.exchange, row.currency): row})

    def with_hold(self, order: CycleOrder, amount: Decimal) -> "CycleRows":
        """Return the rows with `amount` more held for the order; negative releases."""
        return self.with_balance(self.balance(order.market.exchange, order.hold_currency).holding(amount))

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
    worth: Mapping[str, Decimal]
    """Currency or asset → what one counts in the settlement currency."""
    drift: Mapping[str, Decimal] = field(default_factory=dict)
    legs_left: Mapping[str, int | None] = field(default_factory=dict)


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
    context = _context(rows, request)
    reason = cycle_rejection(context)
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


def _context(rows: CycleRows, request: CycleRequest) -> CycleContext:
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
    after, orders = rows, list[CycleOrder]()
    liquidity = dict(rows.liquidity)
    for number, (side, leg, key) in enumerate(zip(sides, sized.legs, liquidity_keys(request), strict=True)):
        order = _order(request, number, side, leg, rows.now)
        is_free = after.balance(side.market.exchange, leg.hold_currency).usable >= leg.hold
        if is_free:
            times = {**order.times, "granted": rows.now}
            order = replace(order, state="granted", waits=False, held=leg.hold, times=times)
            after = after.with_hold(order, order.held)
        orders.append(order)
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
        orders=tuple(orders),
        threshold=rows.settings.cycle_threshold(request.cycle),
        most=rows.settings.cycle_notional(request.cycle),
        times={"event": request.event_time, "reserved": rows.now},
    )
    begun = replace(after, trade=trade, on_cycle=PairRow(trade.trade_id, rows.now), liquidity=liquidity)
    return begun.with_notional(trade, 1)


def _order(request: CycleRequest, number: int, side: SizingSide, leg: SizedCycleLeg, now: int) -> CycleOrder:
    return CycleOrder(
        number=number,
        step="leg",
        market=side.market,
        side=side.side,
        amount=leg.amount,
        limit_price=leg.limit_price,
        fee_rate=side.fee_rate,
        client_order_id=client_order_id(request.trade_id, f"leg{number + 1}"),
        state="waiting",
        waits=True,
        times={"reserved": now},
    )
