"""What one side of a quote shows, in doubles: enough to refuse by, if exact numbers would cost more than they tell."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from operator import gt, lt
from typing import NamedTuple

from market.instruments.orders import Side


class ShownSide(NamedTuple):
    """One side of a quote, in doubles."""

    price: float
    amount: float
    last: float
    """The price of its last level."""
    is_sound: bool
    """Whether the levels are certainly in order, and the first one is the best price with its amount, both above 0."""


def shown_side(side: Side, price: float, amount: float, prices: Sequence[float], *, is_first: bool) -> ShownSide:
    """Return the side with levels at `prices`; `is_first`: whether price and amount are those of the first level."""
    # strictly in order as doubles is strictly in order as decimals, since rounding keeps the order
    rises: Callable[[float, float], bool] = lt if side == "buy" else gt
    is_in_order = all(rises(earlier, later) for earlier, later in pairwise(prices))
    is_sound = is_first and is_in_order and price > 0 and amount > 0
    return ShownSide(price, amount, prices[-1] if prices else price, is_sound)
