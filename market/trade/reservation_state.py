"""The rows that one step of an arbitrage is decided on, and what a step changes in them. Pure."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from market.decide.risk_checks import notional_keys
from market.decide.settings import Settings
from market.instruments.orders import Fill, Side
from market.money import ZERO, BoundedDecimal
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Arbitrage, Leg, held_currency
from market.trade.fast_replace import replace
from market.trade.inflight_orders import allows_one_in_flight, inflight_key, inflight_owner
from market.trade.leases import UNFENCED, Actor
from market.trade.lifecycle import Moment, with_history

SIDES: tuple[Side, ...] = ("buy", "sell")


@dataclass(frozen=True, slots=True)
class BalanceRow:
    """The balance of one currency on one exchange: `free`, and `held` by open legs."""

    exchange: str
    currency: str
    free: BoundedDecimal
    held: BoundedDecimal

    def holding(self, amount: Decimal) -> "BalanceRow":
        """The row with `amount` more held; negative releases."""
        return replace(self, free=self.free - amount, held=self.held + amount)


@dataclass(frozen=True, slots=True)
class ReservationTerms:
    """What the first bot asked for, kept until the second's amount trims its hold."""

    hold_per_unit: BoundedDecimal
    leg_factor: BoundedDecimal
    leg_step: BoundedDecimal
    minimum_amount: BoundedDecimal


@dataclass(frozen=True, slots=True)
class PairRow:
    """One ordered pair of exchanges for one base: at most one open arbitrage, and when the last was reserved."""

    arbitrage_id: str | None = None
    reserved_at: int = 0


@dataclass(frozen=True, slots=True)
class ReservationState:
    """All that one step of an arbitrage is decided on, as of `now` (the server's, microseconds)."""

    now: int
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
    by: Actor = UNFENCED
    """Who takes the step."""
    arbitrage: Arbitrage | None = None
    terms: ReservationTerms | None = None
    """Of the leg that is reserved first."""
    pair: PairRow = field(default_factory=PairRow)
    balances: Mapping[tuple[str, str], BalanceRow] = field(default_factory=dict)
    """(exchange, currency) → row, of both exchanges."""
    liquidity: Mapping[str, Decimal] = field(default_factory=dict)
    """`liquidity_key` → base amount that arbitrages took of that side of the quote."""
    awaiting_second_leg: Mapping[str, str | None] = field(default_factory=dict)
    """`half_key` → the arbitrage awaiting its second leg."""
    in_flight: Mapping[str, str | None] = field(default_factory=dict)
    """`inflight_key` → the leg (`inflight_owner`) that is reserved or in flight there."""
    known_fills: Container[str] = frozenset()
    """`fill_key`s that are in the ledger already."""
    booked: tuple[Fill, ...] = ()
    """Fills to enter into the ledger."""

    def balance(self, exchange: str, currency: str) -> BalanceRow:
        return self.balances.get((exchange, currency)) or BalanceRow(exchange, currency, ZERO, ZERO)

    def with_hold(self, leg: Leg, amount: Decimal) -> "ReservationState":
        """The rows with `amount` more held for `leg`; negative releases."""
        return self.with_balance(self.balance(leg.exchange, held_currency(leg)).holding(amount))

    def with_balance(self, row: BalanceRow) -> "ReservationState":
        return replace(self, balances={**self.balances, (row.exchange, row.currency): row})

    def with_changes(self, exchange: str, changes: Iterable[tuple[str, Decimal]]) -> "ReservationState":
        """Each (currency, amount) added to what is free there."""
        balances = dict(self.balances)
        for currency, amount in changes:
            row = balances.get((exchange, currency)) or BalanceRow(exchange, currency, ZERO, ZERO)
            balances[exchange, currency] = replace(row, free=row.free + amount)
        return replace(self, balances=balances)

    def with_liquidity(self, leg: Leg, amount: Decimal) -> "ReservationState":
        """The rows with `amount` more of the quote behind `leg` used; negative releases."""
        key = liquidity_key(self.opportunity, leg.side)
        return replace(self, liquidity={**self.liquidity, key: self.liquidity.get(key, ZERO) + amount})

    def with_half(self, leg: Leg, arbitrage_id: str | None) -> "ReservationState":
        return replace(
            self, awaiting_second_leg={**self.awaiting_second_leg, half_key(self.opportunity, leg.side): arbitrage_id}
        )

    def has_flight(self, arbitrage_id: str, leg: Leg) -> bool:
        """Whether `leg` may be in flight as far as others are concerned."""
        owner = self.in_flight.get(inflight_key(leg))
        return not allows_one_in_flight(leg) or owner is None or owner == inflight_owner(arbitrage_id, leg)

    def with_flight(self, arbitrage_id: str, leg: Leg) -> "ReservationState":
        """`leg` is next; the same rows where another is: it then waits before it is sent."""
        if not allows_one_in_flight(leg) or not self.has_flight(arbitrage_id, leg):
            return self
        return replace(self, in_flight={**self.in_flight, inflight_key(leg): inflight_owner(arbitrage_id, leg)})

    def landed(self, arbitrage_id: str, leg: Leg) -> "ReservationState":
        """Nothing more of `leg` can be in flight."""
        if self.in_flight.get(inflight_key(leg)) != inflight_owner(arbitrage_id, leg):
            return self
        return replace(self, in_flight={**self.in_flight, inflight_key(leg): None})

    def ended(self) -> "ReservationState":
        """The counters and the pair are free for the next arbitrage."""
        pair = self.pair
        if self.arbitrage is not None and pair.arbitrage_id == self.arbitrage.arbitrage_id:
            pair = replace(pair, arbitrage_id=None)
        return replace(self.with_notional(-1), open_arbitrages=self.open_arbitrages - 1, pair=pair)

    def reopened(self) -> "ReservationState":
        """The rows with the arbitrage open again; its P&L counts when it ends again."""
        profit = None if self.arbitrage is None else self.arbitrage.profit
        day_net = self.day_net if profit is None else self.day_net - profit.net
        return replace(self.with_notional(1), open_arbitrages=self.open_arbitrages + 1, day_net=day_net)

    def with_notional(self, sign: int) -> "ReservationState":
        """The arbitrage's own notional counted once more (1) or no longer (-1)."""
        own = ZERO if self.arbitrage is None else sign * self.arbitrage.notional
        if own == 0:
            return self
        keys = notional_keys(self.opportunity)
        return replace(self, notional={**self.notional, **{key: self.notional.get(key, ZERO) + own for key in keys}})

    def with_history(self, before: Arbitrage | None) -> "ReservationState":
        """With the step in the arbitrage's history. Raises IllegalStepError."""
        if self.arbitrage is None or self.arbitrage is before:
            return self
        return replace(self, arbitrage=with_history(before, self.arbitrage, Moment(self.now, self.by)))


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
    """Unique in the ledger: some exchanges number the fills of each market apart (Binance, Coinbase)."""
    return f"{fill.exchange}|{fill.symbol}|{fill.fill_id}"
