"""Follows the topic `apps` for those who act on its rows: a fresh row never waits behind what was not read in time.

A row that makes something has a minute to do so. So each start reads the last minute first, and what lies behind it
piece by piece, with a look at fresh rows after each piece.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from store.errors import StoreError
from streams.records import Position, Record, Start
from streams.topic_reader import TopicReader
from streams.topics import APPS
from ui.apps.app_actions import ACTION_SECONDS, AppActions
from ui.apps.app_halts import HALT_SECONDS

FRESH_SECONDS = max(ACTION_SECONDS, HALT_SECONDS)
"""As old as a row may be that still acts."""
ROWS_BETWEEN_LOOKS = 2_000
"""Of what lies behind, some tens of milliseconds; then fresh rows again."""


@dataclass(slots=True)
class _Gap:
    """Rows that nobody read when they came: from `following` up to `end`, by partition."""

    following: Start
    end: Mapping[Position, int]

    def has(self, record: Record) -> bool:
        return record.offset < self.end.get(record.position, 0)


@dataclass(slots=True)
class RowFollower:
    """Gives each row to `take` once. `actions`: of whoever takes back by old rows too, and settles that once all rows
    that are there were taken; None: older rows than fresh ones are left out.

    Repeated rows are recognised by their ids, but one that was left out is not: so reading goes on where it was.
    """

    kafka: str
    take: Callable[[bytes], Awaitable[None]]
    actions: AppActions | None = None
    topic: str = APPS
    _following: dict[Position, int] = field(default_factory=dict)
    _gaps: list[_Gap] = field(default_factory=list)

    async def read(self) -> None:
        """Read without end. Raises StreamError, StoreError and what `take` raises; called again, goes on."""
        async with self._reader(wall_now() - FRESH_SECONDS * MICROSECONDS) as fresh:
            await self._begin(fresh)
            await self._take_to_end(fresh)
            while self._gaps:
                await self._close(self._gaps[0], fresh)
                del self._gaps[0]
            await self._settle(fresh)
            async for record in fresh.records():
                await self._take_fresh(record)
                await self._settle(fresh)

    def _reader(self, start: Start) -> TopicReader:
        return TopicReader(self.kafka, (self.topic,), start)

    async def _begin(self, fresh: TopicReader) -> None:
        """Note what lies between the rows that were taken and the fresh ones."""
        first, ends = fresh.next_offsets, await fresh.end_offsets()
        # one that is behind the end is of a topic that was deleted and created again
        known = {position: offset for position, offset in self._following.items() if offset <= ends.get(position, -1)}
        behind = {position: offset for position, offset in known.items() if offset < first[position]}
        if self.actions is not None:
            if not self._following:
                self._gaps.append(_Gap(await self.actions.since(), first))
            elif behind:
                self._gaps.append(_Gap(behind, first))
        self._following = {position: max(offset, known.get(position, 0)) for position, offset in first.items()}

    async def _close(self, gap: _Gap, fresh: TopicReader) -> None:
        """Take what is in the gap, and fresh rows meanwhile."""
        async with self._reader(gap.following) as past:
            following = past.next_offsets
            gap.following = following
            if all(offset >= gap.end.get(position, 0) for position, offset in following.items()):
                return
            async for batch in past.batches_to_end(ROWS_BETWEEN_LOOKS):
                for record in filter(gap.has, batch):
                    await self._take(record, following)
                await self._take_to_end(fresh)

    async def _take_to_end(self, fresh: TopicReader) -> None:
        async for record in fresh.records_to_end():
            await self._take_fresh(record)

    async def _take_fresh(self, record: Record) -> None:
        # some were taken before a failure
        if record.offset >= self._following.get(record.position, 0):
            await self._take(record, self._following)

    async def _take(self, record: Record, following: dict[Position, int]) -> None:
        following[record.position] = record.offset + 1
        try:
            await self.take(record.value)
        except StoreError:
            following[record.position] = record.offset
            raise

    async def _settle(self, fresh: TopicReader) -> None:
        if self.actions is not None and self.actions.has_late:
            await self._take_to_end(fresh)
            await self.actions.settle()
