"""Sends an app's rows to servers of others: reads them from the topic `apps` into the app's outbox, and sends them from
there, a queue for each destination (`cep.apps.transports.delivery`).

The outbox is the app's, whatever its version and session: what waits there when the app is stopped is sent by its next
run.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from cep.apps.ends.sink_ends import OnError
from cep.apps.hosts.counted_warnings import CountedWarnings
from cep.apps.transports.delivery import DeliveryCounts, SinkDelivery
from cep.apps.transports.outbox import AddedRow, OutboxHeldError, RowOutbox
from cep.apps.transports.ports import OutgoingRow, RowsRefusedError, SinkSender
from launch.apps.failed_ends import FailedEnds
from launch.apps.row_copier import GivenRow, tell_missing
from launch.apps.version_logs import VersionLog, VersionLogs, version_logs
from runtime.backoff import retry_on
from runtime.clock import SystemClock, wall_now
from runtime.tasks import run_all
from streams.errors import StreamError
from streams.records import Position, Record
from streams.topic_admin import topic_mark
from streams.topic_reader import TopicReader
from streams.topics import APPS

FINISH_SECONDS = 2.0
"""Longest wait for an app's last rows at its end; its next run sends the rest."""
MOST_WAITING = 1_000_000
"""Rows in the outbox; beyond that no more are read from the topic `apps`, which keeps them for a day."""
MOST_WAITING_BYTES = 1 << 30
"""The same of their values."""
LONG_ENOUGH = 1_000
"""Rows of other apps that may be read again."""
OUTAGES = (StreamError, OutboxHeldError, sqlite3.OperationalError)

log = logging.getLogger("launch")


@dataclass(frozen=True, slots=True)
class AppSink:
    """`name`: of the sink in the outbox; `stream`: whose rows it gets."""

    name: str
    stream: str
    sender: SinkSender
    on_error: OnError
    counts: DeliveryCounts = field(default_factory=DeliveryCounts)


