"""The real exchanges' rate limits on the simulated ones, with the same answers to too many requests.

The weights are written a second time, in `limits` of each folder, from the exchanges' documents and not from our own
client, so that an error in one of the two is noticed. Binance counts for itself, by the weight of each endpoint.
"""

from collections.abc import Mapping

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from exchanges.rate_counters import Used
from market.time_units import MICROSECONDS
from runtime.clock import Clock
from simulators.matching.order_records import RequestRejectedError
from simulators.web.exchange_gateway import REJECTION, RateRules

_HARDENED_AFTER = 10
"""Answers of 429 in a row after which Binance bans: it says that it does, not after how many."""
_BAN_SECONDS = 120
"""Its shortest: https://developers.binance.com/docs/binance-spot-api-docs/rest-api/limits"""


class RateGuard:
    """The middleware of one exchange; it runs before its application, after the faults."""

    def __init__(self, exchange: str, rules: RateRules | None, clock: Clock) -> None:
        self._exchange = exchange
        self._rules = rules
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
            if self._rules is None:
                return await self._answer_or_ban(request, handler)
            path = request.path.removeprefix(f"/{self._exchange}")
            over = self._over(self._rules, await self._rules.count(request, path))
            if over is not None:
                return request.app[REJECTION](RequestRejectedError("rate_limited", over))
            return await handler(request)

        return guard

    def _over(self, rules: RateRules, counts: Mapping[str, int]) -> str | None:
        """Return the limit that is exceeded, or None after counting the weights."""
        now = self._clock.now()
        for name, weight in counts.items():
            if self._of(rules, name).left(now) < weight:
                return name
        for name, weight in counts.items():
            self._of(rules, name).add(weight, now)
        return None

    def _of(self, rules: RateRules, name: str) -> Used:
        if name not in self._used:
            self._used[name] = Used(rules.limits[name])
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
