"""Sizes a cycle: the amounts of all legs, on each exchange's lots, that bring most. Exact.

Each leg gives at most what the leg before it brings; what is left of that on no lot is dust, and counts as nothing: no
profit is made of what no order takes. With the amount of one leg given, the fewest lots before it and the most after it
are best. So amounts of one leg are tried: that of the coarsest lots. The same cycle without lots is concave and
bounds all amounts beyond those tried; what is left open, if the search is cut off, is stated.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Literal

from market.decide.cycle_grid import CycleGrid, LotBounds, Ratio, cycle_grid
from market.decide.sizing import SizingSide, displayed_amount
from market.instruments.fees import hold_of
from market.instruments.order_rules import minimum_order
from market.money import BPS, EXACT, ZERO, Amount, BoundedDecimal, Price, decimal_of_whole

CycleRejection = Literal["below_threshold", "too_small", "limit_reached", "insufficient_balance"]
"""`too_small`: what the books show is less than the exchanges' least orders; the last two: all else would do."""

MOST_TRIED = 20_000
"""Amounts tried on each side of the best one without lots."""
LOOKED_UP_EVERY = 8
"""Amounts between two looks at the bound, which costs more than to try one."""


@dataclass(frozen=True, slots=True)
class CycleBounds:
    """`most_given`: of the first leg's currency, at its limit price; None: unbounded."""

    least_bps: Decimal = ZERO
    """A cycle is worth its proceeds less what it gives and this share of it: so each lot pays at least as much."""
    slack_bps: float = 0.0
    """How far past the worst level reached an order's limit price may stand."""
    most_given: Decimal | None = None
    most_tried: int = MOST_TRIED


@dataclass(frozen=True, slots=True)
class SizedCycleLeg:
    """One order, what it gives and brings at the levels shown, fees included, and `dust`: what the next leg leaves of
    it. `hold` is what must be free of `hold_currency` before, at the limit price."""

    amount: Amount
    worst_price: Price
    limit_price: Price
    gives: BoundedDecimal
    brings: BoundedDecimal
    dust: BoundedDecimal
    hold_currency: str
    hold: BoundedDecimal
    displayed: BoundedDecimal


@dataclass(frozen=True, slots=True)
class SizedCycle:
    """`gap`: what other amounts might bring more at most, 0 unless the search was cut off."""

    legs: tuple[SizedCycleLeg, ...]
    gap: BoundedDecimal

    @property
    def given(self) -> Decimal:
        return self.legs[0].gives

    @property
    def received(self) -> Decimal:
        return self.legs[-1].brings

    @property
    def profit(self) -> Decimal:
        """Return the gain in the first leg's currency, dust not counted."""
        return EXACT.subtract(self.received, self.given)

    @property
    def net_bps(self) -> float:
        return float(Fraction(self.profit) / Fraction(self.given) * 10_000)


def size_cycle(sides: Sequence[SizingSide], bounds: CycleBounds) -> SizedCycle | CycleRejection:
    """Return the amounts of most worth, of equal ones the first that is found; each side is what its leg meets, best
    level first, in the order of the legs. `free` of a side bounds what its order may hold; None: it does not."""
    if not all(any(level.amount > ZERO for level in side.levels) for side in sides):
        return "too_small"
    found = _best(sides, bounds)
    if isinstance(found, SizedCycle):
        return found
    rich = [replace(side, free=None) for side in sides]
    unbounded = _best(rich, replace(bounds, most_given=None))
    if not isinstance(unbounded, SizedCycle):
        return unbounded
    return "insufficient_balance" if isinstance(_best(rich, bounds), SizedCycle) else "limit_reached"


def _best(sides: Sequence[SizingSide], bounds: CycleBounds) -> SizedCycle | CycleRejection:
    lots = [_lots(side, bounds, bounds.most_given if number == 0 else None) for number, side in enumerate(sides)]
    if any(one.most < one.least for one in lots):
        return "too_small"
    search = _Search(cycle_grid(sides, lots), Fraction(bounds.least_bps) / Fraction(BPS), bounds.most_tried)
    best = search.best()
    if best is None:
        return "too_small"
    amounts, worth, gap = best
    sized = _sized(sides, search.grid, amounts, bounds.slack_bps, gap)
    pays = worth >= 0 and (sized.profit > ZERO or bounds.least_bps < ZERO)
    return sized if pays else "below_threshold"


