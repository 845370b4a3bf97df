"""What the supervisor tells of its processes, and what a user wants of them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from runtime.clock import SystemClock, wall_now
from store.operations.processes import MongoProcesses
from store.records.processes import SILENT_SECONDS, SUPERVISOR, Process, ProcessOrder, ProcessReport
from store.server.client import Database, connect, database_of
from store.server.indexes import create_indexes
from tests.databases import lent_database
from tests.ui.waiting import until

BOT = ProcessReport("bot-alpha", "bot", "alpha", "ready", age=2_000_000, pid=7, restarts=1, last_end="exit code 1")
CEP = ProcessReport("cep", "cep", None, "starting", age=0)


@pytest.fixture
async def database(mongodb_uri: str) -> AsyncIterator[Database]:
    client = connect(mongodb_uri)
    async with lent_database(mongodb_uri) as name:
        made = database_of(client, name)
        await create_indexes(made)
        yield made
    client.close()


@pytest.fixture
def processes(database: Database) -> MongoProcesses:
    return MongoProcesses(database, "session-1")


async def named(processes: MongoProcesses, name: str) -> Process:
    return next(one for one in await processes.all() if one.name == name)


async def heard(processes: MongoProcesses, beat: int) -> None:
    """Until it is read: a beat is acknowledged before a majority has it, and only then is it seen."""

    async def is_heard() -> bool:
        return any(one.name == SUPERVISOR and one.updated == beat for one in await processes.all())

    await until(is_heard)


async def test_what_is_reported_is_read_with_the_servers_time(processes: MongoProcesses) -> None:
    now = await processes.beat(pid=1)
    await heard(processes, now)
    assert abs(now - wall_now()) < 60_000_000
    await processes.report([BOT, CEP], now)
    bot, cep, supervisor = await processes.all()
    assert (bot.name, bot.kind, bot.exchange, bot.reported_state, bot.pid) == ("bot-alpha", "bot", "alpha", "ready", 7)
    assert (bot.since, bot.restarts, bot.last_end, bot.order) == (now - 2_000_000, 1, "exit code 1", ProcessOrder())
    assert (cep.name, cep.reported_state, cep.pid, cep.since, cep.is_stoppable) == ("cep", "starting", None, now, False)
    assert (supervisor.name, supervisor.kind, supervisor.reported_state, supervisor.pid) == (
        SUPERVISOR,
        "supervisor",
        "ready",
        1,
    )
    assert {bot.updated, cep.updated, supervisor.updated} == {now}


async def test_a_beat_leaves_since_when_the_supervisor_runs(processes: MongoProcesses, database: Database) -> None:
    first = await processes.beat(pid=1)
    second = await processes.beat(pid=1)
    await heard(processes, second)
    assert (await named(processes, SUPERVISOR)).since == first
    following = MongoProcesses(database, "session-2")
    third = await following.beat(pid=2)
    await heard(following, third)
    assert (await named(following, SUPERVISOR)).since == third


async def test_of_a_silent_supervisor_nothing_is_known(processes: MongoProcesses, database: Database) -> None:
    now = await processes.beat(pid=1)
    await heard(processes, now)
    await processes.report([BOT], now)
    await database["processes"].update_one({"_id": SUPERVISOR}, {"$inc": {"updated": -int(SILENT_SECONDS * 2_000_000)}})
    bot, supervisor = await processes.all()
    assert (bot.state, bot.reported_state) == ("unknown", "ready")
    assert supervisor.state == "unknown"

    async def is_known_again() -> bool:
        await processes.beat(pid=1)
        return (await named(processes, "bot-alpha")).state == "ready"

    await until(is_known_again)


async def test_without_any_supervisor_nothing_is_known(processes: MongoProcesses) -> None:
    await processes.report([BOT], wall_now())
    (bot,) = await processes.all()
    assert (bot.state, bot.reported_state, bot.updated) == ("unknown", "ready", 0)


async def test_what_is_wanted_outlives_what_is_reported_and_the_session(
    processes: MongoProcesses, database: Database
) -> None:
    now = await processes.beat(pid=1)
    await processes.report([BOT, CEP], now)
    assert await processes.orders() == {"bot-alpha": ProcessOrder()}
    stopped = await processes.want("bot-alpha", "stopped", "erika")
    assert stopped is not None
    assert (stopped.order.wanted, stopped.order.by) == ("stopped", "erika")
    assert stopped.order.at >= now
    await processes.report([replace(BOT, state="stopped", pid=None)], now)
    assert (await processes.orders())["bot-alpha"] == stopped.order
    following = MongoProcesses(database, "session-2")
    await following.report([BOT], await following.beat(pid=2))
    assert (await following.orders())["bot-alpha"] == stopped.order


async def test_what_is_wanted_already_keeps_who_wanted_it_first(processes: MongoProcesses) -> None:
    await processes.report([BOT], await processes.beat(pid=1))
    first = await processes.want("bot-alpha", "stopped", "erika")
    second = await processes.want("bot-alpha", "stopped", "otto")
    assert first is not None
    assert second is not None
    assert second.order == first.order
    started = await processes.want("bot-alpha", "running", "otto")
    assert started is not None
    assert (started.order.wanted, started.order.by) == ("running", "otto")


@pytest.mark.parametrize("name", ["cep", SUPERVISOR, "bot-nobody", ""])
async def test_only_what_may_be_stopped_is_stopped(processes: MongoProcesses, name: str) -> None:
    await processes.report([BOT, CEP], await processes.beat(pid=1))
    assert await processes.want(name, "stopped", "erika") is None
    assert await processes.orders() == {"bot-alpha": ProcessOrder()}


async def test_another_session_is_neither_read_nor_stopped(processes: MongoProcesses, database: Database) -> None:
    await processes.report([BOT], await processes.beat(pid=1))
    other = MongoProcesses(database, "session-2")
    assert await other.all() == []
    assert await other.want("bot-alpha", "stopped", "erika") is None
    assert {one.name for one in await MongoProcesses(database, None).all()} == {"bot-alpha", SUPERVISOR}


async def test_telling_and_wanting_at_once_lose_nothing(processes: MongoProcesses) -> None:
    now = await processes.beat(pid=1)
    await processes.report([BOT], now)

    async def report_often() -> None:
        for restarts in range(20):
            await processes.report([replace(BOT, restarts=restarts)], now)
            await SystemClock().sleep(0)

    await asyncio.gather(report_often(), processes.want("bot-alpha", "stopped", "erika"))
    bot = await named(processes, "bot-alpha")
    assert (bot.restarts, bot.order.wanted) == (19, "stopped")


async def test_each_region_has_its_own_supervisor_and_parts(database: Database) -> None:
    us, eu = (MongoProcesses(database, "session-1", region) for region in ("us", "eu"))
    now = await us.beat(pid=1)
    await eu.beat(pid=2)
    await us.report([BOT, CEP], now)
    await eu.report([CEP], now)
    assert {one.name for one in await us.all()} == {"bot-alpha", "cep", SUPERVISOR}
    assert {one.name for one in await eu.all()} == {"cep", SUPERVISOR}
    assert await eu.want("bot-alpha", "stopped", "somebody") is None
    assert (await us.orders()).keys() == {"bot-alpha"}
    assert await eu.orders() == {}
