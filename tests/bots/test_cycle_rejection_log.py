"""Rejections of cycles: the first of a minute whole, the rest counted, and written whatever the store does."""

from collections.abc import Sequence

import pytest

from bots.execute.cycle_rejection_log import MINUTE, MOST_KEPT, CycleRejectionLog
from market.decide.check_figures import Compared
from store.errors import StoreUnavailableError
from store.memory.store import MemoryTradeStore
from store.records.cycle_rejection import CycleRejection
from tests.bots.test_cycle_reserver import CYCLE, Bench

FIGURE: Compared = ("4", "5", "bps")


class AwayStore(MemoryTradeStore):
    """Counts what it is asked to write; may be away."""

    is_away = False
    asked = 0

    async def reject_cycles(self, rejections: Sequence[CycleRejection]) -> None:
        self.asked += len(rejections)
        await super().reject_cycles(rejections)
        if self.is_away:
            raise StoreUnavailableError("gone")


def reject(notes: CycleRejectionLog, identity: str, reason: str, at: int) -> None:
    notes.reject(Bench().found(identity), CYCLE, reason, at, lambda: FIGURE)


def counts(store: MemoryTradeStore) -> dict[str, int]:
    return {name: one.count for name, one in store.cycle_rejections.items()}


async def test_the_first_of_a_minute_is_whole_and_the_rest_are_counted() -> None:
    store, notes = AwayStore(), CycleRejectionLog()
    for number, (reason, at) in enumerate([("a", 1), ("a", 2), ("b", 3), ("a", MINUTE), ("a", MINUTE + 1)]):
        reject(notes, str(number), reason, at)
    await notes.write(store, MINUTE + 2)
    assert counts(store) == {"0:a": 2, "2:b": 1, "3:a": 2}
    one = store.cycle_rejections["0:a"]
    assert (one.cycle_id, one.exchanges, one.value, one.limit, one.unit) == (CYCLE.cycle_id, ("alpha",), *FIGURE)
    # what is past is forgotten, and nothing is written twice
    assert [kept.rejection_id for kept in notes.kept] == ["3:a"]
    await notes.write(store, MINUTE + 2)
    assert store.asked == 3


async def test_figures_are_computed_once_a_minute() -> None:
    notes, asked = CycleRejectionLog(), 0

    def figure() -> Compared:
        nonlocal asked
        asked += 1
        return FIGURE

    for number in range(5):
        notes.reject(Bench().found(str(number)), CYCLE, "a", number, figure)
    assert asked == 1


async def test_an_outage_counts_nothing_twice_and_loses_nothing() -> None:
    store, notes = AwayStore(), CycleRejectionLog()
    reject(notes, "one", "a", 1)
    store.is_away = True
    with pytest.raises(StoreUnavailableError):
        await notes.write(store, 2)
    reject(notes, "two", "a", 3)
    store.is_away = False
    await notes.write(store, MINUTE)
    assert counts(store) == {"one:a": 2}
    assert notes.kept == ()


async def test_a_long_outage_fills_no_memory() -> None:
    notes = CycleRejectionLog()
    for number in range(MOST_KEPT + 5):
        reject(notes, "one", str(number), 1)
    assert len(notes.kept) == MOST_KEPT
