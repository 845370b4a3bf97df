"""A cycle in whole numbers: lots that go in, least units of money that come out, so that nothing is ever rounded.

A leg that buys gives quote currency, more for each further lot; one that sells brings less for each. Money that passes
from one leg to the next counts in one unit on both sides. Beside it stands the same cycle without lots, in fractions:
it brings at least as much at every amount, and is concave, so that it bounds what amounts further away can bring.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import accumulate

from market.decide.sizing import SizingSide
from market.instruments.fees import base_rate, quote_rate
from market.money import EXACT, ZERO, decimal_of_whole

Ratio = tuple[int, int]
"""A number as a fraction that is not reduced, which is several times as fast as one that is; the second is positive."""
ONE = Decimal(1)


@dataclass(frozen=True, slots=True)
class LegGrid:
    """One leg. `ends` and `costs` begin with 0: the base shown down to each level, and the quote currency it takes;
    `prices[n]` holds from `ends[n]` to `ends[n + 1]`. `given` and `kept` turn base or quote currency, fee included,
    into units of money. Orders have `least` to `most` lots."""

    is_buy: bool
    lot: int
    ends: tuple[int, ...]
    costs: tuple[int, ...]
    prices: tuple[int, ...]
    given: int
    kept: int
    least: int
    most: int

    def spent(self, lots: int) -> int:
        """Return what so many lots take."""
        amount = lots * self.lot
        return (self._cost(amount) if self.is_buy else amount) * self.given

    def received(self, lots: int) -> int:
        """Return what so many lots bring."""
        amount = lots * self.lot
        return (amount if self.is_buy else self._cost(amount)) * self.kept

    def most_lots(self, available: int) -> int:
        """Return the most lots that this much money buys, or that can be sold of it; `most` at most."""
        affordable = available // self.given
        if self.is_buy:
            place = bisect_right(self.costs, affordable) - 1
            if place >= len(self.prices):
                affordable = self.ends[-1]
            else:
                affordable = self.ends[place] + (affordable - self.costs[place]) // self.prices[place]
        return min(affordable // self.lot, self.most)

    def least_lots(self, needed: int) -> int | None:
        """Return the fewest lots that bring so much, `least` at least; None if even `most` bring less."""
        amount = -(-needed // self.kept)
        if not self.is_buy:
            if amount > self.costs[-1]:
                return None
            place = max(bisect_left(self.costs, amount) - 1, 0)
            amount = self.ends[place] - (-(amount - self.costs[place]) // self.prices[place])
        lots = max(-(-amount // self.lot), self.least)
        return lots if lots <= self.most else None

    def bound_received(self, available: Ratio) -> Ratio:
        """Return what so much money brings at most, lots aside."""
        number, over = available[0], available[1] * self.given
        if self.is_buy:
            place = bisect_right(self.costs, number // over) - 1
            if place >= len(self.prices):
                number, over = self.ends[-1], 1
            else:
                number += (self.ends[place] * self.prices[place] - self.costs[place]) * over
                over *= self.prices[place]
        most = self.most * self.lot
        if number > most * over:
            number, over = most, 1
        return (number if self.is_buy else self._bound_cost(number, over)) * self.kept, over

    def bound_spent(self, needed: Ratio) -> Ratio:
        """Return what it takes at least to bring so much, lots aside; of what is beyond the book, up to its end."""
        number, over = needed[0], needed[1] * self.kept
        if not self.is_buy:
            place = min(max(bisect_left(self.costs, -(-number // over)) - 1, 0), len(self.prices) - 1)
            number += (self.ends[place] * self.prices[place] - self.costs[place]) * over
            over *= self.prices[place]
        return (self._bound_cost(number, over) if self.is_buy else number) * self.given, over

    def _cost(self, amount: int) -> int:
        place = self._place(amount)
        return self.costs[place] + (amount - self.ends[place]) * self.prices[place]

    def _bound_cost(self, number: int, over: int) -> int:
        """Return what the amount `number` / `over` costs, times `over`."""
        place = self._place(-(-number // over))
        return self.costs[place] * over + (number - self.ends[place] * over) * self.prices[place]

    def _place(self, amount: int) -> int:
        """Return the level that an amount, rounded up to a whole one, ends at."""
        return min(max(bisect_left(self.ends, amount) - 1, 0), len(self.prices) - 1)


@dataclass(frozen=True, slots=True)
class LotBounds:
    """The fewest and the most lots that an order of a leg may have, whatever the other legs do."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class CycleGrid:
    """The legs, and for each currency between two of them the decimal places of its unit: `places[n]` is of what leg n
    gives."""

    legs: tuple[LegGrid, ...]
    places: tuple[int, ...]

    def money(self, units: int, leg: int) -> Decimal:
        """Return units of the currency that this leg gives as money."""
        return EXACT.scaleb(decimal_of_whole(units), -self.places[leg])


def cycle_grid(sides: Sequence[SizingSide], bounds: Sequence[LotBounds]) -> CycleGrid:
    """Return the grid of the legs in their order; every side shows some amount."""
    scales = [_Scale.of(side) for side in sides]
    count = len(scales)
    places = tuple(max(scales[number].given, scales[number - 1].kept) for number in range(count))
    legs = tuple(
        _leg(side, scale, bound, places[number], places[(number + 1) % count])
        for number, (side, scale, bound) in enumerate(zip(sides, scales, bounds, strict=True))
    )
    return CycleGrid(legs, places)


@dataclass(frozen=True, slots=True)
class _Scale:
    """Decimal places: of amounts, of prices, and of what a leg gives and brings, fee included."""

    amount: int
    price: int
    given: int
    kept: int

    @classmethod
    def of(cls, side: SizingSide) -> "_Scale":
        amount = max(_places(side.market.lot_step), *(_places(level.amount) for level in side.levels))
        price = max(_places(level.price) for level in side.levels)
        base, cost = amount, amount + price
        given, kept = (cost, base) if side.side == "buy" else (base, cost)
        times, over = _factors(side)
        return cls(amount, price, given + _places(times), kept + _places(over))


def _factors(side: SizingSide) -> tuple[Decimal, Decimal]:
    """Return what base or cost is multiplied with to be what is given, and what is kept of it, after the fee."""
    base = base_rate(side.market, side.side, side.fee_rate)
    quote = quote_rate(side.market, side.side, side.fee_rate)
    paid, taken = (quote, base) if side.side == "buy" else (base, quote)
    return EXACT.add(ONE, paid), EXACT.subtract(ONE, taken)


def _leg(side: SizingSide, scale: _Scale, bounds: LotBounds, given_places: int, kept_places: int) -> LegGrid:
    base, cost = scale.amount, scale.amount + scale.price
    given, kept = (cost, base) if side.side == "buy" else (base, cost)
    times, over = _factors(side)
    shown = [level for level in side.levels if level.amount > ZERO]
    amounts = [_whole(level.amount, scale.amount) for level in shown]
    prices = tuple(_whole(level.price, scale.price) for level in shown)
    return LegGrid(
        is_buy=side.side == "buy",
        lot=_whole(side.market.lot_step, scale.amount),
        ends=(0, *accumulate(amounts)),
        costs=(0, *accumulate(amount * price for amount, price in zip(amounts, prices, strict=True))),
        prices=prices,
        given=_whole(times, given_places - given),
        kept=_whole(over, kept_places - kept),
        least=bounds.least,
        most=bounds.most,
    )


def _places(number: Decimal) -> int:
    return max(0, -int(number.as_tuple().exponent))


def _whole(number: Decimal, places: int) -> int:
    return int(EXACT.scaleb(number, places))
