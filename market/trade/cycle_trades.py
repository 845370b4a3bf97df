"""One cycle being traded: its orders, whatever completes or takes back what they left, and how it ended. Pure.

An order is of one leg of the cycle. `leg` orders make the trade; `complete` orders buy or sell what a leg lacks, at a
worse price; `reverse` orders take back what a leg has too much of; `flatten` orders do that after the end, when a fill
came late. What is posted of an order is a `Leg`, as of a pair.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal, get_args

from market.decide.cycle_sizing import SizedCycle
from market.instruments.cycles import REACHES, Cycle, Reach
from market.instruments.fees import hold_of
from market.instruments.markets import Market
from market.instruments.orders import Fill, Side
from market.money import EXACT, ZERO, Amount, BoundedDecimal, Price, total
from market.trade.arbitrages import (
    OPEN_STATES,
    ArbitrageState,
    CycleRole,
    Leg,
    ProfitAndLoss,
    Transition,
    held_currency,
)
from market.trade.profit import flows_of

OrderStep = Literal["leg", "complete", "reverse", "flatten"]
CycleOrderState = Literal["waiting", "granted", "done", "not_sent"]
"""`waiting`: for what the leg before it brings, or for its exchange; `granted`: its balance is held, and it may be
posted, once."""
TAKES_BACK: tuple[OrderStep, ...] = ("reverse", "flatten")
_ROLES: Mapping[str, CycleRole] = {role: role for role in get_args(CycleRole)}


@dataclass(frozen=True, slots=True)
class CycleOrder:
    """One order of the cycle's leg of that `number`, from 0. What is posted is `leg`; its role says what it is for."""

    number: int
    step: OrderStep
    market: Market
    fee_rate: BoundedDecimal
    leg: Leg
    waits: bool = False
    """Whether its amount follows from what the leg before brings."""
    follows: BoundedDecimal = ZERO
    """What had gone through the leg before, in base, when its amount was made to follow from that."""

    @property
    def name(self) -> str:
        """Return its name among the orders of the trade, such as `leg2` and `complete2`."""
        return self.leg.role

    @property
    def state(self) -> CycleOrderState:
        return "waiting" if self.leg.state == "reserved" else self.leg.state

    @property
    def is_final(self) -> bool:
        return self.leg.is_final

    @property
    def side(self) -> Side:
        return self.leg.side

    @property
    def amount(self) -> Amount:
        return self.leg.amount

    @property
    def limit_price(self) -> Price:
        return self.leg.limit_price

    @property
    def client_order_id(self) -> str:
        return self.leg.client_order_id

    @property
    def held(self) -> Decimal:
        """Return what is still held of `hold_currency` on its exchange's balance row."""
        return self.leg.held

    @property
    def fills(self) -> tuple[Fill, ...]:
        return self.leg.fills

    @property
    def times(self) -> Mapping[str, int]:
        """Return the server's times, microseconds: reserved, granted, sent, done."""
        return self.leg.times

    @property
    def hold_currency(self) -> str:
        return held_currency(self.leg)

    @property
    def hold_needed(self) -> Decimal:
        """Return what must be free before it is granted: its amount at its limit price, fee included."""
        return hold_for(self.market, self.side, self.fee_rate, self.limit_price, self.amount)

    @property
    def filled(self) -> Decimal:
        return self.leg.filled

    @property
    def cost(self) -> Decimal:
        return self.leg.cost


def role_of(step: OrderStep, number: int) -> CycleRole:
    """Raise KeyError for a leg that no cycle has."""
    return _ROLES[f"{step}{number + 1}"]


def leg_for(role: CycleRole, market: Market, side: Side, amount: Amount, limit: Price, client_order_id: str) -> Leg:
    """Return the leg of an order, not granted yet and with nothing held."""
    return Leg(
        role=role,
        exchange=market.exchange,
        symbol=market.symbol,
        base=market.base,
        quote_currency=market.quote_currency,
        side=side,
        amount=amount,
        limit_price=limit,
        client_order_id=client_order_id,
    )


