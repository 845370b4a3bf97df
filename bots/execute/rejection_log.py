"""Buffers rejections, opportunities and episodes and writes each in one batch a round: hundreds of them a second cost
the store three requests."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from bots.execute.episode_log import MAX_REMEMBERED, EpisodeLog
from market.money import decimal_of_double
from market.prices.episodes import TradeBounds, tradable_profit
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Arbitrage, Rejection
from runtime.recent_names import RecentNames
from store.ports.trading import ObservationStore

BELOW_THRESHOLD = "below_threshold"
"""Opportunities rejected for this are too many to store; they are counted with their episode."""

MAX_PENDING = 10_000
"""Records of each kind that are buffered during an outage of the store."""
log = logging.getLogger(__name__)

_Key = tuple[str, str, str, str, int]


@dataclass(slots=True)
class _Batch:
    """What one round writes. One that failed is tried again as it is: the store counts each rejection of it once."""

    rejections: dict[_Key, Rejection] = field(default_factory=dict)
    opportunities: dict[str, Opportunity] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not self.rejections and not self.opportunities


class RejectionLog:
    """Records opportunities acted on and rejections: the first of each (pair, reason, second) in full, the rest
    counted.

    An opportunity is counted once, however often it is tried. A crash loses at most what was not written yet; the log
    is for information only.
    """

    def __init__(self, bounds: Callable[[Opportunity], TradeBounds]) -> None:
        """`bounds` returns what one trade on an opportunity may use now."""
        self._bounds = bounds
        self.episodes = EpisodeLog(bounds)
        self._pending = _Batch()
        self._being_written = _Batch()
        self._rejected = RecentNames(MAX_REMEMBERED)
        self._recorded_in_full = RecentNames(MAX_REMEMBERED)
        """Keys whose first rejection was recorded: writes are more frequent than once a second."""
        self.dropped = 0
        """Records dropped since the last successful write."""

    def see(self, opportunity: Opportunity, now: int) -> None:
        """Count it, before anything is decided on it. `now`: the market's time, microseconds."""
        self.episodes.see(opportunity, now)

    def follow(self, arbitrage: Arbitrage) -> None:
        """Record what became of an opportunity that was acted on."""
        self.episodes.follow(arbitrage)

    def record_opportunity(self, opportunity: Opportunity) -> None:
        if len(self._pending.opportunities) >= MAX_PENDING:
            self.dropped += 1
            return
        self._pending.opportunities[opportunity.opportunity_id] = opportunity

    def reject(
        self, opportunity: Opportunity, reason: str, rejected_at: int, record: Callable[[], str] | None = None
    ) -> None:
        """`rejected_at` is wall time, microseconds; `record` is called only for a rejection recorded in full."""
        if not self._rejected.is_new(opportunity.opportunity_id):
            return
        self.episodes.reject(opportunity, reason)
        rejections = self._pending.rejections
        pair = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        key = (*pair, reason, rejected_at // MICROSECONDS)
        known = rejections.get(key)
        if known is not None:
            highest = max(known.tradable, self._tradable(opportunity))
            until = max(known.until, _until(opportunity, rejected_at))
            rejections[key] = replace(known, count=known.count + 1, tradable=highest, until=until)
            return
        if len(rejections) >= MAX_PENDING:
            self.dropped += 1
            return
        is_first = self._recorded_in_full.is_new(key)
        text = record() if is_first and record is not None else None
        rejections[key] = replace(self._rejection(opportunity, reason, rejected_at), record=text)
        if is_first and reason != BELOW_THRESHOLD:
            self.record_opportunity(opportunity)

    async def write(self, store: ObservationStore, now: int) -> None:
        """Write everything buffered. `now`: the market's time, microseconds. Raises StoreError; what was not written
        is written by a later call, and counted once however often it was tried."""
        self.episodes.expire(now)
        await self.episodes.write(store)
        while not (self._being_written.is_empty and self._pending.is_empty):
            if self._being_written.is_empty:
                self._being_written, self._pending = self._pending, _Batch()
            await self._write(store, self._being_written)
        if self.dropped:
            log.warning("%d rejections dropped: the store was unavailable for too long", self.dropped)
            self.dropped = 0

    async def _write(self, store: ObservationStore, batch: _Batch) -> None:
        if batch.opportunities:
            await store.save_opportunities(list(batch.opportunities.values()))
            batch.opportunities.clear()
        if batch.rejections:
            await store.reject(list(batch.rejections.values()))
            batch.rejections.clear()

    def _rejection(self, opportunity: Opportunity, reason: str, rejected_at: int) -> Rejection:
        return Rejection(
            rejection_id=f"{opportunity.opportunity_id}:{reason}",
            opportunity_id=opportunity.opportunity_id,
            base=opportunity.base,
            buy_exchange=opportunity.buy.exchange,
            sell_exchange=opportunity.sell.exchange,
            exchange=opportunity.buy.exchange,
            reason=reason,
            net_bps=opportunity.net_bps,
            expected_profit=decimal_of_double(opportunity.expected_profit),
            rejected_at=rejected_at,
            tradable=self._tradable(opportunity),
            until=_until(opportunity, rejected_at),
        )

    def _tradable(self, opportunity: Opportunity) -> Decimal:
        return tradable_profit(opportunity, self._bounds(opportunity))


def _until(opportunity: Opportunity, rejected_at: int) -> int:
    """Latest expiry, by the clock of `rejected_at`."""
    return rejected_at + opportunity.expires_at - opportunity.event_time
