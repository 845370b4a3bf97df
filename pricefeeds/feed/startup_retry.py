"""Retries at the start of a process, until Kafka and the store are available."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from runtime import backoff
from store.errors import StoreUnavailableError
from streams.errors import StreamUnavailableError

Result = TypeVar("Result")

log = logging.getLogger("pricefeeds")


async def retry_until_available(operation: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of `operation`, retried while Kafka or the store is unavailable; other errors are raised."""
    return await backoff.retry_on(
        operation,
        (StreamUnavailableError, StoreUnavailableError),
        lambda error: log.warning("service unavailable; retrying", extra={"error": str(error)}),
    )
