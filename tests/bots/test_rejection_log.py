"""Rejections counted by second, written once; opportunities kept once."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

import pytest

from bots.execute.rejection_log import MAX_PENDING, RejectionLog
from market.prices.episodes import Episode, TradeBounds
from market.prices.opportunities import Opportunity
from market.trade.arbitrages import Rejection
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

NOW = 1_000_000
"""When the opportunities are detected."""


def opportunity(identity: str) -> Opportunity:
    return opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))), identity=identity)


def at_most(_: Opportunity) -> TradeBounds:
    return TradeBounds(base=Decimal(1))


class UnreachableStore(MemoryTradeStore):
    """Rejections and episodes fail while it is unreachable; if `is_half_written`, only their answer is lost."""

    is_unreachable = True
    is_half_written = False

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        if self.is_half_written or not self.is_unreachable:
            await super().reject(rejections)
        if self.is_unreachable:
            raise StoreUnavailableError("gone")

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        if self.is_unreachable and not self.is_half_written:
            raise StoreUnavailableError("gone")
        await super().save_episodes(episodes)


class CountingStore(MemoryTradeStore):
    """Keeps the size of each batch that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[tuple[str, int]] = []

    async def save_opportunities(self, opportunities: Sequence[Opportunity]) -> None:
        self.written.append(("opportunities", len(opportunities)))
        await super().save_opportunities(opportunities)

    async def reject(self, rejections: Sequence[Rejection]) -> None:
        self.written.append(("rejections", len(rejections)))
        await super().reject(rejections)

    async def save_episodes(self, episodes: Sequence[Episode]) -> None:
        self.written.append(("episodes", len(episodes)))
        await super().save_episodes(episodes)


async def test_first_of_each_reason_and_second_whole_the_rest_counted() -> None:
    store, notes = MemoryTradeStore(), RejectionLog(at_most)
    for number, (reason, second) in enumerate(
        [("stale", 1), ("stale", 1), ("too_small", 1), ("stale", 2), ("stale", 1)]
    ):
        notes.reject(opportunity(str(number)), reason, second * 1_000_000 + number)
    await notes.write(store, NOW)
    seen = {(one.opportunity_id, one.reason, one.count) for one in store.rejections.values()}
    assert seen == {("0", "stale", 3), ("2", "too_small", 1), ("3", "stale", 1)}
    assert store.opportunities.keys() == {"0", "2", "3"}


async def test_later_rejections_of_the_same_second_are_added() -> None:
    store, notes = MemoryTradeStore(), RejectionLog(at_most)
    notes.reject(opportunity("1"), "stale", 1_000_000)
    await notes.write(store, NOW)
    notes.reject(opportunity("2"), "stale", 1_500_000)
    await notes.write(store, NOW)
    await notes.write(store, NOW)
    (rejection,) = store.rejections.values()
    assert (rejection.opportunity_id, rejection.count) == ("1", 2)
    assert store.opportunities.keys() == {"1"}, (
        "the second is only counted: no rejection names it, it would seem expired"
    )


async def test_an_opportunity_that_is_rejected_again_is_counted_once() -> None:
    """As the stream has it, and again from the queue."""
    store, notes = MemoryTradeStore(), RejectionLog(at_most)
    notes.reject(opportunity("1"), "rate_budget", 1_000_000)
    await notes.write(store, NOW)
    notes.reject(opportunity("1"), "rate_budget", 1_010_000)
    notes.reject(opportunity("1"), "pair_busy", 2_010_000)
    await notes.write(store, NOW)
    assert await store.rejection_counts() == {"rate_budget": 1}


async def test_below_the_threshold_only_the_rejection_is_stored() -> None:
    store, notes = MemoryTradeStore(), RejectionLog(at_most)
    notes.reject(opportunity("1"), "below_threshold", 1)
    notes.record_opportunity(opportunity("2"))
    await notes.write(store, NOW)
    assert store.opportunities.keys() == {"2"}
    assert [rejection.reason for rejection in store.rejections.values()] == ["below_threshold"]


