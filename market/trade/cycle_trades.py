"""One cycle being traded: its orders, whatever completes or takes back what they left, and how it ended. Pure.

An order is of one leg of the cycle. `leg` orders make the trade; `complete` orders buy or sell what a leg lacks, at a
worse price; `reverse` orders take back what a leg has too much of.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from market.decide.cycle_sizing import SizedCycle
from market.instruments.cycles import Cycle
from market.instruments.fees import hold_of
from market.instruments.markets import Market
from market.instruments.orders import Fill, Side, summed_changes
from market.money import EXACT, ZERO, Amount, Price, total
from market.trade.arbitrages import OPEN_STATES, ArbitrageState, ProfitAndLoss

OrderStep = Literal["leg", "complete", "reverse"]
CycleOrderState = Literal["waiting", "granted", "done", "not_sent"]
"""`waiting`: for what the leg before it brings; `granted`: its balance is held, and it may be posted, once."""


@dataclass(frozen=True, slots=True)
class CycleOrder:
    """One order, posted at most once by anybody. `number`: of its leg in the cycle, from 0. `times` are the server's,
    microseconds: reserved, granted, done."""

    number: int
    step: OrderStep
    market: Market
    side: Side
    amount: Amount
    limit_price: Price
    fee_rate: Decimal
    client_order_id: str
    state: CycleOrderState
    waits: bool = False
    """Whether its amount follows from what the leg before brings."""
    held: Decimal = ZERO
    """Still held of `hold_currency` on its exchange's balance row."""
    fills: tuple[Fill, ...] = ()
    times: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
    """Why it was never sent."""

    @property
    def name(self) -> str:
        """Return its name among the orders of the trade, such as `leg2` and `complete2`."""
        return f"{self.step}{self.number + 1}"

    @property
    def is_final(self) -> bool:
        return self.state in ("done", "not_sent")

    @property
    def hold_currency(self) -> str:
        return self.market.quote_currency if self.side == "buy" else self.market.base

    @property
    def hold_needed(self) -> Decimal:
        """Return what must be free before it is granted: its amount at its limit price, fee included."""
        return hold_for(self.market, self.side, self.fee_rate, self.limit_price, self.amount)

    @property
    def filled(self) -> Decimal:
        return total(fill.amount for fill in self.fills)

    @property
    def cost(self) -> Decimal:
        return total(fill.cost for fill in self.fills)


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
    unit: Decimal
    notional: Decimal
    """In the settlement currency; counted against the limits while it is open."""
    orders: tuple[CycleOrder, ...]
    threshold: tuple[float, str]
    """The net spread, bps, from which it was traded, and whose that is (`market.decide.thresholds`)."""
    most: tuple[Decimal, str]
    """The most notional of one trade on it, and whose that is."""
    state: ArbitrageState = "reserved"
    reason: str | None = None
    """Why it ended if it did not close."""
    times: Mapping[str, int] = field(default_factory=dict)
    profit: ProfitAndLoss | None = None

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def is_filled(self) -> bool:
        return any(order.fills for order in self.orders)

    def order(self, name: str) -> CycleOrder | None:
        return next((order for order in self.orders if order.name == name), None)

    def net_of(self, number: int) -> Decimal:
        """Return what went through a leg, in base: filled, less what was taken back."""
        signs = ((-1 if order.step == "reverse" else 1, order) for order in self.orders if order.number == number)
        return total(sign * order.filled for sign, order in signs)

    @property
    def wholes(self) -> tuple[Fraction, ...]:
        """Return for each leg the amount that is its whole share: as planned, or if it waited, in the proportion in
        which the leg before went through. So what prices alone did to its amount leaves nothing to unwind."""
        wholes: list[Fraction] = []
        for number, leg in enumerate(self.planned.legs):
            order, whole = self.order(f"leg{number + 1}"), Fraction(leg.amount)
            before = Fraction(self.net_of(number - 1)) / wholes[-1] if wholes else Fraction(0)
            if order is not None and order.waits and order.state != "not_sent" and before > 0:
                whole = Fraction(order.amount) / before
            wholes.append(whole)
        return tuple(wholes)

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """Return for each leg which share of its whole amount went through it."""
        return tuple(Fraction(self.net_of(number)) / whole for number, whole in enumerate(self.wholes))

    @property
    def flows(self) -> dict[str, Decimal]:
        """Return the signed change of each currency by all fills and fees, over all exchanges; exact."""
        return flows_of(self.orders)


def flows_of(orders: Iterable[CycleOrder]) -> dict[str, Decimal]:
    """Return the signed change of each currency by the fills and fees of these orders; exact."""
    markets = ((order, order.market) for order in orders)
    return summed_changes(
        (fill, market.base, market.quote_currency) for order, market in markets for fill in order.fills
    )


def hold_for(market: Market, side: Side, fee_rate: Decimal, limit: Decimal, amount: Decimal) -> Decimal:
    """Return what an order of that amount needs of its currency, at worst."""
    _, per_unit = hold_of(market, side, fee_rate, limit)
    return EXACT.multiply(amount, per_unit)
