"""Bybit's rate limits: of an account by the second, each path for itself, and of an address in five seconds.

https://bybit-exchange.github.io/docs/v5/rate-limit, read in November 2026. How long exactly an address stays shut out
is not said: "at least 10 minutes".
"""

from collections.abc import Mapping

from exchanges.rate_counters import Used, window
from market.time_units import MICROSECONDS
from simulators.matching.order_records import RequestRejectedError

_OF_AN_ADDRESS = window(600, 5)
_BAN = 600 * MICROSECONDS
_A_SECOND: Mapping[str, int] = {
    "/v5/order/create": 20,
    "/v5/order/amend": 10,
    "/v5/order/cancel": 20,
    "/v5/order/cancel-all": 20,
    "/v5/order/realtime": 50,
    "/v5/order/history": 50,
    "/v5/execution/list": 50,
    "/v5/account/wallet-balance": 50,
    "/v5/account/info": 50,
    "/v5/account/fee-rate": 5,
    "/v5/asset/coin/query-info": 5,
    # 100 and 300 a minute there
    "/v5/asset/deposit/query-record": 5,
    "/v5/asset/withdraw/query-record": 5,
    "/v5/user/query-api": 10,
}


class BybitLimits:
    """What one account has used. `is_lifted`: it goes on counting, and refuses nothing."""

    def __init__(self) -> None:
        self.is_lifted = False
        self._address = Used(_OF_AN_ADDRESS)
        self._banned_until = 0
        self._used = {path: Used(window(most, 1)) for path, most in _A_SECOND.items()}

    def take_address(self, now: int) -> None:
        """Count a request of the address. Raises RequestRejectedError if it is shut out."""
        if self.is_lifted:
            return
        if now >= self._banned_until and self._address.left(now) < 1:
            self._banned_until = now + _BAN
        if now < self._banned_until:
            raise RequestRejectedError("banned")
        self._address.add(1, now)

    def take(self, path: str, now: int) -> dict[str, str]:
        """Count a request of the account. Returns the headers of its answer; raises RequestRejectedError if it is one
        too many."""
        used = self._used[path]
        if used.left(now) < 1 and not self.is_lifted:
            raise RequestRejectedError("rate_limited", path)
        used.add(1, now)
        return self.headers(path, now)

    def headers(self, path: str, now: int) -> dict[str, str]:
        """Return what the account may still ask within this second."""
        used = self._used[path]
        waiting = 0 if used.left(now) >= 1 else round(used.seconds_until(1, now) * 1_000)
        return {
            "X-Bapi-Limit": str(used.limit.maximum),
            "X-Bapi-Limit-Status": str(max(0, int(used.left(now)))),
            "X-Bapi-Limit-Reset-Timestamp": str(now // 1_000 + waiting),
        }
