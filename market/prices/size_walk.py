"""What one order of a size would get out of one side of a book, level by level. Pure and exact."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from market.money import BPS, EXACT, ZERO
from market.prices.quotes import Level

MEAN_STEP = Decimal("0.00000001")
BPS_STEP = Decimal("0.0001")


@dataclass(frozen=True, slots=True)
class SizeWalk:
    """`filled` of `amount` (base), for `cost` (quote currency, before fees); `best` and `worst` are the first and last
    price reached, None if the side is empty."""

    amount: Decimal
    filled: Decimal
    cost: Decimal
    best: Decimal | None
    worst: Decimal | None

    @property
    def mean_price(self) -> Decimal | None:
        """None until something fills."""
        return (self.cost / self.filled).quantize(MEAN_STEP) if self.filled else None

    @property
    def slippage_bps(self) -> Decimal | None:
        """How far the mean price is from the best, in bps, never negative; None until something fills."""
        if self.best is None or not self.filled:
            return None
        mean = self.cost / self.filled
        return (abs(mean - self.best) * BPS / self.best).quantize(BPS_STEP)


def walked(levels: Iterable[Level], amount: Decimal) -> SizeWalk:
    """Return the walk of `amount` through `levels`, best first."""
    filled = cost = ZERO
    best = worst = None
    for level in levels:
        best = level.price if best is None else best
        taken = min(level.amount, amount - filled)
        if taken <= 0:
            break
        filled, worst = EXACT.add(filled, taken), level.price
        cost = EXACT.fma(taken, level.price, cost)
    return SizeWalk(amount, filled, cost, best, worst)
