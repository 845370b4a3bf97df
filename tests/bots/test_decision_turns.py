"""One process decides on a partition at a time, and the next goes on where the last one stopped."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace

import pytest

from bots.decide.failover import LEAVING_SECONDS, POLL_SECONDS, DecisionTurns
from bots.lease_keeper import RENEW_SECONDS
from market.prices.opportunities import Opportunity
from market.trade.leases import LEASE_SECONDS, Lease, decision_right
from runtime.clock import Clock
from store.errors import FencedOutError, StoreUnavailableError
from store.memory.parts import MemoryLeases
from store.memory.store import MemoryTradeStore
from streams.topics import partition_of
from tests.bots.hurried_loop import LoopClock
from tests.market.samples import EUR_MARKET, USD_MARKET, levels, opportunity_of

SECOND = 1_000_000
TWO = 2
BASES = {partition_of(base, TWO): base for base in ("BTC", "ETH", "SOL", "XRP", "ADA", "LTC")}
"""One of each of two partitions."""


def opportunity(detected: int, base: str = "BTC") -> Opportunity:
    made = opportunity_of((USD_MARKET, levels(("100", "1"))), (EUR_MARKET, levels(("100", "1"))))
    return replace(made, base=base, detected_time=detected)


class LeasesWithOutages(MemoryLeases):
    """Not reached by those that are cut off."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.cut_off: set[str] = set()

    async def acquire(self, exchange: str, holder: str) -> Lease | None:
        self._reach(holder)
        return await super().acquire(exchange, holder)

    async def renew(self, lease: Lease, used: str | None = None) -> Lease | None:
        self._reach(lease.holder)
        return await super().renew(lease, used)

    def _reach(self, holder: str) -> None:
        if holder in self.cut_off:
            raise StoreUnavailableError("away")


