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
from cep.apps.transports.outbox import AddedRow, OutboxHeldError, Place, RowOutbox
from cep.apps.transports.ports import OutgoingRow, RowsRefusedError, SinkSender
from launch.apps.failed_ends import FailedEnds
from launch.apps.row_copier import CopyPlace, given_row
from runtime.backoff import retry_on
from runtime.clock import SystemClock, wall_now
from runtime.tasks import run_all
from streams.errors import StreamError
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topics import APPS

FINISH_SECONDS = 2.0
"""Longest wait for an app's last rows at its end; its next run sends the rest."""
MOST_WAITING = 1_000_000
"""Rows in the outbox; beyond that no more are read from the topic `apps`, which keeps them for a day."""
ROWS_BETWEEN_LOOKS = 5_000
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
    """`kafka`: the session's. `log`: names session and version in the outbox; `label`: the version's, which is the key
    of its rows. `first`: where the session begins in `apps`. `path`: of the outbox."""

    kafka: str
    label: str
    log: str
    first: Mapping[Position, int]
    path: Path
    sinks: tuple[AppSink, ...]
    failed: FailedEnds
    warnings: CountedWarnings
    _deliveries: tuple[SinkDelivery, ...] = ()
    _places: dict[int, CopyPlace] = field(default_factory=dict)
    _since_look: int = ROWS_BETWEEN_LOOKS
    _unsaved: int = 0

    async def follow(self) -> None:
        """Send until cancelled, through outages of Kafka and of who takes the rows."""
        await retry_on(self._follow, OUTAGES, self._tell)

    async def finish(self) -> None:
        """Send what was given before now, if it is taken in time."""
        try:
            async with asyncio.timeout(FINISH_SECONDS):
                with self._opened() as outbox:
                    async with self._reader() as reader:
                        async for batch in reader.batches_to_end(LONG_ENOUGH):
                            self._take(batch, outbox)
                    await run_all(*(one.run(until_done=True) for one in self._deliveries))
        except (*OUTAGES, TimeoutError):
            log.warning("rows wait: the app's next run sends them", extra={"outbox": self.path.parent.name})

    def figures(self) -> list[Mapping[str, Any]]:
        """Return what the app's status says of each sink, while it runs."""
        now = wall_now() // 1_000
        return [one.figures(now) for one in self._deliveries]

    async def _follow(self) -> None:
        with self._opened() as outbox:
            await run_all(self._read(outbox), *(one.run() for one in self._deliveries))

    @contextmanager
    def _opened(self) -> Iterator[RowOutbox]:
        outbox = RowOutbox(self.path)
        try:
            kept = {
                one: CopyPlace(at, time, (row, place))
                for one, (at, time, row, place) in outbox.places(self.log).items()
            }
            self._places = {place: kept.get(place, CopyPlace(offset)) for (_, place), offset in self.first.items()}
            self._deliveries = tuple(
                SinkDelivery(
                    one.name,
                    one.sender,
                    outbox,
                    one.on_error,
                    partial(self.failed.keep_rows, one.stream),
                    counts=one.counts,
                    warnings=self.warnings,
                )
                for one in self.sinks
            )
            self._tell_left(outbox)
            yield outbox
        finally:
            self._deliveries = ()
            outbox.close()

    def _reader(self) -> TopicReader:
        return TopicReader(
            self.kafka, (APPS,), {(APPS, partition): one.next for partition, one in self._places.items()}
        )

    async def _read(self, outbox: RowOutbox) -> None:
        async with self._reader() as reader:
            oldest = await reader.oldest_offsets()
            for partition, place in self._places.items():
                if oldest[APPS, partition] > place.next:
                    reason = f"Kafka has deleted rows {place.next} to {oldest[APPS, partition] - 1} of the topic {APPS}"
                    self.warnings.tell("rows are missing", reason, f"partition {partition}", partition=partition)
            async for batch in reader.batches():
                await self._wait_for_room(outbox)
                self._take(batch, outbox)

    async def _wait_for_room(self, outbox: RowOutbox) -> None:
        if self._since_look < ROWS_BETWEEN_LOOKS:
            return
        # those of sinks that the text does not have any more never leave
        while (waiting := sum(outbox.sinks().get(one.name, 0) for one in self.sinks)) > MOST_WAITING:
            self.warnings.tell("sinks wait", f"{waiting:,} rows are not taken, and no more are read before some are")
            await SystemClock().sleep(1.0)
        self._since_look = 0

    def _take(self, batch: Iterable[Record], outbox: RowOutbox) -> None:
        """Put the rows into the outbox, with the place up to which they were read."""
        streams = {one.stream for one in self.sinks}
        rows: list[AddedRow] = []
        for record in batch:
            place = self._places[record.partition]
            row = given_row(record, self.label, streams)
            self._unsaved += 1
            if row is None or not place.follows(row):
                self._places[record.partition] = CopyPlace(record.offset + 1, place.time, place.order)
                continue
            self._places[record.partition] = CopyPlace(record.offset + 1, row.time, row.order)
            outgoing = OutgoingRow(row.id, row.time, row.values)
            rows += [_added(one, outgoing) for one in self._of(row.stream)]
        if not rows and self._unsaved < LONG_ENOUGH:
            return
        outbox.add(rows, self.log, {one: _kept(place) for one, place in self._places.items()}, wall_now())
        self._since_look, self._unsaved = self._since_look + len(rows), 0
        for delivery in self._deliveries:
            delivery.note(rows)

    def _of(self, stream: str) -> Iterator[AppSink]:
        return (one for one in self.sinks if one.stream == stream)

    def _tell_left(self, outbox: RowOutbox) -> None:
        names = {one.name for one in self.sinks}
        for name, count in outbox.sinks().items():
            if name not in names:
                reason = f"{count:,} rows wait for {name}, which the app's text does not have any more"
                self.warnings.tell("rows are not sent", reason, name)

    def _tell(self, error: Exception) -> None:
        self.warnings.tell("sinks wait", str(error))


def _added(sink: AppSink, row: OutgoingRow) -> AddedRow:
    """Return the row with where it goes; empty texts if nowhere, which its sender says again when it is sent."""
    try:
        destination = sink.sender.destination(row.values)
    except RowsRefusedError:
        return AddedRow(sink.name, "", "", row)
    return AddedRow(sink.name, sink.sender.server(destination), destination, row)


def _kept(place: CopyPlace) -> Place:
    return place.next, place.time, *place.order
