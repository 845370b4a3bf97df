"""Builds that lack a rule of regions, on three real members of a replica set: each breaks the rule, and the audit of a
chaos run reports it. It reports nothing on the whole build."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pymongo.read_concern import ReadConcern
from pymongo.read_preferences import Nearest

from launch.chaos.audit.books import evidence_of
from launch.chaos.audit.partitions import RegionEvidence, region_violations
from launch.chaos.audit.records import AuditedAccount
from launch.chaos.audit.states import step_violations
from market.money import ZERO, Amount
from market.time_units import MICROSECONDS
from market.trade.arbitrages import Leg
from market.trade.grants import Grant
from market.trade.leases import Actor, decision_right
from market.trade.reservations import ReservationResult
from runtime.clock import SystemClock, steady_now
from runtime.logins import Address
from simulators.matching.order_records import SimulatedOrder
from store.errors import FencedOutError, StoreUnavailableError
from store.mongo.store import MongoTradeStore
from store.mongo.unit_of_work import MongoUnitOfWork
from store.queries.store_snapshot import StoreSnapshot, read_snapshot
from store.server.client import REGION, Document
from store.server.documents import STEPS, grants_of
from store.server.transactions import Transaction, in_transaction
from store.unit_of_work import Result, Work
from tests.launch.audited_world import MARKETS
from tests.market.samples import settings_of
from tests.services import LOGIN
from tests.store.regional_mongods import CALM_MS, DATABASE, REGIONS, RegionalMongods, regional_mongods
from tests.store.reservation_requests import open_books, opportunity, ready_bot, request
from tests.store.test_outages import until
from tests.store.traded_session import session_at

pytestmark = pytest.mark.soak
DEADLINE_SECONDS = 240
MANY = settings_of(max_open_arbitrages=1_000)
LASTS = 3 * MICROSECONDS
"""How long the opportunity whose grant no majority gets is valid."""
RIGHT = decision_right(0)


class HearsBeforeMajority(MongoTradeStore):
    """A bot that hears of a grant once the member beside it has it, whoever else does."""

    async def watch_grants(self, exchange: str) -> AsyncGenerator[Grant]:
        assert self.place is not None
        beside = Nearest(tag_sets=[{REGION: self.place.region}])
        steps = self._database.get_collection(STEPS, read_concern=ReadConcern("local"), read_preference=beside)
        known: set[str] = set()
        while True:
            async for document in steps.find({"grants.leg.exchange": exchange}):
                for grant in grants_of(document):
                    if grant.leg.exchange == exchange and grant.arbitrage_id not in known:
                        known.add(grant.arbitrage_id)
                        yield grant
            await SystemClock().sleep(0.05)


class DecidesUnasked(MongoTradeStore):
    """Decides whenever it once had the right to: a step takes the lease that it reads as its own."""

    async def in_unit_of_work(self, work: Work[Result]) -> Result:
        def step(transaction: Transaction) -> Result:
            return work(_UnaskedUnit(transaction, self._session_id))

        return await in_transaction(self._database, step)


class _UnaskedUnit(MongoUnitOfWork):
    def _begin_with(self, now: int, found: Sequence[list[Document]], by: Actor) -> None:
        arbitrages, settings, *leases = found
        own = [[one | {"token": by.token} if one["_id"] == by.exchange else one for one in rows] for rows in leases]
        super()._begin_with(now, [arbitrages, settings, *own], by)


@dataclass(slots=True)
class Desk:
    """A bot that posts what it hears of: the exchange's journal of its orders."""

    store: MongoTradeStore
    heard: list[str] = field(default_factory=list)
    """Arbitrages."""
    orders: list[SimulatedOrder] = field(default_factory=list)

    async def run(self) -> None:
        async for grant in self.store.watch_grants("alpha"):
            self.heard.append(grant.arbitrage_id)
            self.orders.append(posted(grant.leg))

    def violations(self, snapshot: StoreSnapshot) -> set[str]:
        """Return the violations by the audit of a session with regions."""
        evidence = evidence_of([AuditedAccount("alpha", {}, self.orders, ())], snapshot, MARKETS)
        return {one.kind for one in region_violations(RegionEvidence(evidence, {}))}


def posted(leg: Leg) -> SimulatedOrder:
    return SimulatedOrder(
        order_id=f"order-{leg.client_order_id}",
        number=1,
        client_order_id=leg.client_order_id,
        symbol=leg.symbol,
        side=leg.side,
        amount=leg.amount,
        price=leg.limit_price,
        immediate=True,
        placed_at=leg.times["granted"] + 1,
        state="done",
        filled=Amount(ZERO),
        ended_at=leg.times["granted"] + 2,
    )


