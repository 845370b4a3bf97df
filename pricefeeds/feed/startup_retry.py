"""The start of a process whose Kafka or store may be there only in a moment."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from session import backoff
from store.errors import StoreUnavailableError
from streams.errors import StreamUnavailableError

Answer = TypeVar("Answer")

log = logging.getLogger("pricefeeds")


async def answered(question: Callable[[], Awaitable[Answer]]) -> Answer:
    """The answer, asked again for as long as Kafka or the store is away; what cannot get better is raised."""
    return await backoff.retry_on(
        question,
        (StreamUnavailableError, StoreUnavailableError),
        lambda error: log.warning("asking again", extra={"error": str(error)}),
    )
