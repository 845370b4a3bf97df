"""Goes on with an errand over outages of Kafka, MongoDB or the exchange, waiting longer after each failure."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from exchanges.errors import ExchangeUnavailableError
from market.time_units import MICROSECONDS
from session.backoff import answered, backoff
from session.clock import SystemClock, wall_now
from store.errors import HistoryLostError, StoreUnavailableError
from streams.errors import StreamUnavailableError

log = logging.getLogger(__name__)

OUTAGES = (StoreUnavailableError, HistoryLostError, StreamUnavailableError, ExchangeUnavailableError)
STEADY_SECONDS = 10
"""An errand that ran this long before it failed starts again with the shortest wait."""

BackgroundTask = Callable[[], Awaitable[None]]
Result = TypeVar("Result")


async def retry_until_done(question: Callable[[], Awaitable[Result]]) -> Result:
    """The answer, asked again after each outage."""
    return await answered(question, OUTAGES, lambda error: log.warning("trying again: %s", error))


async def run_forever(task: BackgroundTask) -> None:
    """Run it for ever: again after an outage and whenever it ends."""
    waits = backoff()
    while True:
        started = wall_now()
        try:
            await task()
        except OUTAGES as error:
            log.warning("trying again: %s", error)
        if wall_now() - started > STEADY_SECONDS * MICROSECONDS:
            waits = backoff()
        await SystemClock().sleep(next(waits))
