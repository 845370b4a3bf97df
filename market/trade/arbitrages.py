"""One opportunity being traded: its two legs, whatever unwinds them, and how it ended."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Literal, Protocol, get_args

from market.instruments.orders import Fill, Side
from market.money import Amount, BoundedDecimal, Price, total
from market.prices.opportunities import Opportunity

ArbitrageState = Literal["reserved", "single_leg", "closed", "unwound", "residual", "unfilled"]
LegState = Literal["reserved", "granted", "done", "not_sent"]
"""`reserved`: its balance is held; `granted`: its bot may post its order, once."""
CycleRole = Literal[
    "leg1",
    "leg2",
    "leg3",
    "leg4",
    "leg5",
    "complete1",
    "complete2",
    "complete3",
    "complete4",
    "complete5",
    "reverse1",
    "reverse2",
    "reverse3",
    "reverse4",
    "reverse5",
    "flatten1",
    "flatten2",
    "flatten3",
    "flatten4",
    "flatten5",
]
"""An order of a cycle: what it is for, and of which leg."""
LegRole = Literal["buy", "sell", "complete", "reverse", "flatten", CycleRole]
"""`complete` and `reverse` unwind a single leg; `flatten` what a fill left that came after the end."""
Strategy = Literal["arbitrage", "ma"]

ArbitrageOutcome = Literal[ArbitrageState, "closed_by_third_order"]
"""An arbitrage's state, with those set apart that closed because a third order made up for a leg."""

CYCLE_ROLES: frozenset[str] = frozenset(get_args(CycleRole))
OPEN_STATES: tuple[ArbitrageState, ...] = ("reserved", "single_leg")
FINAL_STATES: tuple[ArbitrageState, ...] = ("closed", "unwound", "residual", "unfilled")
UNWINDING_ROLES: tuple[LegRole, ...] = ("complete", "reverse", "flatten")
"""Of the legs that come after the first two."""
MEAN_PRICE_STEP = Decimal("0.00000001")


@dataclass(frozen=True, slots=True)
class Leg:
    """One order of an arbitrage; posted at most once by anybody. Amounts in base, limit in quote currency.

    `times` are the server's, microseconds: reserved, granted, sent, done.
    """

    role: LegRole
    exchange: str
    symbol: str
    base: str
    quote_currency: str
    side: Side
    amount: Amount
    limit_price: Price
    client_order_id: str
    state: LegState = "reserved"
    token: int = 0
    """The fencing token that it was granted to: no other process may post it."""
    exchange_order_id: str | None = None
    fills: tuple[Fill, ...] = ()
    held: BoundedDecimal = Decimal(0)
    """Still held on the exchange's balance row: quote currency if it buys, base if it sells."""
    times: dict[str, int] = field(default_factory=dict)
    reason: str | None = None
    """Why its order never left, if it was stopped at the last moment."""
    unresolved: str | None = None
    """Why nobody can say what became of its order."""

    @property
    def is_final(self) -> bool:
        return self.state in ("done", "not_sent")

    @property
    def is_booked(self) -> bool:
        """Whether it is known, and booked, what became of its order."""
        return self.state == "done" and self.unresolved is None

    @property
    def is_unposted(self) -> bool:
        """It ended without a byte of it having left this machine, for certain."""
        return self.state == "not_sent" and self.exchange_order_id is None and "unconfirmed" not in self.times

    @property
    def filled(self) -> Decimal:
        return total(fill.amount for fill in self.fills)

    @property
    def base_fee(self) -> Decimal:
        return total(fill.fee for fill in self.fills if fill.fee_currency == self.base)

    @property
    def cost(self) -> Decimal:
        return total(fill.cost for fill in self.fills)

    @property
    def mean_price(self) -> Decimal | None:
        """None until something fills."""
        return (self.cost / self.filled).quantize(MEAN_PRICE_STEP) if self.filled else None


def third_orders(legs: Iterable[Leg]) -> tuple[Leg, ...]:
    """Return the filled legs that completed, reversed or flattened what the first two left: what they cost or earned
    is the profit's `unwinding`."""
    return tuple(leg for leg in legs if leg.role in UNWINDING_ROLES and leg.fills)


def held_currency(leg: Leg) -> str:
    """Return what a leg holds on its exchange's balance row."""
    return leg.quote_currency if leg.side == "buy" else leg.base


@dataclass(frozen=True, slots=True)
class ProfitShare:
    """What one exchange had in an arbitrage's profit; over its exchanges each part sums to the whole's, exactly."""

    exchange: str
    gross: BoundedDecimal
    latency_decay: BoundedDecimal
    slippage: BoundedDecimal
    fees: BoundedDecimal
    fx: BoundedDecimal
    unwinding: BoundedDecimal
    net: BoundedDecimal


