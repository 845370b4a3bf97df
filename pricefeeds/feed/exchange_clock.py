"""Measures how far one exchange's clock is ahead of ours, where it can be asked."""

import asyncio
import logging
from collections.abc import Callable

from pricefeeds.errors import FeedDroppedError
from pricefeeds.feed.endpoints import FeedEndpoints
from pricefeeds.quoting.clock_offset import ClockSamples
from session.backoff import backoff
from session.clock import Clock, SystemClock

FIRST_READINGS = 5
FIRST_SECONDS = 0.3
"""Not a whole part of a second, so that a clock that shows seconds is met at different moments."""
USUAL_SECONDS = 20.0

log = logging.getLogger("pricefeeds")


class ExchangeClock:
    """The clock of one exchange, asked several times at first, then now and then, and at once where it is doubted."""

    def __init__(self, source: FeedEndpoints, clock: Clock, corrected: Callable[[int], None]) -> None:
        """`corrected` is called with each new offset in microseconds."""
        self._source = source
        self._clock = clock
        self._corrected = corrected
        self._doubted = asyncio.Event()

    def doubt(self) -> None:
        self._doubted.set()

    async def run(self) -> None:
        """For ever, or at once to the end where the exchange shows no time."""
        path = self._source.wire.server_time
        if path is None:
            return
        samples, readings, delays = ClockSamples(), 0, backoff()
        while True:
            try:
                self._corrected(await self._reading(path, samples))
                readings, delays = readings + 1, backoff()
                pause = FIRST_SECONDS if readings < FIRST_READINGS else USUAL_SECONDS
            except FeedDroppedError as error:
                log.warning("the exchange's clock was not read", extra={"error": str(error)})
                pause = next(delays)
            await self._pause(pause)

    async def _reading(self, path: str, samples: ClockSamples) -> int:
        answer = await self._source.rest.get(path)
        shown = self._source.wire.parse_server_time(answer.body)
        return samples.add(answer.sent, answer.received, shown, self._source.wire.server_time_step)

    async def _pause(self, seconds: float) -> None:
        """Shorter where the clock is doubted, never shorter than between the first readings."""
        await SystemClock().sleep(FIRST_SECONDS)
        try:
            async with asyncio.timeout(max(0.0, seconds - FIRST_SECONDS)):
                await self._doubted.wait()
        except TimeoutError:
            pass
        self._doubted.clear()
