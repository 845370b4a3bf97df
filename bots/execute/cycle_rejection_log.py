"""Buffers rejections of cycles: the first of each cycle, reason and minute in full, the rest counted. Hundreds of
sightings a second then cost the store one request every few seconds."""

import logging
from collections.abc import Callable
from dataclasses import replace

from market.decide.check_figures import Compared
from market.instruments.cycles import Cycle
from market.prices.cycle_opportunities import CycleOpportunity
from market.time_units import MICROSECONDS
from store.ports.trading import ObservationStore
from store.records.cycle_rejection import CycleRejection

MINUTE = 60 * MICROSECONDS
MOST_KEPT = 10_000
"""Rejections that are buffered during an outage of the store."""
log = logging.getLogger(__name__)

_Key = tuple[str, str, int]


class CycleRejectionLog:
    """Of one process. A crash loses at most what was not written yet; the log is for information only."""

    def __init__(self) -> None:
        self._kept: dict[_Key, CycleRejection] = {}
        self._unwritten: set[_Key] = set()
        self._dropped = 0

    @property
    def kept(self) -> tuple[CycleRejection, ...]:
        """Return those of this minute, and what is not written yet."""
        return tuple(self._kept.values())

    def reject(
        self, found: CycleOpportunity, cycle: Cycle, reason: str, rejected_at: int, figure: Callable[[], Compared]
    ) -> None:
        """`rejected_at`: wall time, microseconds; `figure` is asked only for a rejection recorded in full."""
        key = (found.cycle_id, reason, rejected_at // MINUTE)
        known = self._kept.get(key)
        if known is None and len(self._kept) >= MOST_KEPT:
            self._dropped += 1
            return
        if known is None:
            value, limit, unit = figure()
            self._kept[key] = CycleRejection(
                rejection_id=f"{found.opportunity_id}:{reason}",
                cycle_id=found.cycle_id,
                exchanges=cycle.exchanges,
                reason=reason,
                net_bps=found.net_bps,
                value=value,
                limit=limit,
                unit=unit,
                rejected_at=rejected_at,
            )
        else:
            self._kept[key] = replace(known, count=known.count + 1)
        self._unwritten.add(key)

    async def write(self, store: ObservationStore, now: int) -> None:
        """Write everything buffered. `now`: wall time, microseconds. Raises StoreError; what was not written is written
        by a later call."""
        keys, self._unwritten = self._unwritten, set()
        try:
            await store.reject_cycles([self._kept[key] for key in keys])
        except BaseException:
            self._unwritten |= keys
            raise
        # an earlier minute's are counted no further
        past = [key for key in self._kept if key[2] < now // MINUTE and key not in self._unwritten]
        for key in past:
            del self._kept[key]
        if self._dropped:
            log.warning("%d rejections of cycles dropped: the store was unavailable for too long", self._dropped)
            self._dropped = 0
