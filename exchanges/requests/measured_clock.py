"""Measures an exchange's clock: at first, every ten minutes, and when it rejects a timestamp."""

import logging
from typing import Any

import ccxt

from exchanges.ports.orders import AnswerNotUnderstoodError
from exchanges.requests.time_synced_signing import measure_clock
from market.time_units import MICROSECONDS
from runtime.clock import wall_now

log = logging.getLogger(__name__)

_EVERY_SECONDS = 600


class MeasuredClock:
    """One exchange's clock, for all clients that sign requests to it. Where it does not answer, the offset is
    unchanged."""

    def __init__(self, asks: Any, *others: Any) -> None:
        self._asks = asks
        self._others = others
        self._measured_at: int | None = None

    async def measure_once(self) -> None:
        if self._measured_at is None:
            await self.measure()

    async def measure_if_due(self) -> None:
        """Measure again after ten minutes, since clocks drift."""
        if self._measured_at is None or wall_now() - self._measured_at > _EVERY_SECONDS * MICROSECONDS:
            await self.measure()

    async def measure(self) -> bool:
        """Return whether it is not where it was measured before."""
        self._measured_at = wall_now()
        name = self._asks.id
        before, uncertainty_before = self._asks.exchange_ahead_ms, self._asks.exchange_uncertainty_ms
        try:
            ahead = await measure_clock(self._asks)
        except (ccxt.BaseError, AnswerNotUnderstoodError) as error:
            log.warning("clock not measured: %s", type(error).__name__, extra={"exchange": name})
            return False
        uncertainty = self._asks.exchange_uncertainty_ms
        for client in self._others:
            client.exchange_ahead_ms, client.exchange_uncertainty_ms = ahead, uncertainty
            client.order_clock_ahead_ms = self._asks.order_clock_ahead_ms
        has_moved = abs(ahead - before) > uncertainty + uncertainty_before
        if has_moved:
            log.info("clock measured", extra={"exchange": name, "ahead_ms": ahead, "uncertainty_ms": uncertainty})
        return bool(has_moved)
