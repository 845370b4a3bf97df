"""A replica set with a member in each region: made once, moved with its data, led by another region after a loss."""

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bots.lease_keeper import LeaseKeeper
from bots.retry import retry_until_done
from market.trade.leases import decision_right
from runtime.logins import Address
from session.session import Placement
from store.errors import FencedOutError, StoreError
from store.mongo.store import MongoTradeStore
from store.server.client import connect
from tests.market.samples import settings_of
from tests.services import LOGIN
from tests.store.regional_mongods import CALM_MS, DATABASE, REGIONS, RegionalMongods, regional_mongods
from tests.store.reservation_requests import open_books
from tests.store.test_outages import Bystanders, until
from tests.store.test_trading_changes import EVERYTHING, read
from tests.store.traded_session import session_at, traded

pytestmark = pytest.mark.soak
DEADLINE_SECONDS = 240
CHANGES = 7
"""That `traded` makes."""
MANY = settings_of(max_open_arbitrages=1_000)


async def test_a_set_is_made_once_and_moves_with_its_data(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        with regional_mongods(tmp_path) as mongods:
            await mongods.wait_ready()
            made = await mongods.configuration("us")
            assert [(one["tags"]["region"], one["priority"]) for one in made["members"]] == [
                ("us", 1),
                ("eu", 1),
                ("jp", 0),
            ]
            await mongods.wait_ready()
            assert await mongods.configuration("us") == made
            for region in REGIONS:
                assert await mongods.read_from(region) == mongods.members[region].address
            async with mongods.store("us") as store:
                await store.prepare()
                await store.settings.create(MANY)
        with regional_mongods(tmp_path) as mongods:
            await mongods.wait_ready()
            moved = await mongods.configuration("jp")
            assert [one["host"] for one in moved["members"]] == [one.address for one in mongods.members.values()]
            assert moved["settings"]["replicaSetId"] == made["settings"]["replicaSetId"]
            async with mongods.store("jp") as store:
                assert await store.settings.current() == MANY
        with (
            regional_mongods(tmp_path, ("us", "eu")) as mongods,
            pytest.raises(StoreError, match="belongs to the regions us, eu, jp, not to us, eu"),
        ):
            await mongods.wait_ready()


async def test_a_region_without_a_primary_still_reads_what_was_traded(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS):
        with regional_mongods(tmp_path) as mongods:
            await mongods.wait_ready()
            address = Address(mongods.replica_set.uri, LOGIN)
            placed = replace(session_at(address, DATABASE), place=Placement("jp", REGIONS))
            async with MongoTradeStore(connect(address), DATABASE, placed.session_id) as store:
                await store.prepare()
                await traded(store)
            # the member there has them all afterwards
            before = await read(placed, EVERYTHING, CHANGES)
            for lost in ("us", "eu"):
                mongods.processes[lost].kill()
            assert await read(placed, EVERYTHING, CHANGES) == before


@dataclass(slots=True)
class Failover:
    """What processes in the regions know and hold: `lost` is beside the first primary, `led` beside the next one."""

    mongods: RegionalMongods
    first: str
    lost: MongoTradeStore
    led: MongoTradeStore
    others: Bystanders

    async def kill(self) -> None:
        """Kill the first region's member; return once the process in the lost region knows the new primary."""
        self.mongods.processes[self.first].kill()
        place = self.lost.place
        assert place is not None
        await until(lambda: place.primary.region not in {self.first, None})


async def test_another_region_leads_once_the_first_is_lost(tmp_path: Path) -> None:
    async with asyncio.timeout(DEADLINE_SECONDS), AsyncExitStack() as stack:
        run = await started(tmp_path, stack)
        # by a clock that stands, so that no lease runs out by itself
        before = LeaseKeeper(run.lost.leases, decision_right(0), "before", lambda: 0)
        after = LeaseKeeper(run.led.leases, decision_right(0), "after", lambda: 0)
        await retry_until_done(before.acquire)
        waiting = asyncio.create_task(retry_until_done(after.acquire))
        async with asyncio.TaskGroup() as group:
            writer, watcher = (group.create_task(task()) for task in (run.others.write, run.others.watch_grants))
            await run.others.more_acknowledged()
            assert (before.is_held(), waiting.done()) == (True, False)
            await run.kill()
            assert not before.is_held()
            assert ((await waiting).token, after.is_held()) == (2, True)
            await run.others.more_acknowledged()
            run.others.is_over = True
            await writer
            await until(lambda: run.others.acknowledged <= run.others.seen)
            watcher.cancel()
        with pytest.raises(FencedOutError, match="another process has taken over"):
            await before.renew()
        kept = {one.arbitrage_id for one in await run.led.open_arbitrages()}
        assert run.others.acknowledged <= kept


async def started(home: Path, stack: AsyncExitStack) -> Failover:
    """With opened books, and a writer and a watcher in the region that is never primary."""
    mongods = stack.enter_context(regional_mongods(home, election_ms=CALM_MS))
    await mongods.wait_ready()
    stores = {region: await stack.enter_async_context(mongods.store(region)) for region in REGIONS}
    for store in stores.values():
        await store.prepare()
    leading = [region for region, store in stores.items() if store.leases.may_decide()]
    assert leading in (["us"], ["eu"])
    await open_books(stores[leading[0]], MANY)
    following = "eu" if leading == ["us"] else "us"
    return Failover(mongods, leading[0], stores[leading[0]], stores[following], Bystanders(stores["jp"]))
