"""Buffers rejections and opportunities and writes them in batches: hundreds a second cost the store a few writes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field, replace
from decimal import Decimal

from market.accounting.episodes import TradeBounds, tradable_profit
from market.money import decimal_of_double
from market.prices.opportunities import Opportunity
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Rejection
from store.errors import StoreError
from store.store_port import TradeStore

BELOW_THRESHOLD = "below_threshold"
"""Opportunities rejected for this are too many to store; their rejection has the missed profit."""

MAX_PENDING = 10_000
"""Records of each kind that are buffered during an outage of the store."""
MAX_REMEMBERED = 20_000
"""Recently rejected opportunities remembered: a repeated one comes within seconds."""
CONCURRENT_WRITES = 4
"""Concurrent writes: more would take the driver's few threads away from reservations."""

log = logging.getLogger(__name__)

_Key = tuple[str, str, str, str, int]


@dataclass(slots=True)
class _RecentNames:
    """A set of the newest `max_names` names."""

    highest: int
    _names: dict[Hashable, None] = field(default_factory=dict)

    def is_new(self, name: Hashable) -> bool:
        """Whether `name` was not in the set; adds it."""
        if name in self._names:
            return False
        self._names[name] = None
        if len(self._names) > self.highest:
            del self._names[next(iter(self._names))]
        return True


async def _gather(writes: Iterable[Awaitable[None]]) -> None:
    """Wait for all of them, then raise the first failure."""
    for outcome in await asyncio.gather(*writes, return_exceptions=True):
        if outcome is not None:
            raise outcome


class RejectionLog:
    """Records opportunities acted on and rejections: the first of each (pair, reason, second) in full, the rest
    counted.

    An opportunity is counted once, however often it is tried. A crash loses at most what was not written yet; the log
    is for information only.
    """

    def __init__(self, exchange: str, bounds: Callable[[Opportunity], TradeBounds]) -> None:
        """`bounds` returns what one trade on an opportunity may use now."""
        self._exchange = exchange
        self._bounds = bounds
        self._rejections: dict[_Key, Rejection] = {}
        self._opportunities: dict[str, Opportunity] = {}
        self._rejected = _RecentNames(MAX_REMEMBERED)
        self._recorded_in_full = _RecentNames(MAX_REMEMBERED)
        """Keys whose first rejection was recorded: writes are more frequent than once a second."""
        self.dropped = 0
        """Records dropped since the last successful write."""

    def record_opportunity(self, opportunity: Opportunity) -> None:
        if len(self._opportunities) >= MAX_PENDING:
            self.dropped += 1
            return
        self._opportunities[opportunity.opportunity_id] = opportunity

    def reject(
        self, opportunity: Opportunity, reason: str, rejected_at: int, record: Callable[[], str] | None = None
    ) -> None:
        """`rejected_at` is wall time, microseconds; `record` is called only for a rejection recorded in full."""
        if not self._rejected.is_new(opportunity.opportunity_id):
            return
        pair = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        key = (*pair, reason, rejected_at // MICROSECONDS)
        known = self._rejections.get(key)
        if known is not None:
            highest = max(known.tradable, self._tradable(opportunity))
            until = max(known.until, _until(opportunity, rejected_at))
            self._rejections[key] = replace(known, count=known.count + 1, tradable=highest, until=until)
            return
        if len(self._rejections) >= MAX_PENDING:
            self.dropped += 1
            return
        is_first = self._recorded_in_full.is_new(key)
        text = record() if is_first and record is not None else None
        self._rejections[key] = replace(self._rejection(opportunity, reason, rejected_at), record=text)
        if is_first and reason != BELOW_THRESHOLD:
            self.record_opportunity(opportunity)

    async def write(self, store: TradeStore) -> None:
        """Write everything buffered. Raises StoreError; what was not written stays in the buffer."""
        identities, keys = tuple(self._opportunities), tuple(self._rejections)
        for start in range(0, len(identities), CONCURRENT_WRITES):
            await _gather(
                self._write_opportunity(store, identity) for identity in identities[start : start + CONCURRENT_WRITES]
            )
        for start in range(0, len(keys), CONCURRENT_WRITES):
            await _gather(self._write_rejection(store, key) for key in keys[start : start + CONCURRENT_WRITES])
        if self.dropped:
            log.warning("%d rejections dropped: the store was unavailable for too long", self.dropped)
            self.dropped = 0

    async def _write_opportunity(self, store: TradeStore, identity: str) -> None:
        await store.save_opportunity(self._opportunities[identity])
        self._opportunities.pop(identity, None)

    async def _write_rejection(self, store: TradeStore, key: _Key) -> None:
        rejection = self._rejections.pop(key)
        try:
            await store.reject(rejection)
        except StoreError:
            later = self._rejections.get(key)
            if later is not None:
                rejection = rejection.with_more(later)
            self._rejections[key] = rejection
            raise

    def _rejection(self, opportunity: Opportunity, reason: str, rejected_at: int) -> Rejection:
        return Rejection(
            rejection_id=f"{opportunity.opportunity_id}:{self._exchange}:{reason}",
            opportunity_id=opportunity.opportunity_id,
            base=opportunity.base,
            buy_exchange=opportunity.buy.exchange,
            sell_exchange=opportunity.sell.exchange,
            exchange=self._exchange,
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
