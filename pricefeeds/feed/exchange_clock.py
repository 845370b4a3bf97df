"""Measures the offset of one exchange's clock to ours, if the exchange publishes its time."""

import asyncio
import logging
from collections.abc import Callable

from exchanges.books.errors import FeedDroppedError
from exchanges.books.port import ServerTime
from pricefeeds.feed.source import FeedSource
from pricefeeds.quoting.clock_offset import ClockSamples
from runtime.backoff import backoff
from runtime.clock import Clock, SystemClock

FIRST_READINGS = 5
FIRST_SECONDS = 0.3
"""Not a divisor of a second, so that a clock with a resolution of a second is sampled at different phases."""
USUAL_SECONDS = 20.0

log = logging.getLogger("pricefeeds")


class ExchangeClock:
    """Samples one exchange's clock: several times at first, then every USUAL_SECONDS, and at once after `recheck`."""

    def __init__(self, endpoints: FeedSource, clock: Clock, corrected: Callable[[int], None]) -> None:
        """`corrected` is called with each new offset in microseconds."""
        self._endpoints = endpoints
        self._clock = clock
        self._corrected = corrected
        self._recheck_due = asyncio.Event()

    def recheck(self) -> None:
        self._recheck_due.set()

    async def run(self) -> None:
        """Run for ever; returns at once if the exchange publishes no time."""
        server_time = self._endpoints.wire.server_time
        if server_time is None:
            return
        samples, readings, delays = ClockSamples(), 0, backoff()
        while True:
            try:
                self._corrected(await self._reading(server_time, samples))
                readings, delays = readings + 1, backoff()
                pause = FIRST_SECONDS if readings < FIRST_READINGS else USUAL_SECONDS
            except FeedDroppedError as error:
                log.warning("the exchange's clock could not be read; retrying", extra={"error": str(error)})
                pause = next(delays)
            await self._pause(pause)

    async def _reading(self, server_time: ServerTime, samples: ClockSamples) -> int:
        answer = await self._endpoints.rest.get(server_time.path)
        return samples.add(answer.sent, answer.received, server_time.parse(answer.body), server_time.step)

    async def _pause(self, seconds: float) -> None:
        """Wait for `seconds`, or until `recheck`, but at least FIRST_SECONDS."""
        await SystemClock().sleep(FIRST_SECONDS)
        try:
            async with asyncio.timeout(max(0.0, seconds - FIRST_SECONDS)):
                await self._recheck_due.wait()
        except TimeoutError:
            pass
        self._recheck_due.clear()
