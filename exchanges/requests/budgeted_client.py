"""ccxt's classes within a rate budget: reads wait for their turn, orders are sent at once or not at all."""

import ssl
from collections.abc import Mapping
from functools import cache
from typing import Any

import aiohttp
import ccxt

from exchanges.errors import ExchangeUnavailableError
from exchanges.ports.limits import CountedRequest, Weights
from exchanges.ports.permits import outgoing_order
from exchanges.requests.permit_requests import OrderHttpRequest, PermitRequest
from exchanges.requests.rate_budget import RateBudget

LONGEST_BAN_SECONDS = 3 * 24 * 3_600.0
"""The longest pause, whatever the exchange asks for: Binance's longest ban. A request during a ban prolongs it."""

IDLE_SECONDS = 50.0
"""How long an unused connection is kept, since an order that has to open one first is late. Load balancers close those
that are idle for a minute; aiohttp's own limit is 15 s."""


class BudgetedClient:
    """Mixin before a ccxt class. It replaces ccxt's rate limiter, which would make orders wait like reads."""

    budget: RateBudget | None = None
    posts_only: bool = False
    """Whether only permitted orders may be sent."""

    def calculate_rate_limiter_cost(
        self, api: Any, method: str, path: str, params: Mapping[str, Any], config: Mapping[str, Any] | None = None
    ) -> Weights:
        """Return the request's weights, as the exchange counts them; ccxt passes them to `throttle`."""
        if self.budget is None:
            return {}
        cost = super().calculate_rate_limiter_cost(api, method, path, params, config or {})  # type: ignore[misc]
        is_private = "private" in (api if isinstance(api, list) else [api])
        return self.budget.rules.count(CountedRequest(is_private, method, path, params, cost))

    async def throttle(self, cost: Weights | None = None) -> None:
        """Read wait here. An order does not: its weights are spent right before it is sent."""
        budget, weights = self.budget, cost or {}
        if budget is None:
            return
        order = outgoing_order()
        if order is None:
            try:
                await budget.wait_for(weights)
            except ExchangeUnavailableError as error:
                # the same error as the exchange's own
                raise ccxt.RateLimitExceeded(str(error)) from None
        else:
            order.spend = lambda: budget.spend(weights)

    async def fetch(self, url: str, method: str = "GET", headers: Any = None, body: Any = None) -> Any:
        """Like ccxt's, which sends what was signed; the request of an order is read once more before."""
        order = outgoing_order()
        if order is not None:
            order.check_request(method, url, body)
        return await super().fetch(url, method, headers, body)  # type: ignore[misc]

    def open(self, lazy: bool = False) -> None:
        """Like ccxt's, with an HTTP session whose requests check the order's permit before they are sent."""
        client: Any = self
        if client.ssl_context is None and client.verify is True:
            client.ssl_context = _trusting(client.cafile)
        owns, client.own_session = client.own_session, False
        try:
            super().open(lazy)  # type: ignore[misc]
        finally:
            client.own_session = owns
        if owns and client.session is None:
            client.tcp_connector = aiohttp.TCPConnector(ssl=client.ssl_context, keepalive_timeout=IDLE_SECONDS)
            request_class = OrderHttpRequest if self.posts_only else PermitRequest
            client.session = aiohttp.ClientSession(connector=client.tcp_connector, request_class=request_class)

    def handle_errors(self, *answer: Any) -> Any:
        return self._handle("handle_errors", *answer)

    def handle_http_status_code(self, *answer: Any) -> Any:
        """ccxt calls it after `handle_errors`."""
        result = self._handle("handle_http_status_code", *answer)
        if self.budget is not None:
            self.budget.record_answer()
        return result

    def _handle(self, name: str, *answer: Any) -> Any:
        """ccxt's error handling; after "too many requests" it also pauses the budget for as long as the exchange
        asks."""
        try:
            return getattr(super(), name)(*answer)
        except ccxt.BaseError as error:
            if self.budget is not None and _is_too_many(error):
                self.budget.pause(_seconds_asked(self))
            raise


@cache
def _trusting(cafile: str) -> ssl.SSLContext:
    """Return one for all clients: to read the certificates takes 20 ms, in which a feed that connects hears nothing."""
    return ssl.create_default_context(cafile=cafile)


def _is_too_many(error: ccxt.BaseError) -> bool:
    """ccxt does not recognise bitFlyer's "too many requests"."""
    is_named = isinstance(error, ccxt.RateLimitExceeded | ccxt.DDoSProtection)
    return is_named or getattr(error, "http_code", None) in (418, 429)


def _seconds_asked(client: Any) -> float | None:
    """Return the pause that the exchange asks for; None if it names none."""
    headers = {key.lower(): text for key, text in (client.last_response_headers or {}).items()}
    text = str(headers.get("retry-after", ""))
    return min(float(text), LONGEST_BAN_SECONDS) if text.isascii() and text.isdigit() else None
