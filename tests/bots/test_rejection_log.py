"""Rejections counted by second, written once; opportunities kept once."""

from dataclasses import replace
from decimal import Decimal

import pytest

from bots.execute.rejection_log import MAX_PENDING, RejectionLog
from market.accounting.episodes import TradeBounds
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from store.errors import StoreUnavailableError
from store.memory.memory_store import MemoryTradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of


def opportunity(identity: str) -> Opportunity:
    return opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))), identity=identity)


def at_most(_: Opportunity) -> TradeBounds:
    return TradeBounds(base=Decimal(1))


class UnreachableStore(MemoryTradeStore):
    """Rejections fail while it is unreachable."""

    is_unreachable = True

    async def reject(self, rejection: Rejection) -> None:
        if self.is_unreachable:
            raise StoreUnavailableError("gone")
        await super().reject(rejection)


async def test_first_of_each_reason_and_second_whole_the_rest_counted() -> None:
    store, notes = MemoryTradeStore(), RejectionLog("alpha", at_most)
    for number, (reason, second) in enumerate(
        [("stale", 1), ("stale", 1), ("too_small", 1), ("stale", 2), ("stale", 1)]
    ):
        notes.reject(opportunity(str(number)), reason, second * 1_000_000 + number)
    await notes.write(store)
    seen = {(one.opportunity_id, one.reason, one.count) for one in store.rejections.values()}
    assert seen == {("0", "stale", 3), ("2", "too_small", 1), ("3", "stale", 1)}
    assert store.opportunities.keys() == {"0", "2", "3"}


async def test_later_rejections_of_the_same_second_are_added() -> None:
    store, notes = MemoryTradeStore(), RejectionLog("alpha", at_most)
    notes.reject(opportunity("1"), "stale", 1_000_000)
    await notes.write(store)
    notes.reject(opportunity("2"), "stale", 1_500_000)
    await notes.write(store)
    await notes.write(store)
    (rejection,) = store.rejections.values()
    assert (rejection.opportunity_id, rejection.count) == ("1", 2)
    assert store.opportunities.keys() == {"1"}, (
        "the second is only counted: no rejection names it, it would seem expired"
    )


async def test_an_opportunity_that_is_rejected_again_is_counted_once() -> None:
    """As the stream has it, and again when its other leg is reserved."""
    store, notes = MemoryTradeStore(), RejectionLog("alpha", at_most)
    notes.reject(opportunity("1"), "rate_budget", 1_000_000)
    await notes.write(store)
    notes.reject(opportunity("1"), "rate_budget", 1_010_000)
    notes.reject(opportunity("1"), "pair_busy", 2_010_000)
    await notes.write(store)
    assert await store.rejection_counts() == {"rate_budget": 1}


async def test_below_the_threshold_only_the_rejection_is_stored() -> None:
    store, notes = MemoryTradeStore(), RejectionLog("alpha", at_most)
    notes.reject(opportunity("1"), "below_threshold", 1)
    notes.record_opportunity(opportunity("2"))
    await notes.write(store)
    assert store.opportunities.keys() == {"2"}
    assert [rejection.reason for rejection in store.rejections.values()] == ["below_threshold"]


async def test_an_outage_loses_no_count() -> None:
    store, notes = UnreachableStore(), RejectionLog("alpha", at_most)
    notes.reject(opportunity("1"), "stale", 1)
    with pytest.raises(StoreUnavailableError):
        await notes.write(store)
    notes.reject(opportunity("2"), "stale", 2)
    with pytest.raises(StoreUnavailableError):
        await notes.write(store)
    notes.reject(opportunity("3"), "stale", 3)
    store.is_unreachable = False
    await notes.write(store)
    (rejection,) = store.rejections.values()
    assert (rejection.opportunity_id, rejection.count, rejection.tradable) == ("1", 3, Decimal(1))


async def test_of_a_second_the_most_that_is_tradable_is_kept_and_no_more_than_one_trade_may_use() -> None:
    store, notes = MemoryTradeStore(), RejectionLog("alpha", at_most)
    one = opportunity("1")
    lives = one.expires_at - one.event_time
    for number, profit in enumerate((200.0, 500.0, 300.0)):
        deep = replace(one.buy, amount=Decimal(5)), replace(one.sell, amount=Decimal(5))
        again = replace(one, opportunity_id=str(number))
        notes.reject(replace(again, buy=deep[0], sell=deep[1], expected_profit=profit), "stale", number)
    await notes.write(store)
    (rejection,) = store.rejections.values()
    # 100 of 500 dollars are in the one of five coins that a trade may sell
    assert (rejection.expected_profit, rejection.tradable, rejection.until) == (Decimal(200), Decimal(100), 2 + lives)
    assert await store.rejected_profit() == {"stale": Decimal(100)}


async def test_a_long_outage_does_not_fill_the_memory() -> None:
    store, notes = MemoryTradeStore(), RejectionLog("alpha", at_most)
    one = opportunity("1")
    for second in range(MAX_PENDING + 5):
        notes.reject(replace(one, opportunity_id=str(second)), "below_threshold", second * 1_000_000)
    notes.reject(replace(one, opportunity_id="of the first second"), "below_threshold", 1)
    assert notes.dropped == 5
    await notes.write(store)
    assert notes.dropped == 0
    notes.reject(replace(one, opportunity_id="afterwards"), "stale", 1)
    await notes.write(store)
    assert await store.rejection_counts() == {"below_threshold": MAX_PENDING + 1, "stale": 1}
