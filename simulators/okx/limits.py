"""OKX's limits: public requests by address, private ones by account, those of orders by account and instrument.

Beside each request in https://www.okx.com/docs-v5/en, read in November 2026.
"""

from collections.abc import Mapping

from exchanges.rate_counters import Used, window
from simulators.matching.order_records import RequestRejectedError

_IN_TWO_SECONDS: Mapping[str, int] = {
    "/api/v5/public/time": 10,
    "/api/v5/public/instruments": 20,
    "/api/v5/market/books": 40,
    "/api/v5/market/books-full": 10,
    "/api/v5/market/ticker": 20,
    "/api/v5/market/tickers": 20,
    "/api/v5/market/trades": 100,
    "/api/v5/market/history-trades": 20,
    "/api/v5/market/candles": 40,
    "/api/v5/market/history-candles": 20,
    # one in five seconds there
    "/api/v5/system/status": 1,
    "/api/v5/trade/orders-pending": 60,
    "/api/v5/trade/orders-history": 40,
    "/api/v5/trade/orders-history-archive": 20,
    "/api/v5/trade/fills": 60,
    "/api/v5/trade/fills-history": 10,
    "/api/v5/account/balance": 10,
    "/api/v5/account/config": 5,
    "/api/v5/account/trade-fee": 5,
    "/api/v5/account/instruments": 20,
    # six a second there
    "/api/v5/asset/currencies": 12,
    "/api/v5/asset/balances": 12,
    "/api/v5/asset/deposit-history": 12,
    "/api/v5/asset/withdrawal-history": 12,
}
_BY_INSTRUMENT: Mapping[str, int] = {
    "GET /api/v5/trade/order": 60,
    "POST /api/v5/trade/order": 60,
    "POST /api/v5/trade/cancel-order": 60,
    "POST /api/v5/trade/amend-order": 60,
    # orders, not requests
    "POST /api/v5/trade/batch-orders": 300,
    "POST /api/v5/trade/cancel-batch-orders": 300,
}
"""Of requests that share a path, by method and path."""
_SECONDS = 2


class OkxLimits:
    """What one account, and its address, have used. `is_lifted`: it goes on counting, and refuses nothing."""

    def __init__(self) -> None:
        self.is_lifted = False
        self._used: dict[tuple[str, str], Used] = {}

    def take(self, path: str, now: int) -> None:
        """Count a question. Raises RequestRejectedError if it is one too many."""
        self._take(path, "", _IN_TWO_SECONDS[path], now)

    def take_orders(self, request: str, instruments: list[str], now: int) -> None:
        """Count orders by their instruments; `request`: method and path. Raises RequestRejectedError if they are too
        many."""
        for instrument in instruments:
            self._take(request, instrument, _BY_INSTRUMENT[request], now)

    def _take(self, path: str, instrument: str, most: int, now: int) -> None:
        used = self._used.setdefault((path, instrument), Used(window(most, _SECONDS)))
        if used.left(now) < 1 and not self.is_lifted:
            raise RequestRejectedError("rate_limited")
        used.add(1, now)
