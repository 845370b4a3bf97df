"""Whatever is killed, and whatever versions come and go meanwhile: no row of a published app is lost or another one,
its tables and aggregations are those of the log, and all apps are back afterwards, in the next session too."""

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.mongo.store import open_store
from streams.broker.embedded_broker import free_ports, wait_ready
from streams.topic_admin import ensure_topics
from tests.launch.published.kill_storm import (
    LOOK_SECONDS,
    PATIENCE_SECONDS,
    TEXTS,
    Feed,
    KilledWorld,
    all_given,
    begin_of_log,
    faults,
    home_of,
    killed_world,
    moments,
    quotes,
    state_of,
    storm,
    truth,
)
from tests.launch.published.published_world import log_begins
from tests.service_process import ServiceProcess
from tests.services import START_SECONDS, kafka_process, mongod_process, note_session, wait_primary
from tests.store.traded_session import session_at

OURS = ("worker", "part", "kafka", "mongodb")
SHORT, LONG = 1, 20
LOAD = 10
"""Processes that want a core each, in the long form."""
ROWS_BETWEEN = 90
AFTERWARDS = 60
"""Rows in the next session."""
SEED = 44


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[tuple[Session, ServiceProcess, ServiceProcess]]:
    """Services of the test's own, since they are killed."""
    with kafka_process(tmp_path / "kafka") as kafka, mongod_process(tmp_path / "mongodb") as mongodb:
        await asyncio.gather(wait_ready(kafka.address, START_SECONDS), wait_primary(mongodb))
        await ensure_topics(kafka.address, 1)
        made, (port,) = session_at(mongodb.address, "killed"), free_ports(1)
        session = replace(
            made,
            services=replace(made.services, kafka=kafka.address, partitions=1),
            page=replace(made.page, port=port),
            home=home_of(tmp_path),
            started_at=wall_now(),
            mode="paper",
        )
        async with await open_store(session) as store:
            await store.prepare()
        yield session, kafka, mongodb


@contextmanager
def load(processes: int) -> Iterator[None]:
    with ExitStack() as stack:
        for _ in range(processes):
            busy = multiprocessing.get_context("spawn").Process(target=_spin, daemon=True)
            busy.start()
            stack.callback(busy.join)
            stack.callback(busy.kill)
        yield


def _spin() -> None:
    while True:
        pass


async def apps_on_the_page(world: KilledWorld) -> dict[str, str]:
    assert world.ui is not None
    async with httpx.AsyncClient() as client:
        listed = (await client.get(f"http://{world.ui.address}/api/apps", timeout=START_SECONDS)).json()["apps"]
    return {one["name"]: one["state"] for one in listed}


async def check(world: KilledWorld, first: int) -> None:
    """Compare all rows, tables and aggregations with the log's."""
    wanted = await truth(world.session.services.kafka, first)
    found = await all_given(world.session, wanted)
    for name in TEXTS:
        assert (name, [*faults(found[name], wanted, has_means=name == "plain")][:5]) == (name, [])
        assert (name, *await state_of(world.door, name)) == (name, wanted.lasts, wanted.sums)


async def check_next_session(world: KilledWorld, first: int) -> None:
    """Begin another session after everything was killed: the apps are back, and what is stored is that of both."""
    world.session = session = replace(world.session, session_id="the-next-one", started_at=wall_now())
    note_session(session)
    begin = await log_begins(session)
    await world.start_part()
    await world.until_running()
    await Feed(session.services.kafka, quotes(AFTERWARDS, begin_of_log()), begin).run()
    wanted, found = await truth(session.services.kafka, first), None
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_SECONDS):
            while found != (bids(wanted.lasts), wanted.sums):
                lasts, sums = await state_of(world.door, "kept")
                found = bids(lasts), sums
                await SystemClock().sleep(LOOK_SECONDS)
    assert found == (bids(wanted.lasts), wanted.sums)


def bids(lasts: Mapping[str, tuple[float, int]]) -> dict[str, float]:
    """Return the prices alone: the app counts from each session's beginning."""
    return {exchange: bid for exchange, (bid, _) in lasts.items()}


@pytest.mark.parametrize(
    ("count", "processes", "victims"),
    [
        pytest.param(SHORT, 0, OURS, marks=pytest.mark.slow),
        pytest.param(LONG, LOAD, (*OURS, "ui", "everything"), marks=pytest.mark.soak),
    ],
    ids=("short", "long"),
)
async def test_no_row_is_lost_or_another_one_whatever_is_killed(
    services: tuple[Session, ServiceProcess, ServiceProcess], count: int, processes: int, victims: tuple[str, ...]
) -> None:
    session, *_ = services
    first, planned = await log_begins(session), moments(victims, count, SEED)
    rows = quotes(len(planned) * ROWS_BETWEEN + AFTERWARDS, begin_of_log())
    feed = Feed(session.services.kafka, rows, first)
    async with killed_world(*services) as world:
        if "ui" in victims:
            await world.start_ui()
        await world.until_running()
        with load(processes):
            feeding = asyncio.ensure_future(feed.run())
            await storm(world, feed, planned, ROWS_BETWEEN, SEED)
            await world.order("older")
            await feeding
            await world.until_running()
            await check(world, first)
        if "ui" in victims:
            assert await apps_on_the_page(world) == dict.fromkeys(TEXTS, "running")
        await world.kill("everything")
        await world.until_running()
        await check(world, first)
        await world.kill_part()
        await check_next_session(world, first)