@dataclass
class Process:
    """One of those that compete."""

    name: str
    turns: DecisionTurns
    begun: list[tuple[int, int]] = field(default_factory=list)
    """Each turn: its partition, and up to when that was looked at."""
    task: asyncio.Task[None] | None = None
    at_begin: int = 0
    """When what it looks at as it begins was detected; 0: nothing."""

    def start(self) -> None:
        self.task = asyncio.create_task(self.turns.run(self._begin))

    async def _begin(self, partition: int, looked_at: int) -> None:
        self.begun.append((partition, looked_at))
        if self.at_begin:
            self.turns.record_seen(opportunity(self.at_begin))

    async def kill(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    def decides(self, partition: int = 0) -> bool:
        return self.turns.actor(partition) is not None


@dataclass
class Bench:
    clock: LoopClock = field(default_factory=LoopClock)
    processes: list[Process] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.store = MemoryTradeStore(self.clock)
        self.store.leases = self.leases = LeasesWithOutages(self.clock)

    async def start(self, name: str, partitions: int = 1, at_begin: int = 0) -> Process:
        """Start a process and give it time to take what is free."""
        process = Process(name, DecisionTurns(self.store.leases, name, partitions, self.clock.now), at_begin=at_begin)
        self.processes.append(process)
        process.start()
        await asyncio.sleep(0.1)
        return process

    def deciding(self, partition: int = 0) -> list[str]:
        return [process.name for process in self.processes if process.decides(partition)]


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    one = Bench()
    yield one
    for process in one.processes:
        await process.kill()


async def test_the_first_decides_and_the_others_do_not(bench: Bench) -> None:
    first = await bench.start("one")
    second = await bench.start("two")
    await asyncio.sleep(20)
    assert bench.deciding() == ["one"]
    assert (first.begun, second.begun) == ([(0, 0)], [])
    actor = first.turns.decider_of("BTC")
    assert actor is not None
    assert (actor.name, actor.exchange, actor.token) == ("one", decision_right(0), 1)
    assert second.turns.decider_of("BTC") is None


async def test_its_lease_has_no_veto(bench: Bench) -> None:
    """Written first of all: a decision of the last holder that is under way conflicts with it."""
    await bench.start("one")
    (lease,) = await bench.store.leases.all()
    assert (lease.holder, lease.veto) == ("one", None)


async def test_another_takes_over_once_the_lease_has_run_out(bench: Bench) -> None:
    first = await bench.start("one")
    await bench.start("two")
    await first.kill()
    killed_at = bench.clock.now()
    while bench.deciding() == []:  # noqa: ASYNC110 - the other one's task ends it
        await asyncio.sleep(0.01)
    assert bench.deciding() == ["two"]
    passed = bench.clock.now() - killed_at
    assert (LEASE_SECONDS - RENEW_SECONDS - 0.1) * SECOND < passed < (LEASE_SECONDS + POLL_SECONDS + 0.1) * SECOND


async def test_whoever_ends_is_followed_at_once_and_never_begins_again(bench: Bench) -> None:
    first = await bench.start("one")
    second = await bench.start("two")
    await first.turns.end()
    assert bench.deciding() == []
    await asyncio.sleep(POLL_SECONDS + 0.1)
    assert bench.deciding() == ["two"]
    await second.kill()
    await asyncio.sleep(20)
    assert first.begun == [(0, 0)]
    assert not first.decides()


async def test_one_that_ends_before_its_turn_takes_none(bench: Bench) -> None:
    await bench.start("one")
    second = await bench.start("two")
    await second.turns.end()
    await bench.processes[0].turns.end()
    await asyncio.sleep(20)
    assert second.begun == []
    assert (await bench.store.leases.acquire(decision_right(0), "three")) is not None, "it is free"


async def test_the_next_is_told_what_was_looked_at(bench: Bench) -> None:
    first = await bench.start("one")
    second = await bench.start("two")
    for detected in (700, 900, 800):
        first.turns.record_seen(opportunity(detected))
    await first.turns.end()
    await asyncio.sleep(POLL_SECONDS + 0.1)
    assert second.begun == [(0, 900)]
    # what it has not looked at itself it has from the last one, and hands on
    await second.turns.end()
    third = await bench.start("three")
    assert third.begun == [(0, 900)]


async def test_what_a_dead_one_looked_at_is_known_up_to_its_last_renewal(bench: Bench) -> None:
    first = await bench.start("one")
    second = await bench.start("two")
    first.turns.record_seen(opportunity(700))
    await asyncio.sleep(RENEW_SECONDS)
    first.turns.record_seen(opportunity(900))
    await first.kill()
    await asyncio.sleep(LEASE_SECONDS + POLL_SECONDS)
    assert second.begun == [(0, 700)]


async def test_what_a_turn_begins_with_is_known_at_once(bench: Bench) -> None:
    """It counts what came while nobody decided; the next one shall not count it again."""
    first = await bench.start("one", at_begin=700)
    second = await bench.start("two")
    await first.kill()
    await asyncio.sleep(LEASE_SECONDS + POLL_SECONDS)
    assert second.begun == [(0, 700)]


async def test_one_that_is_cut_off_stops_by_its_own_clock_before_another_begins(bench: Bench) -> None:
    await bench.start("one")
    await bench.start("two")
    bench.leases.cut_off.add("one")
    seen: list[list[str]] = []
    for _ in range(600):
        await asyncio.sleep(0.01)
        seen.append(bench.deciding())
    assert all(len(names) <= 1 for names in seen)
    assert seen[0] == ["one"]
    assert seen[-1] == ["two"]
    bench.leases.cut_off.clear()
    await asyncio.sleep(5)
    assert bench.deciding() == ["two"]


async def test_one_that_is_fenced_out_stops_deciding_and_may_follow_later(bench: Bench) -> None:
    first = await bench.start("one")
    actor = first.turns.actor(0)
    assert actor is not None
    # a process of the same name, whoever started it: only the token tells them apart
    taken = await bench.store.leases.acquire(decision_right(0), "one")
    assert taken is not None
    with pytest.raises(FencedOutError):
        await bench.store.leases.set_veto(actor, None)
    await asyncio.sleep(RENEW_SECONDS)
    assert bench.deciding() == []
    await asyncio.sleep(LEASE_SECONDS + POLL_SECONDS)
    assert bench.deciding() == ["one"]
    again = first.turns.actor(0)
    assert again is not None
    assert again.token > taken.token


async def test_where_the_primary_is_far_it_takes_no_turn(bench: Bench) -> None:
    bench.leases.is_beside_primary = False
    first = await bench.start("one")
    await asyncio.sleep(20)
    assert (first.begun, await bench.leases.all()) == ([], [])
    bench.leases.is_beside_primary = True
    await asyncio.sleep(POLL_SECONDS + 0.1)
    assert bench.deciding() == ["one"]


async def test_one_whose_primary_moves_away_stops_at_once_and_frees_its_turn(bench: Bench) -> None:
    """The next one goes on with what it looked at, and need not wait until its lease has run out."""
    first = await bench.start("one")
    first.turns.record_seen(opportunity(700))
    bench.leases.is_beside_primary = False
    assert first.turns.decider_of("BTC") is None
    assert not first.turns.books()
    await asyncio.sleep(RENEW_SECONDS)
    bench.leases.is_beside_primary = True
    taken = await bench.leases.acquire(decision_right(0), "two")
    assert taken is not None
    assert (taken.token, taken.used) == (2, "700")


async def test_it_survives_an_outage_of_the_store(bench: Bench) -> None:
    first = await bench.start("one")
    bench.leases.cut_off.add("one")
    await asyncio.sleep(10)
    assert not first.decides()
    bench.leases.cut_off.clear()
    await asyncio.sleep(RENEW_SECONDS)
    assert first.decides()
    assert len(first.begun) == 1, "nobody else had it meanwhile: it is the same turn"


async def test_each_partition_has_its_own_turn(bench: Bench) -> None:
    first = await bench.start("one", TWO)
    second = await bench.start("two", TWO)
    assert sorted(first.begun) == [(0, 0), (1, 0)]
    taken = await bench.store.leases.acquire(decision_right(1), "one")
    assert taken is not None
    await bench.store.leases.release(taken)
    await asyncio.sleep(RENEW_SECONDS + POLL_SECONDS)
    assert (bench.deciding(0), bench.deciding(1)) == (["one"], ["two"])
    assert second.turns.decider_of(BASES[0]) is None
    actor = second.turns.decider_of(BASES[1])
    assert actor is not None
    assert actor.exchange == decision_right(1)


async def test_what_was_looked_at_in_one_partition_says_nothing_of_another(bench: Bench) -> None:
    first = await bench.start("one", TWO)
    second = await bench.start("two", TWO)
    first.turns.record_seen(opportunity(500, BASES[0]))
    first.turns.record_seen(opportunity(900, BASES[1]))
    assert [first.turns.partition_of(opportunity(1, base)) for base in (BASES[0], BASES[1])] == [0, 1]
    await first.turns.end()
    await asyncio.sleep(POLL_SECONDS + 0.1)
    assert sorted(second.begun) == [(0, 500), (1, 900)]


async def test_one_that_leaves_gives_its_turn_to_another_and_decides_no_more(bench: Bench) -> None:
    first = await bench.start("one")
    second = await bench.start("two")
    await first.turns.leave(to_others=True)
    assert not first.turns.decides(0)
    await asyncio.sleep(2 * POLL_SECONDS)
    assert second.turns.decides(0)
    assert not first.turns.books()
    await asyncio.sleep(20)
    assert second.turns.decides(0)


async def test_one_that_leaves_books_where_nobody_else_does(bench: Bench) -> None:
    """It looked at nothing in that turn: the next one that decides begins if it stopped deciding."""
    first = await bench.start("one")
    first.turns.record_seen(opportunity(500))
    await first.turns.leave(to_others=True)
    assert not first.turns.books()
    await asyncio.sleep(RENEW_SECONDS + LEAVING_SECONDS + 3 * POLL_SECONDS)
    assert first.turns.books()
    assert first.turns.booker_of("BTC") is not None
    assert first.turns.decider_of("BTC") is None
    assert not first.turns.decides(0)
    assert first.begun == [(0, 0)]
    await first.turns.end()
    second = await bench.start("two")
    assert second.begun == [(0, 500)]


async def test_where_the_session_ends_it_keeps_its_turn_to_book(bench: Bench) -> None:
    first = await bench.start("one")
    await bench.start("two")
    await first.turns.leave(to_others=False)
    await asyncio.sleep(20)
    assert first.turns.books()
    assert not first.turns.decides(0)
