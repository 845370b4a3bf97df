"""Keeps an app's stored tables in MongoDB, by applying their rows from the topic `apps`.

Its progress is written with each change, so that it goes on after a kill; changes that are written again are left out,
because their writer may have been killed before it reached the last one.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.hosts.shared_rows import oldest_kept
from cep.apps.hosts.stored_tables import TableChange, not_kept, table_changes
from market.time_units import MICROSECONDS
from runtime.backoff import retry_on
from runtime.clock import wall_now
from session.session import Session
from store.errors import StoreUnavailableError
from store.operations.app_tables import KeptChange, KeptPlace, MongoAppTables, open_app_tables
from streams.errors import StreamUnavailableError
from streams.records import Position, Record
from streams.topic_reader import TopicReader
from streams.topics import APPS

MOST_AT_ONCE = 1_000
FORGET_SECONDS = 3_600
"""How often rows of shared tables that have long been gone are removed."""

log = logging.getLogger("launch")


class TableKeeper:
    """`first`: where the session begins in the topic, by position: from there on it reads if nothing was kept."""

    def __init__(self, session: Session, source: AppSource, first: Mapping[Position, int]) -> None:
        self._session, self._source, self._first = session, source, first

    async def catch_up(self) -> None:
        """Write to MongoDB what was written to the topic before now. Raises StreamError, StoreError."""
        async with self._opened() as (tables, reader, places):
            async for batch in reader.batches_to_end(MOST_AT_ONCE):
                await self._keep(tables, places, batch)
            await self._forget(tables)

    async def follow(self) -> None:
        """Keep the tables until cancelled, through outages of Kafka and MongoDB. Raises StreamError, StoreError."""

        def tell(error: Exception) -> None:
            log.warning("tables wait", extra={"app": self._source.name, "reason": str(error)})

        await retry_on(self._follow, (StreamUnavailableError, StoreUnavailableError), tell)

    async def _follow(self) -> None:
        async with self._opened() as (tables, reader, places):
            forgotten = wall_now()
            async for batch in reader.batches():
                await self._keep(tables, places, batch)
                if wall_now() - forgotten > FORGET_SECONDS * MICROSECONDS:
                    await self._forget(tables)
                    forgotten = wall_now()

    async def _forget(self, tables: MongoAppTables) -> None:
        if self._source.shared is not None:
            await tables.forget(oldest_kept(wall_now() // 1_000))

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[tuple[MongoAppTables, TopicReader, dict[int, KeptPlace]]]:
        """Return the tables, the reader, and where it goes on by partition, as MongoDB says."""
        async with open_app_tables(self._session, self._source.name) as tables:
            async with TopicReader(self._session.services.kafka, (APPS,), self._first) as whole:
                ends = await whole.end_offsets()
            begin, places = {}, {}
            for position, offset in self._first.items():
                place = await tables.place(position[1])
                # a topic that was deleted and made again has fewer rows than were read before
                is_new = place.next is None or place.next > ends[position]
                places[position[1]] = KeptPlace(offset) if is_new else place
                begin[position] = offset if place.next is None or is_new else place.next
                if is_new:
                    # offsets of the deleted topic mean nothing in this one
                    await tables.write(position[1], (), places[position[1]])
            async with TopicReader(self._session.services.kafka, (APPS,), begin) as reader:
                yield tables, reader, places

    async def _keep(self, tables: MongoAppTables, places: dict[int, KeptPlace], records: Iterable[Record]) -> None:
        """Write the changes, and `places` after them."""
        by_partition: dict[int, list[Record]] = {}
        for record in records:
            by_partition.setdefault(record.partition, []).append(record)
        for partition, own in by_partition.items():
            last, changed = dict(places[partition].last), dict(places[partition].changed)
            found = table_changes(own, self._source.name, self._source.outside.tables)
            changes = list(not_kept(found, last))
            changed |= {change.collection: change.offset for change in changes}
            place = KeptPlace(own[-1].offset + 1, last, changed)
            await tables.write(partition, map(_kept, changes), place)
            places[partition] = place


def _kept(change: TableChange) -> KeptChange:
    return KeptChange(change.collection, change.key, change.number, change.row, change.order, change.stamp)
