"""Rows that a sink gave up and messages that a source could not read, on their way into the error store."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from hashlib import sha256

from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.language.app_ends import kept_streams
from cep.apps.transports.ports import IncomingMessage, NotTakenError, OutgoingRow
from session.session import Session
from store.errors import StoreError, StoreUnavailableError
from store.operations.failed_rows import open_failed_rows
from store.ports.apps import FailedRows
from store.records.failed_rows import MOST_FAILED_ROWS, FailedChoice, FailedRow, kept_values
from streams.errors import StreamError, StreamUnavailableError


@dataclass(slots=True)
class FailedEnds:
    """Connects when there is something to keep; close it."""

    session: Session
    source: AppSource
    warnings: CountedWarnings = field(default_factory=lambda: CountedWarnings({}))
    most: int = MOST_FAILED_ROWS
    dropped: int = 0
    """Older rows that the store dropped for those of here."""
    _store: FailedRows | None = None
    _opened: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def keep_rows(
        self, stream: str, rows: Sequence[OutgoingRow], reason: str, *, loses_none: bool = False
    ) -> None:
        """Keep rows that were not delivered. `loses_none`: only if each is kept whole, and none is dropped for it.
        Raises NotTakenError."""
        found = [
            # the same attempt may be given up twice, if this process is killed in between
            FailedRow(
                row.id,
                self.source.name,
                stream,
                "delivery",
                row.values,
                reason,
                time=row.time,
                occurrence=f"{row.id}@{row.time}",
            )
            for row in rows
        ]
        try:
            if loses_none:
                await self._check_room(found)
            await self._add(found)
        except StoreError as error:
            raise NotTakenError(str(error)) from None

    async def keep_messages(self, stream: str, refused: Sequence[tuple[IncomingMessage, str]]) -> None:
        """Keep messages that are no rows, if the stream's errors are kept. Raises StreamError: give them again."""
        if stream not in kept_streams(self.source.app):
            return
        found = [
            FailedRow(
                f"message:{(mark := sha256(message.body).hexdigest()[:20])}",
                self.source.name,
                stream,
                "message",
                {"message": message.body.decode(errors="replace")},
                reason,
                occurrence=mark,
            )
            for message, reason in refused
        ]
        try:
            await self._add(found)
        except StoreUnavailableError as error:
            raise StreamUnavailableError(str(error)) from None
        except StoreError as error:
            raise StreamError(str(error)) from None

    async def close(self) -> None:
        self._store = None
        await self._opened.aclose()

    async def _check_room(self, rows: Sequence[FailedRow]) -> None:
        """Raise NotTakenError, StoreError."""
        if any(kept_values(one.values)[1] for one in rows):
            raise NotTakenError("the row is refused, and too long for the error store")
        count = await (await self._failed()).count(self.source.name, FailedChoice())
        if count + len(rows) > self.most:
            raise NotTakenError(f"rows are refused, and the error store has {count:,} of the app: drop some there")

    async def _add(self, rows: Sequence[FailedRow]) -> None:
        dropped = await (await self._failed()).add(rows)
        if dropped:
            self.dropped += dropped
            tell_dropped(self.warnings, dropped)

    async def _failed(self) -> FailedRows:
        if self._store is None:
            self._store = await self._opened.enter_async_context(open_failed_rows(self.session))
        return self._store


def tell_dropped(warnings: CountedWarnings, count: int) -> None:
    """Say that the error store had no room."""
    reason = f"{count:,} older rows of the app were dropped for newer ones; it keeps {MOST_FAILED_ROWS:,}"
    warnings.tell("the error store is full", reason)
