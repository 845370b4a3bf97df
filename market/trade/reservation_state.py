"""The rows that one step of an arbitrage is decided on, and what a step changes in them. Pure."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import Field, dataclass, field
from decimal import Decimal
from typing import Any, ClassVar, Self

from market.decide.decision_context import currencies_of, notional_keys
from market.decide.settings import Settings
from market.instruments.orders import Fill, Side, changes_between
from market.money import ZERO, BoundedDecimal
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Leg, held_currency
from market.trade.fast_replace import replace
from market.trade.inflight_orders import allows_one_in_flight, inflight_key, inflight_keys, inflight_owner
from market.trade.leases import Actor, Lease
from market.trade.lifecycle import Moment, with_history
from market.trade.order_results import OrderResult
from market.trade.profit import day_result

SIDES: tuple[Side, ...] = ("buy", "sell")


@dataclass(frozen=True, slots=True)
class BalanceRow:
    """The balance of one currency on one exchange: `free`, and `held` by open legs.

    `unexplained`: how much more the exchange had than free and held together when both were last compared; negative
    if it had less. It stays true while our own orders move both.

    `opened_at`: when the exchange's balance was taken for it, as a session starts. `settled_at`: when a person last
    settled what was unexplained. Both by the server's time, 0: never. An order that was granted before, and whose fills
    are listed later, may be in what was taken or settled already.
    `settled`: what that settlement booked, less what was taken back from it.
    `doubted`: what such fills moved since the settlement; the next comparison finds whether they are in it twice.
    """

    exchange: str
    currency: str
    free: BoundedDecimal
    held: BoundedDecimal
    unexplained: BoundedDecimal = ZERO
    doubted: BoundedDecimal = ZERO
    opened_at: int = 0
    settled_at: int = 0
    settled: BoundedDecimal = ZERO

    @property
    def usable(self) -> Decimal:
        """What orders may count on: the smaller of what we and the exchange say is free."""
        return self.free + self.unexplained if self.unexplained < 0 else self.free

    def explained(self, settled_at: int | None = None) -> "BalanceRow":
        """Return the row with what was unexplained booked to what is free: by a person at `settled_at`, or taken back
        from what a person had settled."""
        booked = replace(self, free=self.free + self.unexplained, unexplained=ZERO, doubted=ZERO)
        if settled_at is None:
            return replace(booked, settled=self.settled + self.unexplained)
        return replace(booked, settled=self.unexplained, settled_at=settled_at)

    def with_late(self, change: Decimal, granted_at: int) -> "BalanceRow":
        """Return the row after a late fill moved it by `change`: of an order granted then, whose leg had ended without
        it.

        A settlement may have it already if the order is older; until a comparison has found out, the row counts on
        nothing twice. Otherwise it explains what was unexplained, as far as that goes.
        """
        after = replace(self, free=self.free + change)
        if granted_at < self.settled_at:
            return replace(after, unexplained=self.unexplained - change, doubted=self.doubted + change)
        is_same_way = (change > 0) == (self.unexplained > 0)
        explained = min(abs(change), abs(self.unexplained)).copy_sign(change) if is_same_way else ZERO
        return replace(after, unexplained=self.unexplained - explained)

    def holding(self, amount: Decimal) -> "BalanceRow":
        """Return the row with `amount` more held; negative releases."""
        return replace(self, free=self.free - amount, held=self.held + amount)


@dataclass(frozen=True, slots=True)
class PairRow:
    """One ordered pair of exchanges for one base: at most one open arbitrage, and when the last was reserved."""

    arbitrage_id: str | None = None
    reserved_at: int = 0


class TradeRows:
    """What the rows of a step have, whatever is traded: balances, leases, and orders in flight."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    now: int
    is_of_earlier: bool
    leases: Mapping[str, Lease] | None
    balances: Mapping[tuple[str, str], BalanceRow]
    in_flight: Mapping[str, str | None]
    known_fills: Container[str]
    booked: tuple[Fill, ...]
    unbooked: tuple[Fill, ...]

    def balance(self, exchange: str, currency: str) -> BalanceRow:
        return _row_at(self.balances, (exchange, currency))

    def with_hold(self, leg: Leg, amount: Decimal) -> Self:
        """Return the rows with `amount` more held for `leg`; negative releases."""
        return self.with_balance(self.balance(leg.exchange, held_currency(leg)).holding(amount))

    def with_balance(self, row: BalanceRow) -> Self:
        return replace(self, balances={**self.balances, (row.exchange, row.currency): row})

    def with_fills(self, leg: Leg, changes: Iterable[tuple[str, Decimal]], fills: tuple[Fill, ...]) -> Self:
        """Return the rows with the fills of a leg: its hold is released, and each (currency, amount) added to what is
        free there."""
        balances = dict(self.balances)
        if leg.held:
            place = leg.exchange, held_currency(leg)
            balances[place] = _row_at(balances, place).holding(-leg.held)
        for currency, amount in changes:
            place = leg.exchange, currency
            row = _row_at(balances, place)
            balances[place] = replace(row, free=row.free + amount)
        return replace(self, balances=balances, booked=self.booked + fills)

    def with_late_changes(self, leg: Leg, changes: Iterable[tuple[str, Decimal]]) -> Self:
        """Return the same for fills of a leg that had ended without them, or with others; what the opening balances
        have moves none."""
        after, granted_at = self, leg.times.get("granted", 0)
        for currency, change in changes:
            row = after.balance(leg.exchange, currency)
            if not (self.is_of_earlier and granted_at < row.opened_at):
                after = after.with_balance(row.with_late(change, granted_at))
        return after

    def with_restated(self, leg: Leg, fills: tuple[Fill, ...]) -> Self:
        """Return the rows with the leg filled so, not as it reported first; the same rows if another leg has one of
        the fills."""
        own = {fill_key(fill) for fill in leg.fills}
        if any(fill_key(fill) not in own and fill_key(fill) in self.known_fills for fill in fills):
            return self
        gone = tuple(fill for fill in leg.fills if fill not in fills)
        new = tuple(fill for fill in fills if fill not in leg.fills)
        moved = self.with_late_changes(leg, changes_between(gone, new, leg.base, leg.quote_currency).items())
        return replace(moved, booked=self.booked + new, unbooked=self.unbooked + gone)

    def granted(self, leg: Leg) -> Leg:
        """`leg`, to be posted by the process that acts for its exchange now."""
        lease = None if self.leases is None else self.leases.get(leg.exchange)
        token = 0 if lease is None else lease.token
        return replace(leg, state="granted", token=token, times=leg.times | {"granted": self.now})

    def has_bot(self, leg: Leg) -> bool:
        """Whether a process acts for its exchange, ready for new trades or not."""
        if self.leases is None:
            return True
        lease = self.leases.get(leg.exchange)
        return lease is not None and self.now < lease.until

    def has_flight(self, arbitrage_id: str, leg: Leg) -> bool:
        """Whether `leg` may be in flight as far as others are concerned."""
        owner = self.in_flight.get(inflight_key(leg))
        return not allows_one_in_flight(leg) or owner is None or owner == inflight_owner(arbitrage_id, leg)

    def with_flight(self, arbitrage_id: str, leg: Leg) -> Self:
        """`leg` is next; the same rows if another is: it then waits before it is sent."""
        if not allows_one_in_flight(leg) or not self.has_flight(arbitrage_id, leg):
            return self
        return replace(self, in_flight={**self.in_flight, inflight_key(leg): inflight_owner(arbitrage_id, leg)})

    def landed(self, arbitrage_id: str, leg: Leg) -> Self:
        """Nothing more of `leg` can be in flight."""
        if self.in_flight.get(inflight_key(leg)) != inflight_owner(arbitrage_id, leg):
            return self
        return replace(self, in_flight={**self.in_flight, inflight_key(leg): None})