def _lots(side: SizingSide, bounds: CycleBounds, most_given: Decimal | None) -> LotBounds:
    """Return the fewest lots that the exchange takes, at the lowest price that the order may carry, and the most that
    the book shows and can be held."""
    lot, buys = Fraction(side.market.lot_step), side.side == "buy"
    lowest = side.limit(side.levels[0 if buys else -1].price, bounds.slack_bps)
    least = Fraction(minimum_order(side.market, lowest)) / lot
    most = sum((Fraction(level.amount) for level in side.levels), Fraction(0))
    for budget in (side.free, most_given):
        if budget is not None:
            most = min(most, _affordable(side, budget, bounds.slack_bps))
    return LotBounds(int(least), int(most / lot))


def _affordable(side: SizingSide, budget: Decimal, slack_bps: float) -> Fraction:
    """Return the most base that `budget` can hold an order for, all of it at the limit of the worst level reached."""
    money, shown = Fraction(max(budget, ZERO)), Fraction(0)
    for level in side.levels:
        _, per_unit = hold_of(side.market, side.side, side.fee_rate, side.limit(level.price, slack_bps))
        most = money / Fraction(per_unit)
        if most < shown + Fraction(level.amount):
            return max(most, shown)
        shown += Fraction(level.amount)
    return shown


@dataclass(frozen=True)
class _Search:
    """Looks for the best lots of one leg, from which those of all others follow."""

    grid: CycleGrid
    least: Fraction
    """The share of what is given that it has to bring beyond that."""
    most_tried: int

    def best(self) -> tuple[tuple[int, ...], Fraction, Fraction] | None:
        """Return the lots of each leg, their worth, and what others might be worth more at most, in units of the first
        leg's money; None if no lots can be traded."""
        low, high = self._range()
        if low > high:
            return None
        top = self._top(low, high)
        best, left_open = (self._worth(top), top), Fraction(0)
        for numbers in (range(top - 1, low - 1, -1), range(top + 1, high + 1)):
            best, bound = self._improved(numbers, best)
            left_open = max(left_open, bound)
        worth, at = Fraction(best[0], self.least.denominator), best[1]
        return self._amounts(at), worth, max(left_open - worth, Fraction(0)) if left_open else Fraction(0)

    def _improved(self, numbers: range, best: tuple[int, int]) -> tuple[tuple[int, int], Fraction]:
        """Return the best worth and its lots as far as any of `numbers`, which lead away from the top, may be better;
        and the bound of those that were not tried, 0 if none may be."""
        for tried, lots in enumerate(numbers):
            is_last = tried == self.most_tried
            if is_last or tried % LOOKED_UP_EVERY == 0:
                bound, over = self._bound(lots)
                if bound <= best[0] * over:
                    break
                if is_last:
                    return best, Fraction(bound, over * self.least.denominator)
            worth = self._worth(lots)
            if worth > best[0]:
                best = worth, lots
        return best, Fraction(0)

    @cached_property
    def pivot(self) -> int:
        """Return the leg of the fewest lots: those of the others are finer, and follow."""
        legs = self.grid.legs
        lots = [legs[0].most]
        for leg in range(1, len(legs)):
            lots.append(legs[leg].most_lots(legs[leg - 1].received(lots[-1])))
        return lots.index(min(lots))

    def _range(self) -> tuple[int, int]:
        """Return the fewest and the most lots of the pivot that all other legs can follow."""
        leg = self.grid.legs[self.pivot]
        low, high = leg.least, leg.most
        if low > high:
            return low, high
        if self._before(high) is None:
            # below `low` what legs before it have to bring is within what the least lots of them bring
            good, bad = low - 1, high
            while bad - good > 1:
                middle = (good + bad) // 2
                good, bad = (good, middle) if self._before(middle) is None else (middle, bad)
            high = good
        if self._after(low) is None:
            bad, good = low, high + 1
            while good - bad > 1:
                middle = (good + bad) // 2
                bad, good = (middle, good) if self._after(middle) is None else (bad, middle)
            low = good
        return low, high

    def _before(self, lots: int) -> list[int] | None:
        """Return the fewest lots of each leg before the pivot, the first one first."""
        legs, found = self.grid.legs, [lots]
        for leg in range(self.pivot - 1, -1, -1):
            fewest = legs[leg].least_lots(legs[leg + 1].spent(found[-1]))
            if fewest is None:
                return None
            found.append(fewest)
        return found[:0:-1]

    def _after(self, lots: int) -> list[int] | None:
        """Return the most lots of each leg behind the pivot."""
        legs, found = self.grid.legs, [lots]
        for leg in range(self.pivot + 1, len(legs)):
            most = legs[leg].most_lots(legs[leg - 1].received(found[-1]))
            if most < legs[leg].least:
                return None
            found.append(most)
        return found[1:]

    def _amounts(self, lots: int) -> tuple[int, ...]:
        before, after = self._before(lots), self._after(lots)
        if before is None or after is None:
            raise ValueError(f"{lots} lots of leg {self.pivot} cannot be followed by the others")
        return *before, lots, *after

    def _worth(self, lots: int) -> int:
        """Return the worth times the denominator of `least`: whole numbers are the fastest."""
        amounts, legs = self._amounts(lots), self.grid.legs
        given, received = legs[0].spent(amounts[0]), legs[-1].received(amounts[-1])
        return received * self.least.denominator - given * (self.least.denominator + self.least.numerator)

    def _bound(self, lots: int) -> Ratio:
        """Return the worth without lots, as `_worth` counts it: concave, and nowhere below it."""
        legs, least = self.grid.legs, self.least
        given, received = (legs[self.pivot].spent(lots), 1), (legs[self.pivot].received(lots), 1)
        for leg in range(self.pivot - 1, -1, -1):
            given = legs[leg].bound_spent(given)
        for leg in range(self.pivot + 1, len(legs)):
            received = legs[leg].bound_received(received)
        returned = received[0] * least.denominator * given[1]
        return returned - given[0] * (least.denominator + least.numerator) * received[1], given[1] * received[1]

    def _top(self, low: int, high: int) -> int:
        """Return the fewest lots of the highest bound."""
        while low < high:
            middle = (low + high) // 2
            (here, over), (further, over_further) = self._bound(middle), self._bound(middle + 1)
            low, high = (middle + 1, high) if further * over > here * over_further else (low, middle)
        return low


