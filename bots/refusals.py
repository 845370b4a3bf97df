"""Counts refusals and writes them at most once a second each, so that hundreds a second cost the store a few writes."""

from dataclasses import replace

from market.arbitrages import Refusal
from market.clock import MICROSECONDS
from market.money import decimal_of
from market.opportunities import Opportunity
from store.port import TradeStore

_Key = tuple[str, str, str, str, int]


class RefusalBook:
    """The refusals of one bot that are not written yet: the first of each (pair, reason, second), the rest counted.

    A crash loses at most those of the last second: they inform, nothing is decided by them.
    """

    def __init__(self, exchange: str) -> None:
        self._exchange = exchange
        self._refusals: dict[_Key, tuple[Refusal, Opportunity]] = {}

    def note(self, opportunity: Opportunity, reason: str, refused_at: int) -> None:
        """`refused_at` is wall time, microseconds."""
        pair = (opportunity.base, opportunity.buy.exchange, opportunity.sell.exchange)
        key = (*pair, reason, refused_at // MICROSECONDS)
        known = self._refusals.get(key)
        if known is not None:
            first, kept = known
            self._refusals[key] = replace(first, count=first.count + 1), kept
            return
        refusal = Refusal(
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
        self._refusals[key] = refusal, opportunity

    async def write(self, store: TradeStore) -> None:
        """Raises StoreUnavailableError; what was not written by then is kept for the next time."""
        for key in tuple(self._refusals):
            refusal, opportunity = self._refusals.pop(key)
            try:
                await store.save_opportunity(opportunity)
                await store.refuse(refusal)
            except BaseException:
                self._refusals.setdefault(key, (refusal, opportunity))
                raise
