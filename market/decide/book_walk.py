"""Walks two order books together while each further unit is profitable; computes amount, cost and proceeds. Exact.

No float, and nothing is rounded: sums and products are decimals of as many digits as it takes, quotients are fractions.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from market.instruments.orders import Side
from market.money import BPS, EXACT, ZERO, decimal_of_whole
from market.prices.opportunities import FxRate
from market.prices.quotes import Level

ONE = Decimal(1)


@dataclass(frozen=True)
class WalkTerms:
    """Fees, FX rates and the minimum net spread of a walk.

    Fees are fractions of the notional, taken in quote currency; a fee taken in base is in `factor`, which says how much
    is sold per unit bought. A rate of None: the quote currency is the settlement currency. A unit pays if it brings
    at least `min_bps` of what was paid for it before fees; None: if it brings anything at all.
    """

    buy_fee: Decimal = ZERO
    sell_fee: Decimal = ZERO
    buy_rate: FxRate | None = None
    sell_rate: FxRate | None = None
    factor: Decimal = ONE
    min_bps: Decimal | None = None

    @cached_property
    def pays(self) -> Callable[[Decimal, Decimal], bool]:
        """Return whether a unit bought at an ask (first) and sold at a bid pays."""
        received, required = self.measures
        multiply = EXACT.multiply
        if self.min_bps is None:
            return lambda ask, bid: multiply(bid, received) > multiply(ask, required)
        return lambda ask, bid: multiply(bid, received) >= multiply(ask, required)

    @cached_property
    def measures(self) -> tuple[Decimal, Decimal]:
        """Return (received, required): a unit pays if its bid × received comes to its ask × required."""
        received, paid = self._sides
        min_value = ZERO if self.min_bps is None else self.min_bps
        owed = EXACT.add(EXACT.add(ONE, self.buy_fee), EXACT.divide(min_value, BPS))
        return received, EXACT.multiply(paid, owed)

    @property
    def _sides(self) -> tuple[Decimal, Decimal]:
        """What one of a bid's currency, per unit bought and after its fee, and one of an ask's are worth, in a measure
        common to both."""
        buy_times, buy_over = settlement_factors(self.buy_rate, "buy")
        sell_times, sell_over = settlement_factors(self.sell_rate, "sell")
        kept = EXACT.multiply(self.factor, EXACT.subtract(ONE, self.sell_fee))
        received = EXACT.multiply(EXACT.multiply(kept, sell_times), buy_over)
        return received, EXACT.multiply(buy_times, sell_over)


@dataclass(frozen=True, slots=True)
class WalkLimits:
    """Limits on the walk, in base bought or in the quote currency that buys it."""

    max_amount: Fraction | None = None
    """Maximum base bought, at any price."""
    budget: Fraction | None = None
    """Quote currency that may be spent, with every unit at `limit` of the worst ask reached."""
    limit: Callable[[Decimal], Decimal] | None = None
    """The price that an order reaching this ask may have to pay; None: the ask itself."""

    def at(self, ask: Decimal) -> Fraction | None:
        """Return the base bought at most by a walk that reaches `ask`; None: without limit."""
        if self.budget is None:
            return self.max_amount
        affordable = self.budget / Fraction(ask if self.limit is None else self.limit(ask))
        return affordable if self.max_amount is None else min(affordable, self.max_amount)


NO_LIMITS = WalkLimits()


class WalkStep(NamedTuple):
    """A part of the walk at one ask and one bid, counted in base *sold*, if both books are finite decimals."""

    ask: Level
    bid: Level
    start: Decimal
    end: Decimal


@dataclass(frozen=True, slots=True)
class Walk:
    """How far it goes. `amount` is base bought, `factor` of which is sold; money is in the settlement currency.

    The last of `steps` is the one that `amount` ends in, maybe before its end; there is none if nothing pays.
    """

    terms: WalkTerms
    steps: tuple[WalkStep, ...]
    amount: Fraction

    @property
    def worst_ask(self) -> Level | None:
        return self.steps[-1].ask if self.steps else None

    @property
    def worst_bid(self) -> Level | None:
        return self.steps[-1].bid if self.steps else None

    @property
    def cost(self) -> Fraction:
        """Paid for all of it, fee included."""
        times, over = settlement_factors(self.terms.buy_rate, "buy")
        paid = sum((Fraction(step.ask.price) * sold for step, sold in self._sold()), Fraction(0))
        return (
            paid / Fraction(self.terms.factor) * (1 + Fraction(self.terms.buy_fee)) * Fraction(times) / Fraction(over)
        )

    @property
    def proceeds(self) -> Fraction:
        """Received for what was sold of it, less the fee."""
        times, over = settlement_factors(self.terms.sell_rate, "sell")
        received = sum((Fraction(step.bid.price) * sold for step, sold in self._sold()), Fraction(0))
        return received * (1 - Fraction(self.terms.sell_fee)) * Fraction(times) / Fraction(over)

    @property
    def profit(self) -> Fraction:
        return self.proceeds - self.cost

    def floored(self, step: Decimal) -> Decimal:
        """Return the largest whole number of `step` that is not more than `amount`."""
        return EXACT.multiply(decimal_of_whole(self.amount // Fraction(step)), step)

    def cut(self, amount: Decimal) -> "Walk":
        """Return the same walk, ended at `amount`, if that is before its end."""
        if amount >= self.amount:
            return self
        sold = EXACT.multiply(amount, self.terms.factor)
        return replace(self, steps=tuple(step for step in self.steps if step.start < sold), amount=Fraction(amount))

    def bid_reached(self, sold: Decimal) -> Level:
        """Return the worst bid that an order of `sold` reaches, if the walk goes so far. Raises LookupError
        otherwise."""
        for step in self.steps:
            if step.end >= sold:
                return step.bid
        raise LookupError(f"the walk ends before {sold} are sold")

    def _sold(self) -> Iterator[tuple[WalkStep, Fraction]]:
        """Each step, and how much is sold in it."""
        reach = self.amount * Fraction(self.terms.factor)
        for step in self.steps:
            yield step, min(Fraction(step.end), reach) - Fraction(step.start)


def walk_books(asks: Sequence[Level], bids: Sequence[Level], terms: WalkTerms, limits: WalkLimits = NO_LIMITS) -> Walk:
    """As far as each unit pays and `limits` allow; both lists best first.

    Prices only get worse on the way, so every unit before the end pays and none behind it does: without limits and
    with `min_bps` None (or 0) no other amount brings more, and no smaller one as much (or: none greater as much).
    Any other `min_bps` ends if the next unit would bring less than that. Limits end it if the first of them is
    reached: the more the walk has to pay, the less they allow.
    """
    pays = terms.pays
    steps: list[WalkStep] = []
    at: Level | None = None
    max_amount: Fraction | None = None
    for step in _steps(asks, bids, terms.factor):
        if not pays(step.ask.price, step.bid.price):
            break
        if step.ask is not at:
            at, max_amount = step.ask, limits.at(step.ask.price)
        if max_amount is not None and step.end > max_amount * Fraction(terms.factor):
            return _end_at_limit(terms, steps, step, max_amount)
        steps.append(step)
    return Walk(terms, tuple(steps), Fraction(steps[-1].end) / Fraction(terms.factor) if steps else Fraction(0))


def _end_at_limit(terms: WalkTerms, steps: list[WalkStep], last: WalkStep, max_amount: Fraction) -> Walk:
    """Return a walk that a limit ends in its `last` step, or before it: reaching its ask may forbid what went
    before."""
    start = Fraction(last.start) / Fraction(terms.factor)
    return Walk(terms, (*steps, last), max_amount) if max_amount > start else Walk(terms, tuple(steps), start)


def settlement_factors(rate: FxRate | None, side: Side) -> tuple[Decimal, Decimal]:
    """Return what an amount of quote currency is multiplied with and divided by to be settlement currency.

    At the side of the FX quote that is paid to buy, or got by selling.
    """
    if rate is None:
        return ONE, ONE
    price = rate.ask if (side == "buy") != rate.inverted else rate.bid
    return (ONE, price) if rate.inverted else (price, ONE)


def _steps(asks: Sequence[Level], bids: Sequence[Level], factor: Decimal) -> Iterator[WalkStep]:
    """Every stretch at which neither level changes, for as long as both books last."""
    asks_ahead = (level for level in asks if level.amount > 0)
    bids_ahead = (level for level in bids if level.amount > 0)
    ask: Level | None = None
    bid: Level | None = None
    at = ask_end = bid_end = ZERO
    while True:
        if ask is None or ask_end == at:
            ask = next(asks_ahead, None)
            if ask is None:
                return
            ask_end = EXACT.fma(ask.amount, factor, at)
        if bid is None or bid_end == at:
            bid = next(bids_ahead, None)
            if bid is None:
                return
            bid_end = EXACT.add(at, bid.amount)
        end = min(ask_end, bid_end)
        yield WalkStep(ask, bid, at, end)
        at = end