def _sized(
    sides: Sequence[SizingSide], grid: CycleGrid, amounts: Sequence[int], slack_bps: float, gap: Fraction
) -> SizedCycle:
    legs: list[SizedCycleLeg] = []
    last = len(sides) - 1
    for number, (side, leg, lots) in enumerate(zip(sides, grid.legs, amounts, strict=True)):
        following = (number + 1) % len(sides)
        amount = EXACT.multiply(decimal_of_whole(lots), side.market.lot_step)
        brings = leg.received(lots)
        dust = 0 if number == last else brings - grid.legs[following].spent(amounts[following])
        worst = _price_reached(side, amount)
        limit = side.limit(worst, slack_bps)
        currency, per_unit = hold_of(side.market, side.side, side.fee_rate, limit)
        legs.append(
            SizedCycleLeg(
                Amount(amount),
                worst,
                limit,
                gives=grid.money(leg.spent(lots), number),
                brings=grid.money(brings, following),
                dust=grid.money(dust, following),
                hold_currency=currency,
                hold=EXACT.multiply(amount, per_unit),
                displayed=displayed_amount(side.side, side.levels, limit),
            )
        )
    return SizedCycle(tuple(legs), grid.money(-(-gap.numerator // gap.denominator), 0))


def _price_reached(side: SizingSide, amount: Decimal) -> Price:
    """Return the price of the last level that an order of `amount` takes from."""
    shown = ZERO
    for level in side.levels:
        shown = EXACT.add(shown, level.amount)
        if shown >= amount:
            return level.price
    raise LookupError(f"the book shows less than {amount}")