@dataclass(frozen=True, slots=True)
class ProfitAndLoss:
    """Signed parts in the settlement currency; they sum to `net` to the last digit.

    `gross` at the best prices seen and FX mid; `latency_decay` from there to each leg's best fill; `slippage`, the
    depth walked, from the best fill to all of them; `fx` from FX mid to the side paid; `unwinding` what completing,
    reversing or flattening a single leg cost or earned.
    """

    currency: str
    gross: BoundedDecimal
    slippage: BoundedDecimal
    fees: BoundedDecimal
    fx: BoundedDecimal
    unwinding: BoundedDecimal
    net: BoundedDecimal
    latency_decay: BoundedDecimal = Decimal(0)
    """0 in what earlier versions stored, whose slippage holds both."""
    shares: tuple[ProfitShare, ...] = ()
    """By exchange; none in sums over arbitrages and in what earlier versions stored."""

    @property
    def parts(self) -> dict[str, Decimal]:
        """By the names of PROFIT_PARTS."""
        return {part: getattr(self, part) for part in PROFIT_PARTS}


PROFIT_PARTS = ("gross", "latency_decay", "slippage", "fees", "fx", "unwinding", "net")
"""Fields of ProfitAndLoss and ProfitShare, in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One step of an arbitrage or of one of its legs (`what`: `reserved`, `buy granted`), and who took it.

    `at` is the server's time, microseconds; `token` the fencing token of the actor's lease, 0 if it had none.
    """

    what: str
    at: int
    actor: str
    token: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Arbitrage:
    """Both legs, then any that complete or reverse a single one. Its id is the opportunity's.

    A moving average trade is one with a single leg, of an opportunity with one exchange on both sides.

    `times`: event (the later quote's arrival), detected, reserved, sent, filled, ended; wall clock, microseconds.
    """

    arbitrage_id: str
    base: str
    state: ArbitrageState
    opportunity: Opportunity
    legs: tuple[Leg, ...]
    amount: Amount
    """Base amount matched between both legs; each leg's own amount follows from it and its fee side."""
    send_by: int
    """Server time, microseconds: no order is posted later, and a leg that is not granted by then is `not_sent`."""
    times: dict[str, int] = field(default_factory=dict)
    reason: str | None = None
    """Why it ended if it did not close."""
    profit: ProfitAndLoss | None = None
    strategy: Strategy = "arbitrage"
    notional: BoundedDecimal = Decimal(0)
    """In the settlement currency; counted against the limits while it is open."""
    history: tuple[Transition, ...] = ()
    """Every step, oldest first."""

    @property
    def is_filled(self) -> bool:
        """Whether anything was bought or sold."""
        return any(leg.fills for leg in self.legs)

    @property
    def outcome(self) -> ArbitrageOutcome:
        return outcome_of(self.state, bool(third_orders(self.legs)))

    def leg(self, role: LegRole) -> Leg | None:
        return next((leg for leg in self.legs if leg.role == role), None)


class TradeOfLegs(Protocol):
    """A trade whose orders are legs: a pair's or a cycle's."""

    @property
    def arbitrage_id(self) -> str: ...

    @property
    def state(self) -> ArbitrageState: ...

    @property
    def reason(self) -> str | None: ...

    @property
    def legs(self) -> tuple[Leg, ...]: ...


def outcome_of(state: ArbitrageState, has_third_order: bool) -> ArbitrageOutcome:
    """Return the state as pages and files name it."""
    return "closed_by_third_order" if state == "closed" and has_third_order else state


@dataclass(frozen=True, slots=True)
class Rejection:
    """An opportunity not traded, with the first reason; `count` has the like of the same pair, reason and second.

    Reasons, in the order in which they are looked for (docs/risk.md): halted, reduce_only, exchange_disabled,
    asset_disabled, market_closed, below_threshold, stale, clock_ahead, crossed, quarantined, not_persistent,
    stopping, daily_loss, exchange_paused, unexplained_difference, too_many_open, pair_busy, cooling_down,
    total_limit, asset_limit, exchange_limit, exposure, currency_drift, outbid, rate_budget, recheck_failed,
    no_decider, no_bot, bot_draining, account_rejected, leg_in_flight, too_small, insufficient_balance,
    liquidity_used.
    """

    rejection_id: str
    opportunity_id: str
    base: str
    buy_exchange: str
    sell_exchange: str
    exchange: str
    """Where it would have been bought."""
    reason: str
    net_bps: float
    expected_profit: BoundedDecimal
    """The expected profit of this opportunity, in the settlement currency."""
    rejected_at: int
    count: int = 1
    tradable: BoundedDecimal = Decimal(0)
    """The most that one of all `count` would have earned within what one trade may use (`episodes`); 0 in what
    earlier versions stored."""
    record: str | None = None
    """What this one was decided on (`market.trade.decision_record`); None in what earlier versions stored."""
    until: int = 0
    """When the last of all `count` expired, by the same clock as `rejected_at`."""

    def with_more(self, later: "Rejection") -> "Rejection":
        """`later`, of the same pair, reason and second, counted on this one."""
        most, until = max(self.tradable, later.tradable), max(self.until, later.until)
        return replace(self, count=self.count + later.count, tradable=most, until=until)
