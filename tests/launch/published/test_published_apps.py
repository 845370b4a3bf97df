"""Published apps on a real Kafka, in real processes: killed, restarted, replaced and stopped, they give what one kernel
gives that was never cut."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cep.apps.hosts.hosted_app import AppSource, HostedApp
from cep.snapshot_folder import SnapshotFolder
from launch.published.hosted import published_source
from launch.setup.data_dir import process_lock
from runtime.app_door import AppDoorRefusedError, AppDoorSilentError
from runtime.clock import SystemClock, wall_now
from session.session import Placement, Session
from store.memory.apps import MemoryApps
from store.records.apps import AppVersion
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from tests.cep.logs import LogMaker
from tests.launch.published.published_world import TERMS, PublishedWorld, computed, log_begins, published
from tests.store.traded_session import new_session

pytestmark = pytest.mark.slow
MEANS = """@App:name('means')
define table Last (exchange string, symbol string, bid double);
from quotes#window.length(20) select exchange, symbol, avg(bid) as mean, count() as n insert into Means;
from quotes select exchange, symbol, bid
update or insert into Last set Last.bid = bid on Last.exchange == exchange and Last.symbol == symbol;
"""
MORE = MEANS + "from quotes select exchange, count() as quotes insert into Counted;"
SLOW = "@App:name('slow') from quotes select exchange insert into A; from A select exchange insert into A;"
SENT = """@App:name('sent') define stream Marks (text string, level int);
from Marks select text, level + 1 as next insert into Out;
"""
ASKS = (
    MEANS
    + """
@sink(type = 'http-call', sink.id = 's', publisher.url = 'https://example.com/a', method = 'GET')
define stream Asked (mean double);
@source(type = 'http-call-response', sink.id = 's') define stream Got (mean double);
from Means select mean insert into Asked;
"""
)
ROWS = 1_500


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        yield replace(
            opened,
            services=replace(opened.services, kafka=kafka_address, partitions=1),
            home=tmp_path,
            started_at=wall_now(),
            mode="paper",
        )


def source_of(session: Session, name: str, text: str) -> AppSource:
    return published_source(session, AppVersion(name, 1, text, "ada", 1), TERMS)


async def left_behind_by_followers(world: PublishedWorld) -> None:
    """Follow a quiet stream and go again, often; wait until nothing of it is left."""
    before = psutil.Process().num_fds()
    for _ in range(30):
        rows = world.door.follow("sent", "Out")
        with suppress(TimeoutError):
            async with asyncio.timeout(0.05):
                await anext(rows)
        await rows.aclose()
    async with asyncio.timeout(60):
        while psutil.Process().num_fds() > before + 5:
            await SystemClock().sleep(0.05)


async def killed(world: PublishedWorld, app: str) -> None:
    """Kill the app's process, and wait for the next one."""
    async with asyncio.timeout(60):
        before = (await world.door.status(app))["workers"][0]["pid"]
        process = world.host.running(app).group.process_of(0)
        assert process is not None
        process.send_signal(signal.SIGKILL)
        while (await world.door.status(app))["workers"][0]["pid"] in (before, None):
            await SystemClock().sleep(0.02)


