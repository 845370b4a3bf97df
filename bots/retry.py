"""Retries over outages of Kafka, MongoDB or the exchange, with exponential backoff."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from exchanges.errors import ExchangeUnavailableError
from market.time_units import MICROSECONDS
from runtime.backoff import backoff, retry_on
from runtime.clock import SystemClock, steady_now
from store.errors import HistoryLostError, StoreUnavailableError
from streams.errors import StreamUnavailableError

log = logging.getLogger(__name__)

OUTAGES = (StoreUnavailableError, HistoryLostError, StreamUnavailableError, ExchangeUnavailableError)
STEADY_SECONDS = 10
"""A task that ran this long before it failed restarts with the shortest wait."""

BackgroundTask = Callable[[], Awaitable[None]]
Result = TypeVar("Result")


async def retry_until_done(question: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of `question`, retried after each outage."""
    return await retry_on(question, OUTAGES, lambda error: log.warning("retrying: %s", error))


async def run_forever(task: BackgroundTask) -> None:
    """Run `task` until cancelled: again after each outage and whenever it returns."""
    waits = backoff()
    while True:
        started = steady_now()
        try:
            await task()
        except OUTAGES as error:
            log.warning("retrying: %s", error)
        if steady_now() - started > STEADY_SECONDS * MICROSECONDS:
            waits = backoff()
        await SystemClock().sleep(next(waits))
