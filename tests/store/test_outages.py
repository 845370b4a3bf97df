"""A mongod that is killed under writers and watchers: it recovers, and nothing acknowledged is lost."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

import pytest

from market.money import total
from market.trade.leases import UNFENCED
from runtime.clock import SystemClock
from store.errors import StoreError, StoreUnavailableError
from store.mongo.store import MongoTradeStore
from store.server.client import check_reachable, connect
from store.server.embedded_mongod import OPTIONS
from streams.broker.embedded_broker import free_ports
from tests.market.samples import settings_of
from tests.service_process import ServiceProcess
from tests.services import embedded_mongodb, mongod_process, wait_primary
from tests.store.reservation_requests import balances, open_books, opportunity, request

DEADLINE_SECONDS = 60
WRITE_CONCERN_FAILED = 64
MANY = settings_of(max_open_arbitrages=1_000)


@pytest.fixture
def mongod(tmp_path: Path) -> Iterator[ServiceProcess]:
    """Return a server of the test's own, to be killed."""
    with embedded_mongodb(tmp_path) as process:
        yield process


@pytest.fixture
async def lonely_store(mongod: ServiceProcess) -> AsyncIterator[MongoTradeStore]:
    async with MongoTradeStore(connect(mongod.address), "outages", "session-1") as store:
        await store.prepare()
        await open_books(store, MANY)
        yield store


@dataclass(slots=True)
class Bystanders:
    """A writer and two watchers that go on by themselves, and what they were told."""

    store: MongoTradeStore
    acknowledged: set[str] = field(default_factory=set)
    seen: set[str] = field(default_factory=set)
    versions: list[int] = field(default_factory=list)
    wanted: int = 0
    """How many are written: the limit of open arbitrages must not end the writing."""
    is_over: bool = False
    """A writer that was cancelled might still commit."""

    async def write(self) -> None:
        for index in count():
            await until(lambda: self.is_over or len(self.acknowledged) < self.wanted)
            if self.is_over:
                return
            of = opportunity(f"opportunity-{index}", sequence=index)
            # a pair may be open once, so each has a base of its own
            of = replace(of, base=f"base-{index}")
            try:
                result = await self.store.reserve(request("0.001", of, MANY), UNFENCED)
            except StoreUnavailableError:
                continue
            if result.arbitrage is not None:
                self.acknowledged.add(result.arbitrage.arbitrage_id)

    async def watch_grants(self) -> None:
        async for grant in self.store.watch_grants("alpha"):
            self.seen.add(grant.arbitrage_id)

    async def watch_settings(self) -> None:
        async for settings in self.store.settings.watch():
            self.versions.append(settings.version)

    async def more_acknowledged(self) -> None:
        """Wait until more are acknowledged; further ones are then still being written."""
        known = len(self.acknowledged)
        self.wanted = known + 100
        await until(lambda: len(self.acknowledged) > known + 20)


async def test_a_killed_server_loses_nothing_acknowledged(
    mongod: ServiceProcess, lonely_store: MongoTradeStore
) -> None:
    others = Bystanders(lonely_store)
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as group:
        writer = group.create_task(others.write())
        watchers = [group.create_task(watch()) for watch in (others.watch_grants, others.watch_settings)]
        for version in (1, 2):
            await others.more_acknowledged()
            mongod.kill()
            mongod.start()
            await wait_primary(mongod)
            await lonely_store.settings.change(MANY, version, "somebody")
            await others.more_acknowledged()
        others.is_over = True
        await writer
        await until(lambda: others.acknowledged <= others.seen and others.versions[-1:] == [3])
        for watcher in watchers:
            watcher.cancel()
    assert others.versions == [1, 2, 3]
    kept = {arbitrage.arbitrage_id: arbitrage for arbitrage in await lonely_store.open_arbitrages()}
    assert others.acknowledged <= kept.keys()
    rows = await balances(lonely_store)
    for number, (place, opening) in enumerate({("alpha", "USD"): 1_000, ("beta", "BTC"): 10}.items()):
        held = total(arbitrage.legs[number].held for arbitrage in kept.values())
        assert rows[place] == (opening - held, held)


@pytest.mark.parametrize(
    ("is_there", "times", "failure"),
    [
        # the commit is done, and its acknowledgement is not given
        (True, 1, {"writeConcernError": {"code": WRITE_CONCERN_FAILED, "errmsg": "waiting was ended"}}),
        # twice, since the driver asks again
        (False, 2, {"closeConnection": True}),
    ],
)
async def test_a_commit_of_unknown_outcome_is_read_back(
    tmp_path: Path, is_there: bool, times: int, failure: dict[str, object]
) -> None:
    """Whether it came through or not, asking again gives the one reservation, and holds its balances once."""
    with mongod_process(tmp_path, (*OPTIONS, "--setParameter", "enableTestCommands=1")) as process:
        await wait_primary(process)
        client = connect(process.address)
        async with MongoTradeStore(client, "unknown", "session-1") as store:
            await store.prepare()
            await open_books(store, MANY)
            commits = {"failCommands": ["commitTransaction"], **failure}
            await client.admin.command("configureFailPoint", "failCommand", mode={"times": times}, data=commits)
            wanted = request("0.001", opportunity("one"), MANY)
            with pytest.raises(StoreUnavailableError):
                await store.reserve(wanted, UNFENCED)
            # also what no majority has yet, which the store would not show
            assert await client["unknown"]["arbitrages"].count_documents({}) == is_there
            result = await store.reserve(wanted, UNFENCED)
            assert result.arbitrage is not None
            (kept,) = await store.open_arbitrages()
            rows = await balances(store)
            assert [rows[place][1] for place in (("alpha", "USD"), ("beta", "BTC"))] == [leg.held for leg in kept.legs]


async def test_a_new_start_may_use_another_port(tmp_path: Path) -> None:
    with mongod_process(tmp_path) as process:
        await wait_primary(process)
        async with MongoTradeStore(connect(process.address), "moved", "session-1") as store:
            await store.prepare()
            await store.settings.create(MANY)
    with mongod_process(tmp_path) as process:
        await wait_primary(process)
        async with MongoTradeStore(connect(process.address), "moved", "session-2") as store:
            assert await store.settings.current() == MANY


async def test_an_address_where_nothing_listens_is_one_sentence() -> None:
    (port,) = free_ports(1)
    async with asyncio.timeout(DEADLINE_SECONDS):
        with pytest.raises(StoreUnavailableError, match=r"^MongoDB is not reachable: .{10,200}$"):
            await check_reachable(f"mongodb://127.0.0.1:{port}/?replicaSet=rs0")


async def test_what_is_no_address_is_said_at_once() -> None:
    with pytest.raises(StoreError, match="Not a MongoDB address"):
        await check_reachable("http://127.0.0.1:1")


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await SystemClock().sleep(0.01)
