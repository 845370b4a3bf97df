"""Binance's rate limits: request weight by the minute, new orders in ten seconds and by the day.

https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits, read in November 2026. Orders that fill are
not taken off the count of new orders, as they are there: here no bot may place more than there.
"""

from dataclasses import dataclass

from market.time_units import MICROSECONDS
from simulators.matching.order_records import RequestRejectedError

_SECONDS = {"SECOND": 1, "MINUTE": 60, "DAY": 86_400}
WEIGHT, ORDERS = "REQUEST_WEIGHT", "ORDERS"
_RAW_REQUESTS = {"rateLimitType": "RAW_REQUESTS", "interval": "MINUTE", "intervalNum": 5, "limit": 61_000}
"""Never reached: 30,000 requests of the smallest weight use up that of five minutes."""


@dataclass(slots=True)
class Allowance:
    """A limit per window of some units; windows start with the clock, not with the first request."""

    kind: str
    unit: str
    units: int
    limit: int
    _window: int = 0
    _used: int = 0

    @property
    def _micros(self) -> int:
        return self.units * _SECONDS[self.unit] * MICROSECONDS

    def take(self, amount: int, now: int) -> int:
        """Count a use, also beyond the limit. Returns how much is used now."""
        self._used = self.used(now) + amount
        self._window = now // self._micros
        return self._used

    def used(self, now: int) -> int:
        return self._used if now // self._micros == self._window else 0

    def seconds_left(self, now: int) -> int:
        """Return the seconds until the next window begins, rounded up."""
        return -((now % self._micros - self._micros) // MICROSECONDS)

    @property
    def row(self) -> dict[str, object]:
        return {"rateLimitType": self.kind, "interval": self.unit, "intervalNum": self.units, "limit": self.limit}

    @property
    def suffix(self) -> str:
        """Return the suffix of response headers: 10S, 1M, 1D."""
        return f"{self.units}{self.unit[0]}"


class BinanceLimits:
    """What one account has used. `is_lifted`: it goes on counting, and refuses nothing."""

    def __init__(self) -> None:
        self._weight = Allowance(WEIGHT, "MINUTE", 1, 6_000)
        self._orders = (Allowance(ORDERS, "SECOND", 10, 100), Allowance(ORDERS, "DAY", 1, 200_000))
        self._of_paths: dict[str, Allowance] = {}
        self.is_lifted = False

    def take_weight(self, weight: int, now: int) -> dict[str, str]:
        """Return what was used until now, as headers. Raises RequestRejectedError if it is too much."""
        used = self._weight.take(weight, now)
        if used > self._weight.limit and not self.is_lifted:
            raise RequestRejectedError("rate_limited")
        return {"X-MBX-USED-WEIGHT": str(used), f"X-MBX-USED-WEIGHT-{self._weight.suffix}": str(used)}

    def take_path(self, path: str, weight: int, now: int) -> dict[str, str]:
        """Count in the path's own limit of the account, as `take_weight` does: SAPI, General Info, Limits."""
        allowance = self._of_paths.setdefault(path, Allowance("UID", "MINUTE", 1, 180_000))
        used = allowance.take(weight, now)
        if used > allowance.limit and not self.is_lifted:
            raise RequestRejectedError("rate_limited")
        return {f"X-SAPI-USED-UID-WEIGHT-{allowance.suffix}": str(used)}

    def take_order(self, now: int) -> dict[str, str]:
        """Count an order, as `take_weight` does; the detail of the rejection is the limit that is exceeded."""
        counts = [(allowance, allowance.take(1, now)) for allowance in self._orders]
        for allowance, used in counts:
            if used > allowance.limit and not self.is_lifted:
                raise RequestRejectedError(
                    "rate_limited", f"{allowance.limit} orders per {allowance.units} {allowance.unit}"
                )
        return {f"X-MBX-ORDER-COUNT-{allowance.suffix}": str(used) for allowance, used in counts}

    def seconds_left(self, detail: str, now: int) -> int:
        """Return the seconds until a request that was rejected with this detail may come again."""
        exceeded = [row for row in self._orders if detail == f"{row.limit} orders per {row.units} {row.unit}"]
        return (exceeded or [self._weight])[0].seconds_left(now)

    def rows(self) -> list[dict[str, object]]:
        """Return the limits as exchangeInfo lists them."""
        return [self._weight.row, *(allowance.row for allowance in self._orders), _RAW_REQUESTS]

    def order_counts(self, now: int) -> list[dict[str, object]]:
        return [{**allowance.row, "count": allowance.used(now)} for allowance in self._orders]

    def counts(self, now: int, *, is_order: bool) -> list[dict[str, object]]:
        """Return the counts as the WebSocket API shows them with each answer."""
        return [
            *(self.order_counts(now) if is_order else ()),
            {**self._weight.row, "count": self._weight.used(now)},
        ]