@dataclass(slots=True)
class RowSender:
    """`kafka`: the session's. `app`: the app's name; `label`: the version's, which is the key of its rows. `first`:
    where the session begins in `apps`. `path`: of the outbox."""

    kafka: str
    app: str
    label: str
    first: Mapping[Position, int]
    path: Path
    sinks: tuple[AppSink, ...]
    failed: FailedEnds
    warnings: CountedWarnings
    _deliveries: tuple[SinkDelivery, ...] = ()
    _unsaved: int = 0

    async def follow(self) -> None:
        """Send until cancelled, through outages of Kafka and of who takes the rows."""
        await retry_on(self._follow, OUTAGES, self._tell)

    async def finish(self) -> None:
        """Send what was given before now, if it is taken in time."""
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                with self._opened(await topic_mark(self.kafka, APPS)) as (outbox, logs):
                    async with self._reader(logs) as reader:
                        async for batch in reader.batches_to_end(LONG_ENOUGH):
                            self._take(batch, outbox, logs)
                    await run_all(*(one.run(until_done=True) for one in self._deliveries))
        except (*OUTAGES, TimeoutError):
            log.warning("rows wait: the app's next run sends them", extra={"outbox": self.path.parent.name})

    def figures(self) -> list[Mapping[str, Any]]:
        """Return what the app's status says of each sink, while it runs."""
        now = wall_now() // 1_000
        return [one.figures(now) for one in self._deliveries]

    async def _follow(self) -> None:
        with self._opened(await topic_mark(self.kafka, APPS)) as (outbox, logs):
            await run_all(self._read(outbox, logs), *(one.run() for one in self._deliveries))

    @contextmanager
    def _opened(self, topic: str) -> Iterator[tuple[RowOutbox, VersionLogs]]:
        outbox = RowOutbox(self.path)
        try:
            first = {partition: offset for (_, partition), offset in self.first.items()}
            logs = version_logs(
                outbox, topic, self.app, self.label, {one.name: one.stream for one in self.sinks}, first
            )
            self._deliveries = tuple(
                SinkDelivery(
                    one.name,
                    one.sender,
                    outbox,
                    one.on_error,
                    partial(self.failed.keep_rows, one.stream, loses_none=one.on_error == "wait"),
                    counts=one.counts,
                    warnings=self.warnings,
                )
                for one in self.sinks
            )
            self._tell_left(outbox)
            yield outbox, logs
        finally:
            self._deliveries = ()
            outbox.close()

    def _reader(self, logs: VersionLogs) -> TopicReader:
        return TopicReader(self.kafka, (APPS,), {(APPS, one): offset for one, offset in logs.begin().items()})

    async def _read(self, outbox: RowOutbox, logs: VersionLogs) -> None:
        async with self._reader(logs) as reader:
            # before the session, what was not read was other apps', or is of a day ago
            begin = {place: max(logs.own.places[place[1]].next, first) for place, first in self.first.items()}
            tell_missing(self.warnings, await reader.oldest_offsets(), begin)
            async for batch in reader.batches():
                await self._wait_for_room(outbox)
                self._take(batch, outbox, logs)

    async def _wait_for_room(self, outbox: RowOutbox) -> None:
        # those of sinks that the text does not have any more never leave
        while self._is_full(outbox):
            waiting = sum(outbox.sinks().values())
            self.warnings.tell("sinks wait", f"{waiting:,} rows are not taken, and no more are read before some are")
            await SystemClock().sleep(1.0)

    def _is_full(self, outbox: RowOutbox) -> bool:
        rows, sizes = outbox.sinks(), outbox.sizes()
        names = [one.name for one in self.sinks]
        return (
            sum(rows.get(one, 0) for one in names) > MOST_WAITING
            or sum(sizes.get(one, 0) for one in names) > MOST_WAITING_BYTES
        )

    def _take(self, batch: Iterable[Record], outbox: RowOutbox, logs: VersionLogs) -> None:
        """Put the rows into the outbox, with the places up to which they were read."""
        rows: list[AddedRow] = []
        given = {logs.own.name: logs.own}
        for record in batch:
            self._unsaved += 1
            if (found := logs.take(record)) is not None:
                log, row = found
                given[log.name] = log
                rows += self._added(log, row)
        if not rows and self._unsaved < LONG_ENOUGH:
            return
        if self._unsaved >= LONG_ENOUGH:
            given = {one.name: one for one in logs}
        outbox.add(rows, logs.saved_places(given.values()), wall_now())
        self._unsaved = 0
        for delivery in self._deliveries:
            delivery.note(rows)

    def _added(self, log: VersionLog, row: GivenRow) -> Iterator[AddedRow]:
        """Yield the row for each sink that has it; those that an earlier version alone had get none any more."""
        present = {one.name: one for one in self.sinks}
        for name in [name for name, stream in log.sinks.items() if stream == row.stream]:
            if name in present:
                yield _added(present[name], OutgoingRow(row.id, row.time, row.values))
            else:
                self._tell_gone(name, "an earlier version has given rows", row=row.id)

    def _tell_left(self, outbox: RowOutbox) -> None:
        names = {one.name for one in self.sinks}
        for name, count in outbox.sinks().items():
            if name not in names:
                self._tell_gone(name, f"{count:,} rows wait")

    def _tell_gone(self, name: str, what: str, **noted: object) -> None:
        reason = f"{what} for {name}, which the app's text does not have any more"
        self.warnings.tell("rows are not sent", reason, name, **noted)

    def _tell(self, error: Exception) -> None:
        self.warnings.tell("sinks wait", str(error))


def _added(sink: AppSink, row: OutgoingRow) -> AddedRow:
    """Return the row with where it goes; empty texts if nowhere, which its sender says again when it is sent."""
    try:
        destination = sink.sender.destination(row.values)
    except RowsRefusedError:
        return AddedRow(sink.name, "", "", row)
    return AddedRow(sink.name, sink.sender.server(destination), destination, row)
