"""ccxt's classes, signing with the exchange's time: a wrong clock, ours or theirs, must not stop trading."""

from functools import cache
from typing import Any

import ccxt
import ccxt.async_support
import ccxt.pro

from exchanges.catalogue import facts_of, orders_of
from exchanges.credentials import is_private_key
from exchanges.errors import AccountRejectedError
from exchanges.ports.orders import AnswerNotUnderstoodError, number_in
from exchanges.requests.budgeted_client import BudgetedClient
from exchanges.requests.permit_requests import recorded_send_time
from runtime.clock import wall_now

_MILLISECOND = 1_000
_NEGLIGIBLE_MS = 1_000
"""Exchanges allow for a few seconds between a request's time and theirs."""


class TimeSyncedSigning:
    """Mixin before a ccxt class for signing requests and mapping errors.

    The client's other uses of time (limits, keep-alive) stay on this machine's clock.
    """

    exchange_ahead_ms: int = 0
    """Last measured offset of the exchange's clock to this machine's."""
    exchange_uncertainty_ms: int = 0
    """Uncertainty of that offset in either direction."""
    order_clock_ahead_ms: int | None = None
    """The same for deadlines that go with an order; None before it was measured."""
    id: str
    secret: str
    _is_signing: bool = False

    def sign(self, *arguments: Any, **named: Any) -> Any:
        try:
            return self._on_exchange_time("sign", *arguments, **named)
        except (ValueError, TypeError) as error:
            # a TypeError is the key's only if that is a private one: it has a password, or ccxt takes it for RSA by its
            # length
            if isinstance(error, TypeError) and not is_private_key(self.secret):
                raise
            # the cause would show what was to be signed, and by what
            raise ccxt.AuthenticationError(f"{self.id}: nothing can be signed by this secret") from None

    def nonce(self) -> Any:
        return self._on_exchange_time("nonce")

    def milliseconds(self) -> int:
        return wall_now() // _MILLISECOND + (self.exchange_ahead_ms if self._is_signing else 0)

    def seconds(self) -> int:
        return self.milliseconds() // 1_000

    def handle_errors(self, code: int, *answer: Any) -> Any:
        return self._with_http_code("handle_errors", code, *answer)

    def handle_http_status_code(self, code: int, *answer: Any) -> Any:
        return self._with_http_code("handle_http_status_code", code, *answer)

    def _with_http_code(self, name: str, code: int, *answer: Any) -> Any:
        """ccxt's error handling. Adds the HTTP status to its errors as `http_code`, and maps the exceptions that ccxt
        raises for unexpected answers."""
        try:
            return getattr(super(), name)(code, *answer)
        except ccxt.BaseError as error:
            error.http_code = code
            raise
        except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
            unread = ccxt.BadResponse(f"{code} {answer[0]}: an answer that ccxt cannot read ({type(error).__name__})")
            unread.http_code = code
            raise unread from None

    def _on_exchange_time(self, name: str, *arguments: Any, **named: Any) -> Any:
        """Call ccxt's method with the exchange's time; nested calls (`sign` calls `nonce`) change nothing."""
        was_signing, self._is_signing = self._is_signing, True
        try:
            return getattr(super(), name)(*arguments, **named)
        finally:
            self._is_signing = was_signing


@cache
def client_class(exchange: str) -> Any:
    """Return the class of an exchange's clients: ccxt.pro's, or ccxt.async_support's if that has none (bitFlyer).

    Raises AccountRejectedError if ccxt has no such exchange.
    """
    base = getattr(ccxt.pro, exchange, None) or getattr(ccxt.async_support, exchange, None)
    if not isinstance(base, type) or not issubclass(base, ccxt.async_support.Exchange):
        raise AccountRejectedError(f"ccxt has no exchange {exchange}")
    return type(base.__name__, (BudgetedClient, TimeSyncedSigning, base), {})


async def measure_clock(client: Any) -> int:
    """Measure the exchange's clock and sign with it from now on. Returns its offset in milliseconds.

    Even a small offset counts: orders are dated by the exchange and searched by our time. If its signatures do not go
    by its clock, as on Kraken, only deadlines follow it, and this returns 0. Raises ccxt's errors and
    AnswerNotUnderstoodError; then nothing changes.
    """
    with recorded_send_time() as left:
        asked = wall_now()
        theirs, doubt = await _server_milliseconds(client)
    after = wall_now()
    # waiting for other requests, DNS and the handshake do not count
    before = asked if left.at is None else left.at
    client.order_clock_ahead_ms = theirs - (before + after) // 2 // _MILLISECOND
    facts = facts_of(client.id)
    if facts is not None and not facts.signs_by_clock:
        return 0
    client.exchange_ahead_ms = client.order_clock_ahead_ms
    if facts is None and abs(client.exchange_ahead_ms) < _NEGLIGIBLE_MS:
        # its nonces may be times, which must not go back with each measurement
        client.exchange_ahead_ms = 0
    # the exchange may have read its clock at any moment in between
    client.exchange_uncertainty_ms = doubt + abs(after - before) // 2 // _MILLISECOND + 1
    return int(client.exchange_ahead_ms)


async def _server_milliseconds(client: Any) -> tuple[int, int]:
    """Return the exchange's time and its uncertainty."""
    orders = orders_of(client.id)
    return (await _unified_time(client), 0) if orders is None else await orders.server_time(client)


async def _unified_time(client: Any) -> int:
    """Return the time of any exchange by ccxt, in milliseconds."""
    if not client.has.get("fetchTime"):
        raise AnswerNotUnderstoodError(f"{client.id} publishes no time that ccxt reads")
    return int(number_in({"time": await client.fetch_time()}, "time"))
