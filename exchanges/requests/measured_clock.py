"""When an exchange is asked for its time: at first, now and then, and whenever it does not believe ours."""

import logging
from typing import Any

import ccxt

from exchanges.order_api import AnswerNotUnderstoodError
from exchanges.requests.time_synced_signing import measure_clock
from market.time_units import MICROSECONDS
from session.clock import wall_now

log = logging.getLogger(__name__)

_EVERY_SECONDS = 600


class MeasuredClock:
    """Of one exchange, for all clients that sign requests to it. Where it does not answer, all stays as it is."""

    def __init__(self, asks: Any, *others: Any) -> None:
        self._asks = asks
        self._others = others
        self._measured_at: int | None = None

    async def measure_once(self) -> None:
        if self._measured_at is None:
            await self.measure()

    async def measure_now_and_then(self) -> None:
        """Clocks drift."""
        if self._measured_at is None or wall_now() - self._measured_at > _EVERY_SECONDS * MICROSECONDS:
            await self.measure()

    async def measure(self) -> None:
        self._measured_at = wall_now()
        name = self._asks.id
        before, doubt_before = self._asks.exchange_ahead_ms, self._asks.exchange_doubt_ms
        try:
            ahead = await measure_clock(self._asks)
        except (ccxt.BaseError, AnswerNotUnderstoodError) as error:
            log.warning("clock not measured: %s", type(error).__name__, extra={"exchange": name})
            return
        doubt = self._asks.exchange_doubt_ms
        for client in self._others:
            client.exchange_ahead_ms, client.exchange_doubt_ms = ahead, doubt
        if abs(ahead - before) > doubt + doubt_before:
            log.info("clock measured", extra={"exchange": name, "ahead_ms": ahead, "doubt_ms": doubt})
