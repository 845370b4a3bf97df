"""Keeps rows of an app that failed in the error store, by following its streams of errors in the topic `apps`.

Its progress is in a file beside the app's snapshots, written once the store has the rows. So after a kill it goes on
there: a row that is written twice is known by the id under which it failed.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import orjson

from cep.apps.compiler.app import ERROR
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.hosts.hosted_app import AppSource
from cep.apps.language.app_ends import kept_streams
from launch.apps.failed_ends import tell_dropped
from launch.apps.row_copier import GivenRow, given_row
from launch.setup.data_dir import write_atomically
from runtime.backoff import retry_on
from session.session import Session
from store.errors import StoreUnavailableError
from store.operations.failed_rows import open_failed_rows
from store.ports.apps import FailedRows
from store.records.failed_rows import FailedRow
from streams.errors import StreamUnavailableError
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topics import APPS

MOST_AT_ONCE = 1_000
ROWS_BETWEEN_PLACES = 10_000
"""Rows that did not fail, and may be read again."""
ERRORS_PLACE = "errors.place"

log = logging.getLogger("launch")


class ErrorKeeper:
    """`label`, `folder`: of the version whose rows it keeps. `first`: where the session begins in the topic, by
    position."""

    def __init__(
        self, session: Session, source: AppSource, label: str, first: Mapping[Position, int], folder: Path
    ) -> None:
        self._session, self._source, self._label = session, source, label
        self._path = folder / ERRORS_PLACE
        self._streams = tuple(f"!{name}" for name in kept_streams(source.app))
        kept = _kept(self._path)
        self._next = {position: kept.get(str(position[1]), offset) for position, offset in first.items()}
        self._unsaved = 0
        self.dropped = 0
        """Older rows that the store dropped for those of here."""
        self._warnings = CountedWarnings({"app": source.name})

    async def follow(self) -> None:
        """Keep rows until cancelled, through outages of Kafka and MongoDB. Raises StreamError, StoreError."""

        def tell(error: Exception) -> None:
            log.warning("error store waits", extra={"app": self._source.name, "reason": str(error)})

        if not self._path.exists():
            # a later version goes on where this one was killed, so it has to know that it was there
            await self._save()
        await retry_on(self._follow, (StreamUnavailableError, StoreUnavailableError), tell)

    async def catch_up(self) -> None:
        """Keep what was written to the topic before now. Raises StreamError, StoreError."""
        async with self._opened() as (reader, failed):
            async for batch in reader.batches_to_end(MOST_AT_ONCE):
                await self._keep(failed, batch)
            await self._save()

    async def _follow(self) -> None:
        async with self._opened() as (reader, failed):
            async for batch in reader.batches():
                await self._keep(failed, batch)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[TopicReader, FailedRows]]:
        async with (
            open_failed_rows(self._session) as failed,
            TopicReader(self._session.services.kafka, (APPS,), dict(self._next)) as reader,
        ):
            yield reader, failed

    async def _keep(self, failed: FailedRows, batch: Iterable[Record]) -> None:
        records = list(batch)
        rows = list(failed_rows(records, self._source, self._streams, self._label))
        if rows and (dropped := await failed.add(rows)):
            self.dropped += dropped
            tell_dropped(self._warnings, dropped)
        for record in records:
            self._next[record.position] = record.offset + 1
        self._unsaved += len(records)
        if rows or self._unsaved >= ROWS_BETWEEN_PLACES:
            await self._save()

    async def _save(self) -> None:
        places = {str(partition): offset for (_, partition), offset in self._next.items()}
        await asyncio.to_thread(write_atomically, self._path, orjson.dumps(places))
        self._unsaved = 0


def failed_rows(
    records: Iterable[Record], source: AppSource, streams: tuple[str, ...], label: str | None = None
) -> Iterator[FailedRow]:
    """Return the rows of these streams of errors of the app. A row whose request a sink gave up is no other. `label`:
    of the version; None: the source's."""
    sinks = {f"!{sink.stream}" for sink in source.outside.calls if sink.keeps_errors}
    for record in records:
        row = given_row(record, source.name, label or source.label, streams)
        if row is not None:
            yield _failed(row, source.name, is_delivery=row.stream in sinks)


def _failed(row: GivenRow, app: str, *, is_delivery: bool) -> FailedRow:
    values = {name: value for name, value in row.values.items() if name != ERROR}
    return FailedRow(
        row.id,
        app,
        row.stream.removeprefix("!"),
        "delivery" if is_delivery else "row",
        values,
        str(row.values.get(ERROR)),
        time=row.time,
        occurrence=str(row.whole["id"]),
    )


def _kept(path: Path) -> dict[str, int]:
    """Return the next offset by partition; none if there is no readable file: rows are then kept again, each once."""
    try:
        return {str(partition): int(offset) for partition, offset in orjson.loads(path.read_bytes()).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
