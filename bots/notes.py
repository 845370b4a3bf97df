"""What a bot writes down later, together, so that hundreds of refusals a second cost the store a few writes."""

from dataclasses import replace

from market.arbitrages import Refusal
from market.clock import MICROSECONDS
from market.money import decimal_of
from market.opportunities import Opportunity
from store.errors import StoreError
from store.port import TradeStore

BELOW_THRESHOLD = "below_threshold"
"""Such opportunities are many and stay out of the store; their refusal says what they would have brought."""

_Key = tuple[str, str, str, str, int]


class Notes:
    """Opportunities that were acted on, and refusals: the first of each (pair, reason, second), the rest counted.

    A crash loses at most those that were not written yet: they inform, nothing is decided by them.
    """

    def __init__(self, exchange: str) -> None:
        self._exchange = exchange
        self._refusals: dict[_Key, Refusal] = {}
        self._opportunities: dict[str, Opportunity] = {}

    def keep(self, opportunity: Opportunity) -> None:
        self._opportunities[opportunity.opportunity_id] = opportunity

    def refuse(self, opportunity: Opportunity, reason: str, refused_at: int) -> None:
        """`refused_at` is wall time, microseconds."""
        pair = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        key = (*pair, reason, refused_at // MICROSECONDS)
        known = self._refusals.get(key)
        if known is not None:
            self._refusals[key] = replace(known, count=known.count + 1)
            return
        self._refusals[key] = self._refusal(opportunity, reason, refused_at)
        if reason != BELOW_THRESHOLD:
            self.keep(opportunity)

    async def write(self, store: TradeStore) -> None:
        """Raises StoreError; what was not written by then is kept for the next time."""
        for identity, opportunity in tuple(self._opportunities.items()):
            await store.save_opportunity(opportunity)
            self._opportunities.pop(identity, None)
        for key in tuple(self._refusals):
            refusal = self._refusals.pop(key)
            try:
                await store.refuse(refusal)
            except StoreError:
                later = self._refusals.get(key)
                missed = 0 if later is None else later.count
                self._refusals[key] = replace(refusal, count=refusal.count + missed)
                raise

    def _refusal(self, opportunity: Opportunity, reason: str, refused_at: int) -> Refusal:
        return Refusal(
            refusal_id=f"{opportunity.opportunity_id}:{self._exchange}:{reason}",
            opportunity_id=opportunity.opportunity_id,
            base=opportunity.base,
            buy_exchange=opportunity.buy.exchange,
            sell_exchange=opportunity.sell.exchange,
            exchange=self._exchange,
            reason=reason,
            net_bps=opportunity.net_bps,
            expected_profit=decimal_of(opportunity.expected_profit),
            refused_at=refused_at,
        )
