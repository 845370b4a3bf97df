"""The market maker's ladder and the crowd's market orders of one listing, from a seed."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random

from market.instruments.orders import Side
from simulators.exchange_terms import Quoting
from simulators.matching.listings import Listing

LEVELS = 50
"""Levels of each side."""
_NEAR = 12
"""Levels that the storm's own numbers draw; those beyond have separate numbers, which leave the storm as it was."""
_FAR_REDRAWN = 0.1
"""Share of the steps at which one of a side's far levels changes its amount."""
# Amounts are drawn in steps that people use, so that only eaten levels leave dust.
_GRAIN = Decimal("0.00001")


@dataclass(frozen=True, slots=True)
class LadderShape:
    """How a market maker quotes one market; spreads in bps, amounts in base currency."""

    half_spread: float
    level_amount: float
    """Typical amount: half of it at the best price."""
    taker_amount: float
    """Median of the crowd's market orders."""
    grid: float = 0.9
    """Distance between two of the deeper levels."""
    growth: float = 0.25
    """Growth of a level's amount from each level to the next; the first has half."""
    is_wandering: bool = True
    """Whether the spread wanders a little at every step, as it does in a storm."""
    requoted: float = 0.0
    """Share of the steps at which spread and mid are drawn again; between them they stay."""
    half_spread_deviation: float = 0.0
    """Standard deviation of its logarithm, if it is drawn again."""
    noise: float = 0.0
    """Standard deviation of the quoted mid around the given one."""


STORM_SHAPE = LadderShape(half_spread=1.0, level_amount=0.25, taker_amount=0.03)
_FX_SHAPE = LadderShape(half_spread=0.15, level_amount=20_000.0, taker_amount=2_000.0, grid=0.3, is_wandering=False)
_BITCOIN_DOLLARS = 60_000.0
_TAKER_DOLLARS = 1_800.0
_GROWTH = 0.05
_REQUOTED = 0.06
"""About one and a half times a second."""


def storm_shape(dollars: float) -> LadderShape:
    """Return the shape for an asset of that price, with depth of the same worth as bitcoin's."""
    scale = _BITCOIN_DOLLARS / dollars
    return replace(
        STORM_SHAPE, level_amount=STORM_SHAPE.level_amount * scale, taker_amount=STORM_SHAPE.taker_amount * scale
    )


def calibrated_shape(terms: Quoting, dollars: float) -> LadderShape:
    """Return the shape for an asset of that price."""
    return LadderShape(
        half_spread=terms.half_spread,
        level_amount=terms.level_dollars / dollars,
        taker_amount=_TAKER_DOLLARS / dollars,
        growth=_GROWTH,
        is_wandering=False,
        requoted=_REQUOTED,
        half_spread_deviation=terms.half_spread_deviation,
        noise=terms.noise,
    )


@dataclass(frozen=True, slots=True)
class _FarLevels:
    """One side's levels beyond the near ones: `lots` by ticks, best first."""

    first: int
    """The first level by the ladder's grid when they were built."""
    lots: dict[int, int]


