"""ccxt's classes within a rate budget: reads wait for their turn, orders leave at once or not at all."""

from collections.abc import Mapping
from typing import Any

import aiohttp
import ccxt

from exchanges.errors import ExchangeUnavailableError
from exchanges.requests.order_permits import departing
from exchanges.requests.permit_requests import OrderHttpRequest, PermitRequest
from exchanges.requests.rate_budget import RateBudget
from exchanges.requests.rate_limits import CountedRequest, Weights, weights_of

LONGEST_BAN_SECONDS = 3 * 24 * 3_600.0
"""How long nothing is sent at most, whatever the exchange says: Binance's longest ban. Asking earlier prolongs it."""


class BudgetedClient:
    """Mixed in before a ccxt class: in place of its limiter, which makes orders wait as it does reads."""

    budget: RateBudget | None = None
    posts_only: bool = False
    """Whether nothing but permitted orders goes by it."""

    def calculate_rate_limiter_cost(
        self, api: Any, method: str, path: str, params: Mapping[str, Any], config: Mapping[str, Any] | None = None
    ) -> Weights:
        """In the exchange's own counting; ccxt hands it on to `throttle`."""
        cost = super().calculate_rate_limiter_cost(api, method, path, params, config or {})  # type: ignore[misc]
        is_private = "private" in (api if isinstance(api, list) else [api])
        exchange = str(self.id)  # type: ignore[attr-defined]
        return weights_of(exchange, CountedRequest(is_private, method, path, params, cost))

    async def throttle(self, cost: Weights | None = None) -> None:
        """Reads wait here. An order does not: what it costs is asked for when all else is done."""
        budget, weights = self.budget, cost or {}
        if budget is None:
            return
        order = departing()
        if order is None:
            try:
                await budget.turn(weights)
            except ExchangeUnavailableError as error:
                # as the exchange would say itself
                raise ccxt.RateLimitExceeded(str(error)) from None
        else:
            order.spend = lambda: budget.spend(weights)

    def open(self, lazy: bool = False) -> None:
        """As ccxt's, with a session whose requests ask before they leave."""
        client: Any = self
        owns, client.own_session = client.own_session, False
        try:
            super().open(lazy)  # type: ignore[misc]
        finally:
            client.own_session = owns
        if owns and client.session is None:
            client.tcp_connector = aiohttp.TCPConnector(ssl=client.ssl_context)
            request_class = OrderHttpRequest if self.posts_only else PermitRequest
            client.session = aiohttp.ClientSession(connector=client.tcp_connector, request_class=request_class)

    def handle_errors(self, *answer: Any) -> Any:
        return self._heard("handle_errors", *answer)

    def handle_http_status_code(self, *answer: Any) -> Any:
        """The last of the two that ccxt asks."""
        sorted_out = self._heard("handle_http_status_code", *answer)
        if self.budget is not None:
            self.budget.note_answer()
        return sorted_out

    def _heard(self, name: str, *answer: Any) -> Any:
        """ccxt's own sorting of an answer; after a "too many" nothing is sent for as long as the exchange says."""
        try:
            return getattr(super(), name)(*answer)
        except ccxt.BaseError as error:
            if self.budget is not None and _is_too_many(error):
                self.budget.shut(_seconds_asked(self))
            raise


def _is_too_many(error: ccxt.BaseError) -> bool:
    """ccxt takes bitFlyer's for any other error."""
    is_named = isinstance(error, ccxt.RateLimitExceeded | ccxt.DDoSProtection)
    return is_named or getattr(error, "http_code", None) in (418, 429)


def _seconds_asked(client: Any) -> float | None:
    """None where it does not say."""
    headers = {key.lower(): text for key, text in (client.last_response_headers or {}).items()}
    told = str(headers.get("retry-after", ""))
    return min(float(told), LONGEST_BAN_SECONDS) if told.isascii() and told.isdigit() else None
