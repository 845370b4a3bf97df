"""The market maker's ladder and the crowd's market orders of one listing, from a seed."""

import math
from decimal import Decimal
from random import Random

from market.instruments.orders import Side
from simulators.matching.listings import Listing

LEVELS = 12
# Amounts are drawn in steps that people use, so that dust comes from eaten levels alone.
_GRAIN = Decimal("0.00001")


class Ladder:
    """Twelve levels a side: the best one follows the mid tick by tick, deeper ones stand on a coarse grid and stay."""

    def __init__(self, listing: Listing, seed: int) -> None:
        market = listing.market
        self._random = Random(f"{seed}:{market.exchange}:{market.symbol}")  # noqa: S311 – prices, not secrets
        self._tick = float(market.tick_size)
        self._lots_a_grain = max(1, listing.lots(_GRAIN))
        self._grains_a_unit = listing.lots(Decimal(1)) / self._lots_a_grain
        self._grid = max(1, round(listing.start_price * (0.3 if market.is_fx else 0.9) * 1e-4 / self._tick))
        self._typical = 20_000.0 if market.is_fx else 0.25
        self._taker_amount = 2_000.0 if market.is_fx else 0.03
        self._half_spread = 0.15 if market.is_fx else 1.0
        self._best_lots = {side: self._drawn_lots(0) for side in ("buy", "sell")}
        self._lots: dict[tuple[Side, int], int] = {}

    def levels(self, mid: float) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Bids and asks as (ticks, lots), best first, never crossed."""
        random = self._random
        if self._typical < 1_000:
            self._half_spread += random.gauss(0, 0.05) - 0.05 * (self._half_spread - 1.0)
            self._half_spread = min(2.0, max(0.5, self._half_spread))
        half = mid * self._half_spread * 1e-4
        bid = math.floor((mid - half) / self._tick)
        ask = max(bid + 1, math.ceil((mid + half) / self._tick))
        for side in ("buy", "sell"):
            if random.random() < 0.15:
                self._best_lots[side] = self._drawn_lots(0)
        below = (bid - 1) // self._grid
        above = ask // self._grid + 1
        bids = [(bid, self._best_lots["buy"]), *self._deeper("buy", below, -1)]
        asks = [(ask, self._best_lots["sell"]), *self._deeper("sell", above, 1)]
        self._lots = {
            **{("buy", ticks): lots for ticks, lots in bids[1:]},
            **{("sell", ticks): lots for ticks, lots in asks[1:]},
        }
        return bids, asks

    def taker(self, seconds: float, per_second: float = 1.0) -> tuple[Side, int] | None:
        """Side and lots of a market order of the crowd within this step, if any."""
        random = self._random
        if random.random() >= per_second * seconds:
            return None
        lots = self._grained(random.lognormvariate(math.log(self._taker_amount), 1.0))
        return ("buy" if random.random() < 0.5 else "sell"), lots

    def _deeper(self, side: Side, first: int, step: int) -> list[tuple[int, int]]:
        redrawn = self._random.randrange(LEVELS * 2)
        levels = []
        for depth in range(1, LEVELS):
            ticks = (first + step * (depth - 1)) * self._grid
            lots = self._lots.get((side, ticks), 0)
            if not lots or depth == redrawn:
                lots = self._drawn_lots(depth)
            levels.append((ticks, lots))
        return levels

    def _drawn_lots(self, depth: int) -> int:
        typical = self._typical * (0.5 + 0.25 * depth)
        return self._grained(self._random.lognormvariate(math.log(typical), 0.9))

    def _grained(self, amount: float) -> int:
        return max(1, round(amount * self._grains_a_unit)) * self._lots_a_grain