class Ladder:
    """Fifty levels a side: the best one follows the mid tick by tick, deeper ones stand on a coarse grid and
    stay.

    The shape of an FX market is always the same. A level that comes near gets another amount.
    """

    def __init__(self, listing: Listing, seed: int, shape: LadderShape = STORM_SHAPE) -> None:
        market = listing.market
        self._random = Random(f"{seed}:{market.exchange}:{market.symbol}")  # noqa: S311 – prices, not secrets
        self._tick = float(market.tick_size)
        self._lots_a_grain = max(1, listing.lots(_GRAIN))
        self._grains_a_unit = listing.lots(Decimal(1)) / self._lots_a_grain
        self._shape = _FX_SHAPE if market.is_fx else shape
        self._grid = max(1, round(listing.start_price * self._shape.grid * 1e-4 / self._tick))
        self._half_spread = self._shape.half_spread
        self._offset = 0.0
        self._best_lots = {side: self._drawn_lots(0) for side in ("buy", "sell")}
        self._lots: dict[Side, dict[int, int]] = {"buy": {}, "sell": {}}
        self._far_random = Random(f"{seed}:{market.exchange}:{market.symbol}:far")  # noqa: S311
        self._far: dict[Side, _FarLevels] = {}

    def levels(self, mid: float) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return bids and asks as (ticks, lots), best first, never crossed."""
        random = self._random
        self._move_spread()
        mid *= 1 + self._offset * 1e-4
        half = mid * self._half_spread * 1e-4
        bid = math.floor((mid - half) / self._tick)
        ask = max(bid + 1, math.ceil((mid + half) / self._tick))
        for side in ("buy", "sell"):
            if random.random() < 0.15:
                self._best_lots[side] = self._drawn_lots(0)
        below = (bid - 1) // self._grid
        above = ask // self._grid + 1
        near_bids, near_asks = self._near("buy", below, -1), self._near("sell", above, 1)
        bids = [(bid, self._best_lots["buy"]), *near_bids, *self._beyond("buy", below, -1)]
        asks = [(ask, self._best_lots["sell"]), *near_asks, *self._beyond("sell", above, 1)]
        self._lots = {"buy": dict(near_bids), "sell": dict(near_asks)}
        return bids, asks

    def taker(self, seconds: float, per_second: float = 1.0) -> tuple[Side, int] | None:
        """Return side and lots of a market order of the crowd within this step, if any."""
        random = self._random
        if random.random() >= per_second * seconds:
            return None
        lots = self._grained(random.lognormvariate(math.log(self._shape.taker_amount), 1.0))
        return ("buy" if random.random() < 0.5 else "sell"), lots

    def _move_spread(self) -> None:
        random, shape = self._random, self._shape
        if shape.is_wandering:
            self._half_spread += random.gauss(0, 0.05) - 0.05 * (self._half_spread - shape.half_spread)
            self._half_spread = min(2.0, max(0.5, self._half_spread))
        elif shape.requoted and random.random() < shape.requoted:
            self._half_spread = shape.half_spread * random.lognormvariate(0, shape.half_spread_deviation)
            self._offset = random.gauss(0, shape.noise)

    def _near(self, side: Side, first: int, step: int) -> list[tuple[int, int]]:
        redrawn, known = self._random.randrange(_NEAR * 2), self._lots[side]
        levels = []
        for depth in range(1, _NEAR):
            ticks = (first + step * (depth - 1)) * self._grid
            lots = known.get(ticks, 0)
            if not lots or depth == redrawn:
                lots = self._drawn_lots(depth)
            levels.append((ticks, lots))
        return levels

    def _beyond(self, side: Side, first: int, step: int) -> Iterable[tuple[int, int]]:
        """Return the far levels, built again only if they have moved: most steps move nothing there."""
        far, random = self._far.get(side), self._far_random
        redrawn = random.randrange(_NEAR, LEVELS) if random.random() < _FAR_REDRAWN else None
        if far is None or far.first != first:
            known, near = {} if far is None else far.lots, self._lots[side]
            # a level that was near keeps its amount
            levels = [(first + step * (depth - 1)) * self._grid for depth in range(_NEAR, LEVELS)]
            lots = {
                ticks: known.get(ticks) or near.get(ticks) or self._drawn_lots(depth, random)
                for depth, ticks in enumerate(levels, _NEAR)
            }
            far = self._far[side] = _FarLevels(first, lots)
        if redrawn is not None:
            far.lots[(first + step * (redrawn - 1)) * self._grid] = self._drawn_lots(redrawn, random)
        return far.lots.items()

    def _drawn_lots(self, depth: int, random: Random | None = None) -> int:
        typical = self._shape.level_amount * (0.5 + self._shape.growth * depth)
        return self._grained((random or self._random).lognormvariate(math.log(typical), 0.9))

    def _grained(self, amount: float) -> int:
        return max(1, round(amount * self._grains_a_unit)) * self._lots_a_grain
