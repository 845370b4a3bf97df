"""ccxt's classes, signing by the exchange's time: a wrong clock, ours or theirs, must not stop trading."""

from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any

import ccxt
import ccxt.async_support
import ccxt.pro

from exchanges.errors import AccountRejectedError
from exchanges.order_api import AnswerNotUnderstoodError, number_in, row_of
from exchanges.requests.budgeted_client import BudgetedClient
from exchanges.requests.permit_requests import timed
from session.clock import wall_now

_MILLISECOND = 1_000
# An HTTP date has no fractions, so that it is half a second late on average, and by as much in doubt.
_HALF_SECOND_MS = 500


class TimeSyncedSigning:
    """Mixed in before a ccxt class: what signs its requests and sorts its answers.

    The client's other uses of time (limits, keep-alive) stay this machine's.
    """

    exchange_ahead_ms: int = 0
    """How far the exchange's clock is ahead of this machine's, as last measured."""
    exchange_doubt_ms: int = 0
    """By how much that may be wrong either way, by what the measurement itself cannot tell."""
    _is_signing: bool = False

    def sign(self, *arguments: Any, **named: Any) -> Any:
        return self._by_their_time("sign", *arguments, **named)

    def nonce(self) -> Any:
        return self._by_their_time("nonce")

    def milliseconds(self) -> int:
        return wall_now() // _MILLISECOND + (self.exchange_ahead_ms if self._is_signing else 0)

    def seconds(self) -> int:
        return self.milliseconds() // 1_000

    def handle_errors(self, code: int, *answer: Any) -> Any:
        return self._with_its_code("handle_errors", code, *answer)

    def handle_http_status_code(self, code: int, *answer: Any) -> Any:
        return self._with_its_code("handle_http_status_code", code, *answer)

    def _with_its_code(self, name: str, code: int, *answer: Any) -> Any:
        """ccxt's own sorting of an answer. Its errors mostly do not say the HTTP status, so that they are given it as
        `http_code`; and it falls over answers that are not as it expects."""
        try:
            return getattr(super(), name)(code, *answer)
        except ccxt.BaseError as error:
            error.http_code = code
            raise
        except (IndexError, KeyError, TypeError, ValueError, AttributeError) as error:
            unread = ccxt.BadResponse(f"{code} {answer[0]}: an answer that ccxt cannot read ({type(error).__name__})")
            unread.http_code = code
            raise unread from None

    def _by_their_time(self, name: str, *arguments: Any, **named: Any) -> Any:
        """ccxt's own method of that name; `sign` calls `nonce`, so that one within the other changes nothing."""
        was_signing, self._is_signing = self._is_signing, True
        try:
            return getattr(super(), name)(*arguments, **named)
        finally:
            self._is_signing = was_signing


@cache
def client_class(exchange: str) -> Any:
    """The one class of an exchange's clients: ccxt.pro's, or ccxt.async_support's where that has none (bitFlyer).

    Raises AccountRejectedError where ccxt has no such exchange.
    """
    base = getattr(ccxt.pro, exchange, None) or getattr(ccxt.async_support, exchange, None)
    if not isinstance(base, type) or not issubclass(base, ccxt.async_support.Exchange):
        raise AccountRejectedError(f"ccxt knows no exchange {exchange}")
    return type(base.__name__, (BudgetedClient, TimeSyncedSigning, base), {})


async def measure_clock(client: Any) -> int:
    """Ask the exchange what time it is and sign by that from now on; how far it is ahead, milliseconds.

    However little that is: an order is dated by the exchange, and sought by our own time. 0 on Kraken, whose nonces
    need not be times. Raises ccxt's errors and AnswerNotUnderstoodError; then all stays.
    """
    if client.id == "kraken":
        return 0
    with timed() as left:
        asked = wall_now()
        theirs, doubt = await _their_milliseconds(client)
    after = wall_now()
    # a turn among other requests, a name's look-up and a handshake say nothing about their clock
    before = asked if left.at is None else left.at
    client.exchange_ahead_ms = theirs - (before + after) // 2 // _MILLISECOND
    # it may have answered at any moment in between
    client.exchange_doubt_ms = doubt + abs(after - before) // 2 // _MILLISECOND + 1
    return int(client.exchange_ahead_ms)


async def _their_milliseconds(client: Any) -> tuple[int, int]:
    """Their time, and by how much it may be wrong."""
    if client.id == "coinbaseexchange":
        return int(number_in(row_of(await client.publicGetTime()), "epoch") * 1_000), 0
    if client.id == "binance":
        return int(number_in(row_of(await client.publicGetTime()), "serverTime")), 0
    # The others have no route for it; any cheap answer carries the date.
    if client.id == "bitstamp":
        await client.publicGetTickerPair({"pair": "btceur"})
    else:
        await client.publicGetGetticker({"product_code": "BTC_JPY"})
    headers = {name.lower(): value for name, value in (client.last_response_headers or {}).items()}
    try:
        date = parsedate_to_datetime(headers["date"])
    except (KeyError, ValueError) as error:
        raise AnswerNotUnderstoodError(f"{client.id} says no date") from error
    return int(date.timestamp() * 1_000) + _HALF_SECOND_MS, _HALF_SECOND_MS