async def test_rows_of_killed_and_restarted_apps_are_those_of_one_that_was_never_cut(session: Session) -> None:
    log = LogMaker(11).write(ROWS)
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    source = source_of(session, "means", MEANS)
    wanted = computed(source, log, first)
    third = len(log) // 3
    async with published(session, apps, first) as world:
        await world.publish("means", MEANS)
        await world.publish("slow", SLOW)
        await world.until("means", "running")
        await world.write(log[:third])
        assert "feeds itself" in await world.until("slow", "failed")
        await world.written(source.label, lambda found: len(found) > 100)
        await killed(world, "means")
        await world.write(log[third : 2 * third])
        await world.written(source.label, lambda found: len(set(found)) > len(wanted) // 2)
    # the part ends, as it does with its session's supervisor or by kill -9, and begins again
    async with published(session, apps, first) as world:
        await world.until("means", "running")
        assert "feeds itself" in await world.until("slow", "failed")
        await world.write(log[2 * third :])
        found = await world.written(source.label, lambda found: set(wanted) <= set(found))
        assert set(found) == set(wanted)
        rows = await world.door.rows("means", "Means", 5)
        assert [row.id for row in rows] == [row_of(one)["id"] for one in wanted[-5:]]
        answer = await world.door.query("means", "from Last select exchange, symbol, bid;")
        assert [name for name, _ in answer.columns] == ["exchange", "symbol", "bid"]
        assert len(answer.rows) > 3
        assert answer.as_of[0]["offset"] == first + len(log) - 1
        async with asyncio.timeout(60):
            # the next round of snapshots, and the next look at it
            while (status := await world.door.status("means"))["snapshot_age_ms"] is None:
                await SystemClock().sleep(0.1)
        assert (status["version"], status["worker"], status["lag_rows"]) == (1, "shared", 0)


async def test_a_version_takes_over_at_one_row_with_the_state_that_fits_and_back(session: Session) -> None:
    log = LogMaker(12).write(ROWS)
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    before, after = source_of(session, "means", MEANS), source_of(session, "means", MORE)
    third, by_offset = len(log) // 3, dict[int, object]()
    of_one = {offset(one): row_of(one)["values"] for one in computed(before, log[: 3 * third], first)}
    async with published(session, apps, first) as world:
        await world.publish("means", MEANS)
        await world.until("means", "running")
        fits = await world.door.fits("means", MORE)
        assert [len(fits[one]) for one in ("fit", "empty", "dropped")] == [3, 1, 0]
        for number, (source, version) in enumerate(((before, 1), (after, 2), (before, 1))):
            if version == 2:
                await world.publish("means", MORE)
            elif number:
                await world.order("means", 1)
            reason = await world.until("means", "running")
            assert ("begun empty: the query at line 6" in reason) == (version == 2)
            assert (await world.door.status("means"))["version"] == version
            await world.write(log[number * third : (number + 1) * third])
            last = max(at for at in of_one if at < first + (number + 1) * third)
            found = await world.written(source.label, reaching(last))
            by_offset |= {offset(one): row_of(one)["values"] for one in found if row_of(one)["stream"] == "Means"}
    assert {at: by_offset.get(at) for at in of_one} == of_one


async def test_a_version_that_takes_over_from_a_killed_process_repeats_no_row(session: Session) -> None:
    log = LogMaker(13).write(ROWS // 3)
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    before, after = source_of(session, "means", MEANS), source_of(session, "means", MORE)
    half = len(log) // 2
    wanted = [offset(one) for one in computed(before, log, first)]
    last = max(at for at in wanted if at < first + half)
    async with published(session, apps, first) as world:
        await world.publish("means", MEANS)
        await world.until("means", "running")
        await world.write(log[:half])
        await world.written(before.label, reaching(last))
        running = world.host.running("means")
        process = running.group.process_of(0)
        assert process is not None
        process.send_signal(signal.SIGKILL)
        await asyncio.to_thread(process.wait)
        # as if it had been killed before its first snapshot
        SnapshotFolder(running.folder).path(0).unlink(missing_ok=True)
        await world.publish("means", MORE)
        await world.until("means", "running")
        await world.write(log[half:])
        found = await world.written(after.label, reaching(max(wanted)))
    by_the_other = {offset(one) for one in await world.written(before.label, reaching(last))}
    assert by_the_other.isdisjoint(map(offset, found))
    assert by_the_other | {offset(one) for one in found} >= set(wanted)


async def test_an_app_goes_on_from_a_savepoint_at_the_row_where_it_is(session: Session) -> None:
    log = LogMaker(14).write(ROWS)
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    source, third = source_of(session, "means", MEANS), len(log) // 3
    wanted = [offset(one) for one in computed(source, log, first)]
    async with published(session, apps, first) as world:
        await world.publish("means", MEANS)
        await world.until("means", "running")
        await world.write(log[:third])
        await saved_at(world, source, first + third)
        last = await world.door.query("means", TABLE)
        kept = await world.door.savepoint("means")
        await world.write(log[third : 2 * third])
        await saved_at(world, source, first + 2 * third)
        assert (await world.door.query("means", TABLE)).rows != last.rows
        await apps.order("means", "published", "ada", savepoint="20010101T000000Z")
        assert "has no savepoint '20010101T000000Z'" in await world.until_says("means", "running", "goes on")
        app = await apps.order("means", "published", "ada", savepoint=kept["savepoint"])
        assert app is not None
        async with asyncio.timeout(60):
            while (known := await apps.app("means")) and known.report and known.report.number != app.order.number:
                await SystemClock().sleep(0.02)
        await world.until("means", "running")
        assert (await world.door.query("means", TABLE)).rows == last.rows
        await world.write(log[2 * third :])
        found = await world.written(source.label, reaching(max(wanted)))
    # no row comes again, and none is left out; earlier ones are of other tests on this Kafka
    assert [at for at in map(offset, found) if at >= first] == wanted


async def test_a_savepoint_is_begun_with_once_and_not_in_each_later_session(session: Session) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    async with published(session, apps, first) as world:
        await world.publish("means", MEANS)
        await world.until("means", "running")
        log = LogMaker(15).write(200)
        await world.write(log)
        await saved_at(world, source_of(session, "means", MEANS), first + len(log))
        kept = await world.door.savepoint("means")
        await apps.order("means", "published", "ada", savepoint=kept["savepoint"])
        await world.until("means", "running")
        shutil.rmtree(session.home / "savepoints")
    # its file is gone, and the app's own state is as good
    async with published(session, apps, first) as world:
        assert await world.until("means", "running") == ""
    for number in range(2):
        later = replace(session, session_id=f"{session.session_id}-later-{number}")
        async with published(later, apps, await log_begins(later)) as world:
            assert await world.until("means", "running") == ""


TABLE = "from Last select exchange, symbol, bid;"


async def saved_at(world: PublishedWorld, source: AppSource, position: int) -> None:
    """Wait until a snapshot has all rows before `position`."""
    folder = SnapshotFolder(world.host.running("means").folder)
    async with asyncio.timeout(60):
        while True:
            app, data = HostedApp(source, 0), folder.load(0)
            if data is not None:
                app.restore(data)
                if app.position == position:
                    return
            await SystemClock().sleep(0.05)


async def test_a_version_that_cannot_run_leaves_the_one_before_running_also_after_a_restart(session: Session) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    label, places = source_of(session, "means", MORE).label, list[int]()
    refused = {ASKS: "requests to https://example.com are not allowed", MORE: "already running"}
    with process_lock(session.home, f"app-{label}"):
        for text, problem in refused.items():
            async with published(session, apps, first) as world:
                if await apps.app("means") is None:
                    await world.publish("means", MEANS)
                    await world.until("means", "running")
                    places.append(world.host.running("means").place)
                await world.publish("means", text)
                reason = await world.until_says("means", "running", "version 1 goes on")
                assert problem in reason
                assert (await world.door.status("means"))["version"] == 1
                places.append(world.host.running("means").place)
        # refused before the one that runs was stopped
        assert places[0] == places[1]
        async with published(session, apps, first) as world:
            await world.until("means", "starting")
            await world.until_says("means", "running", "version 1 goes on")
            assert (await world.door.status("means"))["version"] == 1
            await apps.order("means", "stopped", "ada")
            await world.until("means", "stopped")
            await world.order("means", 3)
            assert "already running" in await world.until("means", "failed")
            assert await world.door.all_status() == {}


async def test_what_is_sent_into_a_plain_stream_is_in_the_log_and_what_is_none_is_refused(session: Session) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    label = source_of(session, "sent", SENT).label
    async with published(session, apps, first) as world:
        with pytest.raises(AppDoorRefusedError) as unknown:
            await world.door.rows("sent", "Out", 1)
        assert unknown.value.kind == "unknown"
        await world.publish("sent", SENT)
        await world.until("sent", "running")
        with pytest.raises(AppDoorRefusedError, match="has no column 'leve'; did you mean 'level'"):
            await world.door.inject("sent", "Marks", {"leve": 1})
        await world.door.inject("sent", "Marks", {"text": "a", "level": 1})
        await world.door.inject("sent", "Marks", {"text": "b", "level": None})
        found = await world.written(label, lambda rows: len(rows) >= 2)
        assert [row_of(one)["values"] for one in found] == [{"text": "a", "next": 2}, {"text": "b", "next": None}]
        await left_behind_by_followers(world)
        newer = SENT.replace("level + 1", "level + 2")
        await world.publish("sent", newer)
        await world.until("sent", "running")
        await world.door.inject("sent", "Marks", {"text": "c", "level": 1})
        (row,) = await world.written(source_of(session, "sent", newer).label, lambda rows: len(rows) >= 1)
        assert row_of(row)["values"] == {"text": "c", "next": 3}
        app = await world.apps.order("sent", "stopped", "ada")
        assert app is not None
        await world.until("sent", "stopped")
        with pytest.raises(AppDoorRefusedError, match="does not run: it is stopped"):
            await world.door.inject("sent", "Marks", {"text": "c", "level": 1})
        assert await world.door.all_status() == {}
    with pytest.raises(AppDoorSilentError):
        await world.door.all_status()


def reaching(end: int) -> Callable[[list[bytes]], bool]:
    return lambda rows: any(offset(one) >= end and row_of(one)["stream"] == "Means" for one in rows)


def offset(message: bytes) -> int:
    return int(row_of(message)["id"].split(":")[2])


async def test_an_app_of_other_regions_does_not_run_here(session: Session) -> None:
    here = replace(session, place=Placement("jp", ("us", "jp")))
    apps = MemoryApps(SystemClock())
    await log_begins(here)
    async with published(here, apps, 0) as world:
        await apps.create("means", MEANS, "ada")
        await apps.order("means", "published", "ada", regions=("us",))
        assert await world.until_says("means", "stopped", "jp") == "it is published for us, and this is jp"
        await apps.order("means", "published", "ada", regions=())
        await world.until("means", "running")
        await apps.order("means", "published", "ada", regions=("us",))
        await world.until_says("means", "stopped", "this is jp")
        with pytest.raises(AppDoorRefusedError, match="it is stopped"):
            await world.door.status("means")