@dataclass(frozen=True, slots=True)
class CycleTrade:
    """All orders of one cycle that was found to pay. Its id is the sighting's.

    `unit`: what one of the cycle's first currency counts in `currency`, the settlement currency. `prices`: the best
    ones seen, by leg. `times`: event, reserved, ended; market time, microseconds.
    """

    trade_id: str
    cycle: Cycle
    planned: SizedCycle
    net_bps: float
    prices: tuple[Price, ...]
    currency: str
    unit: BoundedDecimal
    notional: BoundedDecimal
    """In the settlement currency; counted against the limits while it is open."""
    orders: tuple[CycleOrder, ...]
    threshold: tuple[float, str]
    """The net spread, bps, from which it was traded, and whose that is (`market.decide.thresholds`)."""
    most: tuple[BoundedDecimal, str]
    """The most notional of one trade on it, and whose that is."""
    state: ArbitrageState = "reserved"
    reason: str | None = None
    """Why it ended if it did not close."""
    times: Mapping[str, int] = field(default_factory=dict)
    profit: ProfitAndLoss | None = None
    history: tuple[Transition, ...] = ()
    """Every step, oldest first."""

    @property
    def arbitrage_id(self) -> str:
        """Return its id as that of a trade of whatever kind."""
        return self.trade_id

    @property
    def legs(self) -> tuple[Leg, ...]:
        """Return what was posted, or may be, in the order in which it came to be."""
        return tuple(order.leg for order in self.orders)

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def is_filled(self) -> bool:
        return any(order.fills for order in self.orders)

    def leg(self, role: str) -> Leg | None:
        order = self.order(role)
        return None if order is None else order.leg

    def order(self, name: str) -> CycleOrder | None:
        return next((order for order in self.orders if order.name == name), None)

    def net_of(self, number: int) -> Decimal:
        """Return what went through a leg, in base: filled, less what was taken back."""
        signs = ((-1 if order.step in TAKES_BACK else 1, order) for order in self.orders if order.number == number)
        return total(sign * order.filled for sign, order in signs)

    @property
    def wholes(self) -> tuple[Fraction, ...]:
        """Return for each leg the amount that is its whole share: as planned, or if it waited, in the proportion in
        which the leg before had gone through by then. So what prices alone did to its amount leaves nothing to unwind,
        and what the leg before fills or gives back later does."""
        wholes: list[Fraction] = []
        for number, leg in enumerate(self.planned.legs):
            order, whole = self.order(f"leg{number + 1}"), Fraction(leg.amount)
            if order is not None and order.follows > 0 and order.state != "not_sent":
                whole = Fraction(order.amount) * wholes[-1] / Fraction(order.follows)
            wholes.append(whole)
        return tuple(wholes)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Return for each leg which share of its whole amount went through it."""
        return tuple(Fraction(self.net_of(number)) / whole for number, whole in enumerate(self.wholes))

    @property
    def flows(self) -> dict[str, Decimal]:
        """Return the signed change of each currency by all fills and fees, over all exchanges; exact."""
        return flows_of(self.legs)


def hold_for(market: Market, side: Side, fee_rate: Decimal, limit: Decimal, amount: Decimal) -> Decimal:
    """Return what an order of that amount needs of its currency, at worst."""
    _, per_unit = hold_of(market, side, fee_rate, limit)
    return EXACT.multiply(amount, per_unit)


def states_by_reach(trades: Iterable[CycleTrade]) -> dict[Reach, dict[ArbitrageState, int]]:
    """Return within an exchange and across several → state → how many trades."""
    found: dict[Reach, Counter[ArbitrageState]] = {reach: Counter() for reach in REACHES}
    for one in trades:
        found[one.cycle.reach][one.state] += 1
    return {reach: dict(states) for reach, states in found.items()}