@dataclass(slots=True)
class World:
    """Three members, a store's process beside the first primary and one in the region that leads next."""

    mongods: RegionalMongods
    first: str
    lost: MongoTradeStore
    led: MongoTradeStore

    @property
    def others(self) -> list[str]:
        return [region for region in REGIONS if region != self.first]

    async def snapshot(self) -> StoreSnapshot:
        return await read_snapshot(session_at(Address(self.mongods.replica_set.uri, LOGIN), DATABASE))


async def opened(home: Path, stack: AsyncExitStack) -> World:
    mongods = stack.enter_context(regional_mongods(home, election_ms=CALM_MS))
    await mongods.wait_ready()
    stores = {region: await stack.enter_async_context(mongods.store(region)) for region in ("us", "eu")}
    for store in stores.values():
        await store.prepare()
    (first,) = (region for region, store in stores.items() if store.leases.may_decide())
    await open_books(stores[first], MANY)
    following = "eu" if first == "us" else "us"
    return World(mongods, first, stores[first], stores[following])


async def reserved(store: MongoTradeStore, number: int, by: Actor, valid_until: int | None = None) -> ReservationResult:
    """Reserve an opportunity of another base each, with bots that are ready, so that only the decider can be in the
    way."""
    of = replace(opportunity(f"opportunity-{number}", sequence=number), base=f"base-{number}")
    return await store.reserve(replace(request("0.001", of, MANY), valid_until=valid_until), by)


async def with_bots(store: MongoTradeStore) -> None:
    for exchange in ("alpha", "beta"):
        await ready_bot(store, exchange)


async def decider(store: MongoTradeStore, holder: str) -> Actor:
    """Return the decider, once there is a primary and it has the right."""
    while True:
        with suppress(StoreUnavailableError):
            lease = await store.leases.acquire(RIGHT, holder)
            if lease is not None:
                return lease.actor
        await SystemClock().sleep(0.1)


async def test_a_grant_that_no_majority_gets_is_posted_by_a_broken_build_alone(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), AsyncExitStack() as stack:
        world = await opened(tmp_path, stack)
        hasty = await stack.enter_async_context(world.mongods.store(world.first, kind=HearsBeforeMajority))
        broken, whole = Desk(hasty), Desk(world.lost)
        async with asyncio.TaskGroup() as group:
            desks = [group.create_task(desk.run()) for desk in (broken, whole)]
            await with_bots(world.lost)
            by = await decider(world.lost, "before")
            # one that all have, so that both are known to listen
            await reserved(world.lost, 1, by)
            await until(lambda: broken.heard == whole.heard == ["opportunity-1"])
            await with_bots(world.lost)
            by, over = await decider(world.lost, "before"), await world.lost.server_now() + LASTS
            # killed: a paused process would still read what is in its sockets
            for region in world.others:
                world.mongods.processes[region].kill()
            begun = steady_now()
            deciding = asyncio.create_task(reserved(world.lost, 2, by, over))
            await until(lambda: broken.heard == ["opportunity-1", "opportunity-2"])
            assert whole.heard == ["opportunity-1"]
            desks[0].cancel()
            # until the repeated request finds it expired
            await until(lambda: steady_now() > begun + 2 * LASTS)
            world.mongods.processes[world.first].kill()
            for region in world.others:
                world.mongods.processes[region].start()
            with suppress(StoreUnavailableError, FencedOutError):
                assert (await deciding).arbitrage is None
            by = await decider(world.led, "after")
            await with_bots(world.led)
            await reserved(world.led, 3, by)
            await until(lambda: whole.heard[1:] == ["opportunity-3"])
            desks[1].cancel()
        snapshot = await world.snapshot()
        assert [one.arbitrage_id for one in snapshot.arbitrages] == ["opportunity-1", "opportunity-3"]
        assert (whole.violations(snapshot), broken.violations(snapshot)) == (set(), {"not_granted"})


async def test_who_has_lost_the_right_to_decide_goes_on_in_a_broken_build_alone(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), AsyncExitStack() as stack:
        world = await opened(tmp_path, stack)
        unasked = await stack.enter_async_context(world.mongods.store(world.first, kind=DecidesUnasked))
        await with_bots(world.lost)
        by = await decider(world.lost, "before")
        assert (await reserved(world.lost, 1, by)).arbitrage is not None
        world.mongods.processes[world.first].kill()
        after = await decider(world.led, "after")
        await with_bots(world.led)
        assert (await reserved(world.led, 2, after)).arbitrage is not None
        with pytest.raises(FencedOutError, match="another process has taken over"):
            await reserved(world.lost, 3, by)
        assert list(step_violations(evidence_of((), await world.snapshot(), MARKETS))) == []
        await with_bots(world.led)
        assert (await reserved(unasked, 3, by)).arbitrage is not None
        found = list(step_violations(evidence_of((), await world.snapshot(), MARKETS)))
        assert [(one.kind, one.arbitrage_id) for one in found] == [("step_after_takeover", "opportunity-3")]
