"""Change streams that outlive lost connections, killed servers and a rolled oplog."""

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Self, TypeVar

from bson.timestamp import Timestamp
from motor.core import AgnosticChangeStream
from motor.motor_asyncio import AsyncIOMotorCollection
from pymongo.errors import OperationFailure, PyMongoError

from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now, wall_now
from store.errors import StoreUnavailableError
from store.server.client import Database, Document, first_sentence, is_passing, translated_errors
from store.server.documents import microseconds_of

WAIT_MS = 500
"""How long the server keeps one read open; a cancelled watcher's thread waits no longer."""
WITHOUT_DELTA: Document = {"$unset": "updateDescription"}
"""Changes come with the whole document, so that what changed in it need not."""
HISTORY_LOST = frozenset({136, 260, 280, 286})
"""CappedPositionLost, InvalidResumeToken, ChangeStreamFatalError, ChangeStreamHistoryLost (mongodb.com, "Error
Codes"). The first is what a watcher gets that fell behind while its cursor was open."""
RESUMABLE = "ResumableChangeStreamError"

Result = TypeVar("Result")

log = logging.getLogger(__name__)

Watched = AsyncIOMotorCollection[Document] | Database


@dataclass(slots=True)
class ChangeStreamProgress:
    """Progress of the change streams of one purpose, for monitoring. Times in microseconds."""

    newest_at: int | None = None
    """When the newest change read was made, by the server's clock."""
    caught_up_at: int | None = None
    """When the server last had nothing more, by our clock."""
    answered_at: int | None = None
    """When the server last answered, by our clock."""
    is_answering: bool = False
    """Whether the last read succeeded; a server that hangs shows in `answered_at` alone."""
    lost: int = 0
    """How often history was lost, which takes a resync."""
    heard_at: int | None = None
    """When the server last answered, by the steady clock."""

    def record_answer(self) -> None:
        self.answered_at, self.heard_at = wall_now(), steady_now()
        self.is_answering = True

    def silence(self) -> int:
        """Microseconds since the server's last answer; no limit before the first."""
        return sys.maxsize if self.heard_at is None else steady_now() - self.heard_at

    def record(self, change: Document | None) -> None:
        self.record_answer()
        if change is None:
            self.caught_up_at = self.answered_at
        elif isinstance(made := change.get("wallTime"), datetime):
            self.newest_at = microseconds_of(made)

    def lag(self, now: int, server_ahead: int) -> int | None:
        """Microseconds from the time up to which everything was read to `now` (our clock); up to half a second if
        there is nothing to read. None before the first answer."""
        newest = None if self.newest_at is None else self.newest_at - server_ahead
        seen = [moment for moment in (newest, self.caught_up_at) if moment is not None]
        return max(0, now - max(seen)) if seen else None


class ChangeFollower:
    """Endlessly follows the changes of one collection or database, from now, from the token `after`, or from a time."""

    def __init__(
        self,
        watched: Watched,
        pipeline: Sequence[Mapping[str, object]] = (),
        after: Mapping[str, object] | None = None,
        progress: ChangeStreamProgress | None = None,
        wait_ms: int = WAIT_MS,
        *,
        since: int | None = None,
        with_documents: bool = True,
        with_deltas: bool = False,
    ) -> None:
        """`since`: if there is no token, the server's time to begin at, microseconds (the server has seconds).
        `with_documents` False: a change need only say that there was one, and the server looks up no document.
        `with_deltas`: an update says which fields it changed."""
        self._wait_ms = wait_ms
        self._full_document = "updateLookup" if with_documents else None
        self._watched = watched
        self._pipeline = [*pipeline] if with_deltas else [*pipeline, WITHOUT_DELTA]
        self._token = after
        self._since = None if since is None else Timestamp(since // MICROSECONDS, 1)
        self._progress = ChangeStreamProgress() if progress is None else progress
        self._stream: AgnosticChangeStream[Document] | None = None
        self._opened = AsyncExitStack()
        # motor's few threads are shared by the whole process: changes would queue behind other reads
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
        """The resume token of the last change returned, or of all read so far. None before the first read."""
        return self._token

    async def next(self) -> Document | None:
        """Return the next change; lost connections are resumed.

        None if the stream starts without history, at first and whenever history was lost: the caller then reads the
        collections. Nothing between that read and the next change is missed. Raises StoreError if MongoDB cannot be
        watched at all.
        """
        while True:
            try:
                if self._stream is None and await self._open():
                    return None
                change = await self._advance()
            except PyMongoError as error:
                self._progress.is_answering = False
                had_past = self._has_past
                if _is_history_lost(error):
                    self._token = self._since = None
                is_resumed = self._has_past
                self._progress.lost += had_past and not is_resumed
                self._stream = None
                log.warning("change stream reopened", extra={"error": first_sentence(error), "resumed": is_resumed})
                await SystemClock().sleep(next(self._delays))
            else:
                if change is not None:
                    return change

    async def _open(self) -> bool:
        """Open the stream; True if it starts without history."""
        await self._close()
        from_start = not self._has_past
        stream = await self._opened.enter_async_context(
            self._watched.watch(
                self._pipeline,
                full_document=self._full_document,
                resume_after=self._token,
                start_at_operation_time=self._since if self._token is None else None,
                max_await_time_ms=self._wait_ms,
            )
        )
        self._token = stream.resume_token or self._token
        self._stream = stream
        return from_start

    @property
    def _has_past(self) -> bool:
        return self._token is not None or self._since is not None

    async def _advance(self) -> Document | None:
        """Return the next change; None if there was none for a while."""
        if self._stream is None:
            return None
        loop, stream = asyncio.get_running_loop(), self._stream
        change: Document | None = await loop.run_in_executor(self._thread, stream.delegate.try_next)
        self._delays = backoff(first=0.1)
        self._token = self._stream.resume_token
        self._progress.record(change)
        if not self._stream.alive:  # type: ignore[truthy-function]  # a property; motor's stubs call it a method
            # the collection was dropped
            self._stream = self._token = self._since = None
        return change

    async def _close(self) -> None:
        self._stream = None
        await self._opened.aclose()


async def read_until_reachable(read: Callable[[], Awaitable[Result]]) -> Result:
    """Return the result of `read`, retried while MongoDB is unavailable."""
    delays = backoff(first=0.1)
    while True:
        try:
            return await read()
        except StoreUnavailableError as error:
            log.warning("MongoDB read retried", extra={"error": str(error)})
            await SystemClock().sleep(next(delays))


def _is_history_lost(error: PyMongoError) -> bool:
    """Whether the stream can only begin with what comes now; else it goes on where it was. Raises StoreError for a
    lasting error."""
    if isinstance(error, OperationFailure) and error.code in HISTORY_LOST:
        return True
    if not (is_passing(error) or error.has_error_label(RESUMABLE)):
        with translated_errors():
            raise error
    return False