@dataclass(frozen=True, slots=True)
class ReservationState(TradeRows):
    """All that one step of an arbitrage is decided on, as of `now` (the server's, microseconds)."""

    now: int
    by: Actor
    """Who takes the step."""
    opportunity: Opportunity
    settings: Settings | None = None
    """Those in force."""
    reservations_open: bool = True
    open_arbitrages: int = 0
    notional: Mapping[str, Decimal] = field(default_factory=dict)
    """`notional_keys` → of the open arbitrages, in the settlement currency."""
    day_net: Decimal = ZERO
    """Net profit of the arbitrages that ended on the server's day, UTC."""
    paused_until: Mapping[str, int] = field(default_factory=dict)
    """Exchange → until when it takes no part, by the server's clock."""
    unexplained: tuple[str, ...] = ()
    """Exchanges with an unexplained difference, which are reduce-only."""
    leases: Mapping[str, Lease] | None = None
    """Exchange → who acts for it; None if nobody needs a lease: in a backtest."""
    arbitrage: Arbitrage | None = None
    is_of_earlier: bool = False
    """Whether the arbitrage began in an earlier session: what it moved before this one's opening balances is in
    them. A time does not tell by itself, as the clock of another server may be behind."""
    pair: PairRow = field(default_factory=PairRow)
    balances: Mapping[tuple[str, str], BalanceRow] = field(default_factory=dict)
    """(exchange, currency) → row, of both exchanges."""
    liquidity: Mapping[str, Decimal] = field(default_factory=dict)
    """`liquidity_key` → base amount that arbitrages took of that side of the quote."""
    in_flight: Mapping[str, str | None] = field(default_factory=dict)
    """`inflight_key` → the leg (`inflight_owner`) that is reserved or in flight there."""
    known_fills: Container[str] = frozenset()
    """`fill_key`s that are in the ledger already."""
    booked: tuple[Fill, ...] = ()
    """Fills to enter into the ledger."""
    unbooked: tuple[Fill, ...] = ()
    """Fills of the ledger that are not true; one of the same key in `booked` is in its place."""

    def with_begun(self, arbitrage: Arbitrage) -> "ReservationState":
        """Return the rows with a new arbitrage: its pair, what its legs hold, and the liquidity that they use."""
        balances, liquidity = dict(self.balances), dict(self.liquidity)
        for leg in arbitrage.legs:
            place, key = (leg.exchange, held_currency(leg)), liquidity_key(self.opportunity, leg.side)
            balances[place] = _row_at(balances, place).holding(leg.held)
            liquidity[key] = liquidity.get(key, ZERO) + leg.amount
        begun = replace(
            self,
            arbitrage=arbitrage,
            pair=PairRow(arbitrage.arbitrage_id, self.now),
            open_arbitrages=self.open_arbitrages + 1,
            notional=self._notional_with(arbitrage, 1),
            balances=balances,
            liquidity=liquidity,
        )
        for leg in arbitrage.legs:
            begun = begun.with_flight(arbitrage.arbitrage_id, leg)
        return begun

    def ended(self, over: Arbitrage, result: Decimal) -> "ReservationState":
        """Return the rows with the arbitrage over and its result counted on the day: counters and pair are free for the
        next one."""
        pair = self.pair
        if pair.arbitrage_id == over.arbitrage_id:
            pair = replace(pair, arbitrage_id=None)
        return replace(
            self,
            arbitrage=over,
            open_arbitrages=self.open_arbitrages - 1,
            notional=self._notional_with(over, -1),
            day_net=self.day_net + result,
            pair=pair,
        )

    def reopened(self) -> "ReservationState":
        """Return the rows with the arbitrage open again; its P&L counts when it ends again. What it counted is taken
        back, if that was on this day: the day that it ended on is over otherwise."""
        over = self.arbitrage
        counted = ZERO if over is None or not is_same_day(over.times.get("ended", 0), self.now) else day_result(over)
        return replace(
            self,
            notional=self._notional_with(over, 1),
            open_arbitrages=self.open_arbitrages + 1,
            day_net=self.day_net - counted,
        )

    def _notional_with(self, arbitrage: Arbitrage | None, sign: int) -> Mapping[str, Decimal]:
        """Return the sums with its notional counted once more (1) or no longer (-1)."""
        own = ZERO if arbitrage is None else sign * arbitrage.notional
        if own == 0:
            return self.notional
        keys = notional_keys(self.opportunity)
        return {**self.notional, **{key: self.notional.get(key, ZERO) + own for key in keys}}

    def with_history(self, before: Arbitrage | None) -> "ReservationState":
        """With the step in the arbitrage's history. Raises IllegalStepError."""
        if self.arbitrage is None or self.arbitrage is before:
            return self
        return replace(self, arbitrage=with_history(before, self.arbitrage, Moment(self.now, self.by)))


