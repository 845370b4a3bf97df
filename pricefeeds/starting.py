"""The start of a process whose Kafka or store may be there only in a moment."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from market.backoff import backoff
from market.clock import SystemClock
from store.errors import StoreUnavailableError
from streams.errors import StreamUnavailableError

Answer = TypeVar("Answer")

log = logging.getLogger("pricefeeds")


async def answered(question: Callable[[], Awaitable[Answer]]) -> Answer:
    """The answer, asked again for as long as Kafka or the store is away; what cannot get better is raised."""
    delays = backoff()
    while True:
        try:
            return await question()
        except (StreamUnavailableError, StoreUnavailableError) as error:
            log.warning("asking again", extra={"error": str(error)})
        await SystemClock().sleep(next(delays))
