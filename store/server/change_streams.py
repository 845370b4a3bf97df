"""Change streams that outlive lost connections, killed servers and a rolled oplog."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self

from motor.core import AgnosticChangeStream
from motor.motor_asyncio import AsyncIOMotorCollection
from pymongo.errors import OperationFailure, PyMongoError

from session.backoff import backoff
from session.clock import SystemClock, wall_now
from store.errors import StoreUnavailableError
from store.server.documents import microseconds_of
from store.server.mongo_client import Database, Document, Result, first_sentence, is_passing, translated_errors

WAIT_MS = 500
"""How long the server keeps one read open; a cancelled watcher's thread waits no longer."""
HISTORY_LOST = frozenset({136, 260, 280, 286})
"""CappedPositionLost, InvalidResumeToken, ChangeStreamFatalError, ChangeStreamHistoryLost (mongodb.com, "Error
Codes"). The first is what a watcher gets that fell behind while its cursor was open."""
RESUMABLE = "ResumableChangeStreamError"

log = logging.getLogger(__name__)

Watched = AsyncIOMotorCollection[Document] | Database


@dataclass(slots=True)
class ChangeStreamProgress:
    """How far the followers of one purpose have come, for people to look at. Microseconds."""

    newest_at: int | None = None
    """By the server's clock: when the newest change seen was made."""
    caught_up_at: int | None = None
    """By ours: when the server said last that there was nothing more."""
    answered_at: int | None = None
    """By ours: when the server answered last."""
    is_answering: bool = False
    """Whether the last read came back; a server that is stuck is known by `answered_at` alone."""
    lost: int = 0
    """How often history was gone and everything had to be read anew."""

    def record_answer(self) -> None:
        self.answered_at = wall_now()
        self.is_answering = True

    def record(self, change: Document | None) -> None:
        self.record_answer()
        if change is None:
            self.caught_up_at = self.answered_at
        elif isinstance(made := change.get("wallTime"), datetime):
            self.newest_at = microseconds_of(made)

    def lag(self, now: int, server_ahead: int) -> int | None:
        """Microseconds between `now`, ours, and the last moment up to which everything was seen; a follower that has
        nothing to read is asked every half second, so up to that is none. None before the first answer."""
        newest = None if self.newest_at is None else self.newest_at - server_ahead
        seen = [moment for moment in (newest, self.caught_up_at) if moment is not None]
        return max(0, now - max(seen)) if seen else None


class ChangeFollower:
    """The changes of one collection or database since the follower began, or since the token `after`; for ever."""

    def __init__(
        self,
        watched: Watched,
        pipeline: Sequence[Mapping[str, object]] = (),
        after: Mapping[str, object] | None = None,
        progress: ChangeStreamProgress | None = None,
    ) -> None:
        self._watched = watched
        self._pipeline = list(pipeline)
        self._token = after
        self._progress = ChangeStreamProgress() if progress is None else progress
        self._stream: AgnosticChangeStream[Document] | None = None
        self._opened = AsyncExitStack()
        # motor's threads are few and shared by the whole process: behind a queue of reads every change would wait anew
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="changes")
        self._delays = backoff(first=0.1)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with suppress(PyMongoError):
            await self._close()
        self._thread.shutdown(wait=False)

    @property
    def token(self) -> Mapping[str, object] | None:
        """Of what `next` returned last, or, while it waits, of all that is past. None before the first read."""
        return self._token

    async def next(self) -> Document | None:
        """The next change, waited for through whatever happens to the connection.

        None where the stream begins without a past, at first and whenever history was lost: what happened before has to
        be read from the collections. Nothing between that read and the next change is missed. Raises StoreError where
        MongoDB cannot be watched at all.
        """
        while True:
            try:
                if self._stream is None and await self._open():
                    return None
                change = await self._advance()
            except PyMongoError as error:
                self._progress.is_answering = False
                had_past = self._token is not None
                self._token = _token_after(error, self._token)
                self._progress.lost += had_past and self._token is None
                self._stream = None
                is_resumed = self._token is not None
                log.warning("watching again", extra={"error": first_sentence(error), "resumed": is_resumed})
                await SystemClock().sleep(next(self._delays))
            else:
                if change is not None:
                    return change

    async def _open(self) -> bool:
        """Whether it begins without a past."""
        await self._close()
        is_anew = self._token is None
        stream = await self._opened.enter_async_context(
            self._watched.watch(
                self._pipeline, full_document="updateLookup", resume_after=self._token, max_await_time_ms=WAIT_MS
            )
        )
        self._token = stream.resume_token or self._token
        self._stream = stream
        return is_anew

    async def _advance(self) -> Document | None:
        """What the next read brings; None after a while without changes."""
        if self._stream is None:
            return None
        loop, stream = asyncio.get_running_loop(), self._stream
        change: Document | None = await loop.run_in_executor(self._thread, stream.delegate.try_next)
        self._delays = backoff(first=0.1)
        self._token = self._stream.resume_token
        self._progress.record(change)
        if not self._stream.alive:  # type: ignore[truthy-function]  # a property; motor's stubs call it a method
            # the collection was dropped
            self._stream = self._token = None
        return change

    async def _close(self) -> None:
        self._stream = None
        await self._opened.aclose()


async def read_until_reachable(read: Callable[[], Awaitable[Result]]) -> Result:
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