def _row_at(balances: Mapping[tuple[str, str], BalanceRow], place: tuple[str, str]) -> BalanceRow:
    """Return the row; one of nothing if there is none."""
    return balances.get(place) or BalanceRow(*place, ZERO, ZERO)


@dataclass(frozen=True, slots=True)
class RowsRead:
    """What one transaction read, `ReservationState` less what the arbitrage's own record says already."""

    now: int
    by: Actor
    settings_version: int | None = None
    has_arbitrage: bool = False
    """Whether there was one of this id."""
    is_of_earlier: bool = False
    reservations_open: bool = True
    open_arbitrages: int = 0
    notional: dict[str, BoundedDecimal] = field(default_factory=dict)
    day_net: BoundedDecimal = ZERO
    paused_until: dict[str, int] = field(default_factory=dict)
    unexplained: tuple[str, ...] = ()
    pair: PairRow = field(default_factory=PairRow)
    balances: tuple[BalanceRow, ...] = ()
    liquidity: dict[str, BoundedDecimal] = field(default_factory=dict)
    in_flight: dict[str, str | None] = field(default_factory=dict)
    known_fills: tuple[str, ...] = ()
    leases: dict[str, Lease] | None = None

    def rows(self, opportunity: Opportunity, settings: Settings | None) -> ReservationState:
        """As they were, but for the arbitrage."""
        return ReservationState(
            now=self.now,
            opportunity=opportunity,
            settings=settings,
            reservations_open=self.reservations_open,
            open_arbitrages=self.open_arbitrages,
            notional=self.notional,
            day_net=self.day_net,
            paused_until=self.paused_until,
            unexplained=self.unexplained,
            by=self.by,
            is_of_earlier=self.is_of_earlier,
            pair=self.pair,
            balances={(row.exchange, row.currency): row for row in self.balances},
            liquidity=self.liquidity,
            leases=self.leases,
            in_flight=self.in_flight,
            known_fills=frozenset(self.known_fills),
        )


