"""The real exchanges' rate limits on the simulated ones, with the same answers to too many requests.

The weights are written here a second time, from the exchanges' documents and not from our own client, so that an error
in one of the two is noticed. Binance counts for itself, by the weight of each endpoint, and Kraken its orders.
"""

from collections.abc import Awaitable, Callable, Mapping
from decimal import Decimal

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from exchanges.rate_counters import Limit, Used, counter, window
from market.money import decimal_of
from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.matching.order_records import RequestRejectedError
from simulators.web.exchange_gateway import REJECTION

_LIMITS: Mapping[str, Mapping[str, Limit]] = {
    # https://docs.cdp.coinbase.com/exchange/rest-api/rate-limits
    "coinbaseexchange": {"Public": counter(15, "10"), "Private": counter(30, "15"), "fills": counter(20, "10")},
    # https://www.bitstamp.net/api/, Request limits
    "bitstamp": {"second": window(400, 1), "ten minutes": window(10_000, 600)},
    # https://lightning.bitflyer.com/docs, API Limits
    "bitflyer": {
        "address": window(500, 300),
        "private": window(500, 300),
        "orders": window(300, 300),
        "small orders": window(100, 60),
    },
    # https://docs.kraken.com/exchange/guides/rest/ratelimits, tier Intermediate
    "kraken": {"public": counter(15, "1"), "private": counter(20, "0.5")},
}
_ORDERS_OF_BITFLYER = ("/v1/me/sendchildorder", "/v1/me/sendparentorder", "/v1/me/cancelallchildorders")
_SMALL = Decimal("0.1")
_BY_THE_ENGINE = ("AddOrder", "AddOrderBatch", "EditOrder", "AmendOrder", "CancelOrder", "CancelOrderBatch")
"""Kraken's calls that are counted elsewhere: `simulators/kraken/limits.py`."""
_HISTORIES_OF_KRAKEN = ("Ledgers", "QueryLedgers", "TradesHistory")

_HARDENED_AFTER = 10
"""Answers of 429 in a row after which Binance bans: it says that it does, not after how many."""
_BAN_SECONDS = 120
"""Its shortest: https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits"""

Counts = Callable[[web.Request, str], Awaitable[Mapping[str, int]]]
"""Weights of a request, by its path below the exchange's own name: limit → weight."""


class RateGuard:
    """The middleware of one exchange; it runs before its application, after the faults."""

    def __init__(self, exchange: str, clock: Clock) -> None:
        self._exchange = exchange
        self._clock = clock
        self._used: dict[str, Used] = {}
        self._rejected = 0
        self._banned_until = 0

    def install_on(self, application: web.Application) -> None:
        application.middlewares.insert(0, self._middleware())

    def _middleware(self) -> Middleware:
        @web.middleware
        async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
            if request.headers.get("Upgrade", "").lower() == "websocket":
                return await handler(request)
            if self._exchange not in _COUNTS:
                return await self._answer_or_ban(request, handler)
            path = request.path.removeprefix(f"/{self._exchange}")
            over = self._over(await _COUNTS[self._exchange](request, path))
            if over is not None:
                return request.app[REJECTION](RequestRejectedError("rate_limited", over))
            return await handler(request)

        return guard

    def _over(self, counts: Mapping[str, int]) -> str | None:
        """Return the limit that is exceeded, or None after counting the weights."""
        now = self._clock.now()
        for name, weight in counts.items():
            if self._of(name).left(now) < weight:
                return name
        for name, weight in counts.items():
            self._of(name).add(weight, now)
        return None

    def _of(self, name: str) -> Used:
        if name not in self._used:
            self._used[name] = Used(_LIMITS[self._exchange][name])
        return self._used[name]

    async def _answer_or_ban(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer; a client that continues after 429 is banned and answered by 418."""
        now = self._clock.now()
        if now < self._banned_until:
            return self._ban(request, now)
        response = await handler(request)
        self._rejected = self._rejected + 1 if response.status == 429 else 0
        if self._rejected > _HARDENED_AFTER:
            self._rejected, self._banned_until = 0, now + _BAN_SECONDS * MICROSECONDS
            return self._ban(request, now)
        return response

    def _ban(self, request: web.Request, now: int) -> web.StreamResponse:
        response = request.app[REJECTION](RequestRejectedError("banned", str(self._banned_until // 1_000)))
        response.headers["Retry-After"] = str(-((now - self._banned_until) // MICROSECONDS))
        return response


async def _of_coinbaseexchange(request: web.Request, path: str) -> Mapping[str, int]:
    if "CB-ACCESS-KEY" not in request.headers:
        return {"Public": 1}
    return {"Private": 1, "fills": 1} if path.startswith("/fills") else {"Private": 1}


async def _of_bitstamp(_request: web.Request, _path: str) -> Mapping[str, int]:
    return {"second": 1, "ten minutes": 1}


async def _of_bitflyer(request: web.Request, path: str) -> Mapping[str, int]:
    if not path.startswith("/v1/me/"):
        return {"address": 1}
    counts = {"address": 1, "private": 1}
    if path in _ORDERS_OF_BITFLYER:
        counts["orders"] = 1
    if path == _ORDERS_OF_BITFLYER[0] and _is_small(await request.read()):
        counts["small orders"] = 1
    return counts


def _is_small(body: bytes) -> bool:
    try:
        return decimal_of(orjson.loads(body)["size"]) <= _SMALL
    except (ValueError, KeyError, TypeError):
        return False


async def _of_kraken(_request: web.Request, path: str) -> Mapping[str, int]:
    name = path.rpartition("/")[2]
    if not path.startswith("/0/private/"):
        return {"public": 1}
    if name in _BY_THE_ENGINE:
        return {}
    return {"private": 2 if name in _HISTORIES_OF_KRAKEN else 1}


_COUNTS: Mapping[str, Counts] = {
    "coinbaseexchange": _of_coinbaseexchange,
    "bitstamp": _of_bitstamp,
    "bitflyer": _of_bitflyer,
    "kraken": _of_kraken,
}
