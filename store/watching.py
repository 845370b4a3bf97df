"""Change streams that outlive lost connections, killed servers and a rolled oplog."""

import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence

from motor.motor_asyncio import AsyncIOMotorCollection
from pymongo.errors import OperationFailure, PyMongoError

from market.backoff import backoff
from market.clock import SystemClock
from store.client import Database, Document, Result, first_sentence, is_passing, translated_errors
from store.errors import StoreUnavailableError

WAIT_MS = 500
"""How long the server keeps one read open; a cancelled watcher's thread waits no longer."""
HISTORY_LOST = frozenset({286, 280, 260})
"""ChangeStreamHistoryLost, ChangeStreamFatalError, InvalidResumeToken (mongodb.com, "Error Codes")."""
RESUMABLE = "ResumableChangeStreamError"

log = logging.getLogger(__name__)


async def follow(
    watched: AsyncIOMotorCollection[Document] | Database,
    pipeline: Sequence[Mapping[str, object]] = (),
    after: Mapping[str, object] | None = None,
) -> AsyncGenerator[Document | None]:
    """Each change since the stream was opened, or since the token `after`; for ever.

    None where it begins without a past, at first and whenever history was lost: what happened before has to be read
    from the collections. Then nothing between that read and the next change is missed. Raises StoreError where MongoDB
    cannot be watched at all.
    """
    token = after
    delays = backoff(first=0.1)
    while True:
        try:
            async with watched.watch(
                list(pipeline), full_document="updateLookup", resume_after=token, max_await_time_ms=WAIT_MS
            ) as stream:
                if token is None:
                    yield None
                while stream.alive:
                    change = await stream.try_next()
                    delays = backoff(first=0.1)
                    if change is not None:
                        yield change
                    token = stream.resume_token
            token = None  # invalidated: the collection was dropped
        except PyMongoError as error:
            token = _token_after(error, token)
            log.warning("watching again", extra={"error": first_sentence(error), "resumed": token is not None})
            await SystemClock().sleep(next(delays))


async def patiently(read: Callable[[], Awaitable[Result]]) -> Result:
    """What `read` returns once MongoDB is reached again: a watcher outlives an outage."""
    delays = backoff(first=0.1)
    while True:
        try:
            return await read()
        except StoreUnavailableError as error:
            log.warning("reading again", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))


def _token_after(error: PyMongoError, token: Mapping[str, object] | None) -> Mapping[str, object] | None:
    """Where to go on; None: anew. Raises StoreError where going on makes no sense."""
    if isinstance(error, OperationFailure) and error.code in HISTORY_LOST:
        return None
    if not (is_passing(error) or error.has_error_label(RESUMABLE)):
        with translated_errors():
            raise error
    return token