async def test_an_outage_loses_no_count() -> None:
    store, notes = UnreachableStore(), RejectionLog(at_most)
    notes.reject(opportunity("1"), "stale", 1)
    with pytest.raises(StoreUnavailableError):
        await notes.write(store, NOW)
    notes.reject(opportunity("2"), "stale", 2)
    with pytest.raises(StoreUnavailableError):
        await notes.write(store, NOW)
    notes.reject(opportunity("3"), "stale", 3)
    store.is_unreachable = False
    await notes.write(store, NOW)
    (rejection,) = store.rejections.values()
    assert (rejection.opportunity_id, rejection.count, rejection.tradable) == ("1", 3, Decimal(1))


async def test_what_was_written_without_an_answer_is_not_counted_twice_and_nothing_after_it_is_lost() -> None:
    store, notes = UnreachableStore(), RejectionLog(at_most)
    store.is_half_written = True
    for number in range(4):
        notes.reject(opportunity(str(number)), "stale", number)
        with pytest.raises(StoreUnavailableError):
            await notes.write(store, NOW)
    store.is_unreachable = False
    await notes.write(store, NOW)
    assert await store.rejection_counts() == {"stale": 4}
    assert [one.samples for one in store.episodes.values()] == [4]


async def test_episodes_survive_an_outage() -> None:
    store, notes = UnreachableStore(), RejectionLog(at_most)
    for number in range(3):
        notes.see(opportunity(str(number)), NOW)
        with pytest.raises(StoreUnavailableError):
            await notes.write(store, NOW)
    store.is_unreachable = False
    await notes.write(store, NOW)
    assert [(one.samples, one.outcome) for one in store.episodes.values()] == [(3, "undecided")]


async def test_one_round_is_one_write_of_each_kind() -> None:
    store, notes = CountingStore(), RejectionLog(at_most)
    for number in range(100):
        made = opportunity(str(number))
        notes.see(made, NOW)
        notes.reject(made, ("stale", "too_small")[number % 2], number * 1_000_000)
    await notes.write(store, NOW)
    assert store.written == [("episodes", 1), ("opportunities", 100), ("rejections", 100)]
    await notes.write(store, NOW)
    assert len(store.written) == 3


async def test_of_a_second_the_most_that_is_tradable_is_kept_and_no_more_than_one_trade_may_use() -> None:
    store, notes = MemoryTradeStore(), RejectionLog(at_most)
    one = opportunity("1")
    lives = one.expires_at - one.event_time
    for number, profit in enumerate((200.0, 500.0, 300.0)):
        deep = replace(one.buy, amount=Decimal(5)), replace(one.sell, amount=Decimal(5))
        again = replace(one, opportunity_id=str(number))
        notes.reject(replace(again, buy=deep[0], sell=deep[1], expected_profit=profit), "stale", number)
    await notes.write(store, NOW)
    (rejection,) = store.rejections.values()
    # 100 of 500 dollars are in the one of five coins that a trade may sell
    assert (rejection.expected_profit, rejection.tradable, rejection.until) == (Decimal(200), Decimal(100), 2 + lives)
    assert await store.rejected_profit() == {"stale": Decimal(100)}


async def test_a_long_outage_does_not_fill_the_memory() -> None:
    store, notes = MemoryTradeStore(), RejectionLog(at_most)
    one = opportunity("1")
    for second in range(MAX_PENDING + 5):
        notes.reject(replace(one, opportunity_id=str(second)), "below_threshold", second * 1_000_000)
    notes.reject(replace(one, opportunity_id="of the first second"), "below_threshold", 1)
    assert notes.dropped == 5
    await notes.write(store, NOW)
    assert notes.dropped == 0
    notes.reject(replace(one, opportunity_id="afterwards"), "stale", 1)
    await notes.write(store, NOW)
    assert await store.rejection_counts() == {"below_threshold": MAX_PENDING + 1, "stale": 1}