def rows_read(rows: ReservationState, results: Iterable[OrderResult] = ()) -> RowsRead:
    """Those that a later step of an arbitrage follows from; of the ledger only what `results` ask for."""
    opportunity = rows.opportunity
    exchanges = sorted({opportunity.buy.exchange, opportunity.sell.exchange})
    places = [(exchange, currency) for exchange in exchanges for currency in currencies_of(opportunity)]
    return RowsRead(
        now=rows.now,
        by=rows.by,
        settings_version=None if rows.settings is None else rows.settings.version,
        has_arbitrage=rows.arbitrage is not None,
        is_of_earlier=rows.is_of_earlier,
        leases=leases_of(rows.leases, exchanges),
        balances=tuple(rows.balances[place] for place in places if place in rows.balances),
        in_flight={key: rows.in_flight[key] for key in inflight_keys(opportunity) if key in rows.in_flight},
        known_fills=tuple(key for key in reported_fill_keys(results) if key in rows.known_fills),
    )


def rows_read_to_reserve(rows: ReservationState) -> RowsRead:
    """Those that a reservation follows from, or its rejection."""
    opportunity = rows.opportunity
    exchanges = {opportunity.buy.exchange, opportunity.sell.exchange}
    used = [liquidity_key(opportunity, side) for side in SIDES]
    return replace(
        rows_read(rows),
        reservations_open=rows.reservations_open,
        open_arbitrages=rows.open_arbitrages,
        notional={key: rows.notional[key] for key in notional_keys(opportunity) if key in rows.notional},
        day_net=rows.day_net,
        paused_until={name: until for name, until in rows.paused_until.items() if name in exchanges},
        unexplained=tuple(name for name in rows.unexplained if name in exchanges),
        pair=rows.pair,
        liquidity={key: rows.liquidity[key] for key in used if key in rows.liquidity},
    )


def leases_of(leases: Mapping[str, Lease] | None, exchanges: Container[str]) -> dict[str, Lease] | None:
    """Without what their holders used, which decides nothing here."""
    if leases is None:
        return None
    return {name: replace(lease, used="") for name, lease in leases.items() if name in exchanges}


def reported_rows(
    rows: Iterable[BalanceRow], exchange: str, balances: Mapping[str, Decimal], opened_at: int | None = None
) -> list[BalanceRow]:
    """Return the rows of `exchange`, by currency, after it reported `balances`; what open legs hold stays held.

    `opened_at`: the server's time if they are a session's opening balances.
    """
    known = {row.currency: row for row in rows if row.exchange == exchange}
    reported = []
    for name in sorted(known.keys() | balances.keys()):
        row = known.get(name) or BalanceRow(exchange, name, ZERO, ZERO)
        since = row.opened_at if opened_at is None else opened_at
        free = balances.get(name, ZERO) - row.held
        reported.append(replace(row, free=free, unexplained=ZERO, doubted=ZERO, opened_at=since))
    return reported


def is_same_day(first: int, second: int) -> bool:
    """UTC, as the day's result is counted."""
    day = 86_400 * MICROSECONDS
    return first // day == second // day


def pair_key(opportunity: Opportunity) -> str:
    return f"{opportunity.base}|{opportunity.buy.exchange}|{opportunity.sell.exchange}"


def liquidity_key(opportunity: Opportunity, side: Side) -> str:
    """One side of one quote: asks if the leg buys."""
    seen = opportunity.buy if side == "buy" else opportunity.sell
    return f"{seen.quote_id}|{side}"


def fill_key(fill: Fill) -> str:
    """Return a key that is unique in the ledger: some exchanges number the fills of each market apart (Binance,
    Coinbase)."""
    return f"{fill.exchange}|{fill.symbol}|{fill.fill_id}"


def reported_fill_keys(results: Iterable[OrderResult]) -> tuple[str, ...]:
    """Return the keys of all reported fills."""
    reports = (result.report for result in results)
    return tuple(fill_key(fill) for report in reports if report is not None for fill in report.fills)
