"""The newest cycles that detection has found, read from their topic when somebody asks: rows come by the hundred a
second, and nobody may ever look."""

import asyncio
from contextlib import suppress

from market.prices.cycle_opportunities import CycleOpportunity
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Session
from streams.cycle_messages import cycle_opportunity_of
from streams.errors import StreamError
from streams.latest_rows import LatestRows
from streams.message_format import WireError, row_of
from streams.records import Record
from streams.topics import CYCLE_OPPORTUNITIES

MOST = 500
KEPT = MICROSECONDS
"""An answer is used again for so long, however many ask."""


class FoundCycles:
    """Runs on one event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._rows = LatestRows(session.services.kafka, CYCLE_OPPORTUNITIES)
        self._found: tuple[CycleOpportunity, ...] = ()
        self._read_at = 0
        self._reading = asyncio.Lock()

    async def newest(self) -> tuple[CycleOpportunity, ...]:
        """Return the distinct ones of this session among the last MOST messages, newest first, without levels; at most
        a second old. None are found if the session watches no cycles. Raises StreamUnavailableError."""
        if self._session.cycles is None:
            return ()
        async with self._reading:
            if wall_now() - self._read_at > KEPT:
                await self._rows.open()
                self._found = await asyncio.to_thread(self._distinct, await self._rows.newest(MOST))
                self._read_at = wall_now()
        return self._found

    async def close(self) -> None:
        with suppress(StreamError):
            await self._rows.close()

    def _distinct(self, records: list[Record]) -> tuple[CycleOpportunity, ...]:
        """Return them; the first with an id counts. Takes its time: call it in a thread."""
        first: dict[str, CycleOpportunity] = {}
        for record in records:
            with suppress(WireError):
                found = cycle_opportunity_of(row_of(record.value), record.time, with_levels=False)
                if isinstance(found, CycleOpportunity) and found.detected_time >= self._session.started_at:
                    first.setdefault(found.opportunity_id, found)
        return tuple(reversed(first.values()))
