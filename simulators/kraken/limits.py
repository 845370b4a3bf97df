"""Kraken's rate limits of REST, and its rate counter of the trading engine: one for each pair, for orders over REST
and WebSocket alike.

https://docs.kraken.com/exchange/guides/general/ratelimits, read in November 2026. It does not say whether a
cancellation is refused while the counter is full: here it is accepted, and counts.
"""

from collections.abc import Mapping

from aiohttp import web

from exchanges.rate_counters import Used, counter
from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.matching.order_records import RequestRejectedError, SimulatedOrder
from simulators.web.exchange_gateway import RateRules

MOST = 125
"""Limit of the tier Intermediate, as is the decay."""
_DECAY = "2.34"
_BY_THE_ENGINE = ("AddOrder", "AddOrderBatch", "EditOrder", "AmendOrder", "CancelOrder", "CancelOrderBatch")
"""Calls that the engine counts, and REST does not."""
_HISTORIES = ("Ledgers", "QueryLedgers", "TradesHistory")

Penalties = tuple[tuple[int, int], ...]
"""(seconds, points): what is added if the order is younger than so many seconds."""
CANCELLED: Penalties = ((5, 8), (10, 6), (15, 5), (45, 4), (90, 2), (300, 1))
EDITED: Penalties = ((5, 6), (10, 5), (15, 4), (45, 2), (90, 1))
AMENDED: Penalties = ((5, 3), (10, 2), (15, 1))


class KrakenEngineLimits:
    """What one account has used of it. `is_lifted`: it goes on counting, and refuses nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._used: dict[str, Used] = {}
        self._amended_at: dict[str, int] = {}
        """Order → microseconds."""
        self.is_lifted = False

    def take(self, symbol: str, points: int = 1) -> None:
        """Count the cost of a request for that market whatever comes of it. Raises RequestRejectedError if it is too
        much."""
        used, now = self._of(symbol), self._clock.now()
        if used.left(now) < points and not self.is_lifted:
            raise RequestRejectedError("rate_limited", "engine")
        used.add(points, now)

    def penalize(self, order: SimulatedOrder, penalties: Penalties) -> None:
        """Count the additional cost of changing an order, by the time since it was placed or amended."""
        now = self._clock.now()
        age = now - max(order.placed_at, self._amended_at.get(order.order_id, 0))
        points = next((points for seconds, points in penalties if age < seconds * MICROSECONDS), 0)
        self._of(order.symbol).add(points, now)
        if penalties is AMENDED:
            self._amended_at[order.order_id] = now
        else:
            self._amended_at.pop(order.order_id, None)

    def level(self, symbol: str) -> int:
        """Return the count now, rounded down."""
        return int(self._of(symbol).level(self._clock.now()))

    def _of(self, symbol: str) -> Used:
        if symbol not in self._used:
            self._used[symbol] = Used(counter(MOST, _DECAY))
        return self._used[symbol]


async def _count(_request: web.Request, path: str) -> Mapping[str, int]:
    name = path.rpartition("/")[2]
    if not path.startswith("/0/private/"):
        return {"public": 1}
    if name in _BY_THE_ENGINE:
        return {}
    return {"private": 2 if name in _HISTORIES else 1}


# https://docs.kraken.com/exchange/guides/rest/ratelimits, tier Intermediate
RATES = RateRules({"public": counter(15, "1"), "private": counter(20, "0.5")}, _count)
