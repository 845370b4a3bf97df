"""What published apps say of themselves on a real Kafka: what they wait for, that their processes end again and again,
rows given again, and rows that were sent to one version and are read by the next."""

import asyncio
import signal
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cep.snapshot_folder import SnapshotFolder
from launch.apps.sent_rows import sent_message
from runtime.app_door import AppDoorSilentError
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.memory.apps import MemoryApps
from store.records.apps import StoredApp
from streams.message_format import row_of
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from tests.cep.logs import LogMaker
from tests.launch.published.published_world import PublishedWorld, computed, log_begins, published
from tests.launch.published.test_published_apps import MEANS as OTHER_MEANS
from tests.launch.published.test_published_apps import SENT as OTHER_SENT
from tests.launch.published.test_published_apps import offset, reaching, source_of
from tests.store.traded_session import new_session

pytestmark = pytest.mark.slow
MEANS, SENT = OTHER_MEANS.replace("'means'", "'troubled'"), OTHER_SENT.replace("'sent'", "'waiting'")
"""Under other names: tests share the topic of rows."""


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


async def sent(session: Session, app: StoredApp, **values: Any) -> None:
    """Send a row to the app while none of its versions runs, so that none has merged it."""
    writer = TopicWriter(session.services.kafka)
    await writer.open()
    writer.write(f"app-rows-{app.name}", sent_message(app.created_at, "Marks", values), app.name, 0)
    await writer.flush()
    await writer.close()


async def killed_without_snapshot(world: PublishedWorld, app: str) -> None:
    """Kill the app's process, as if before its first snapshot."""
    running = world.host.running(app)
    async with asyncio.timeout(60):
        while (process := running.group.process_of(0)) is None or not process.is_running():
            await SystemClock().sleep(0.02)
    process.send_signal(signal.SIGKILL)
    await asyncio.to_thread(process.wait)
    SnapshotFolder(running.folder).path(0).unlink(missing_ok=True)


async def until_figures(world: PublishedWorld, app: str, **wanted: object) -> Mapping[str, Any]:
    """Wait until the app's status has these figures."""
    async with asyncio.timeout(60):
        while True:
            found = await world.door.status(app)
            if wanted.items() <= {name: found[name] for name in wanted}.items():
                return found
            await SystemClock().sleep(0.05)


async def test_an_app_says_what_it_waits_for_and_begins_once_it_is_there(session: Session) -> None:
    apps = MemoryApps(SystemClock())
    async with published(session, apps, 0) as world:
        await world.publish("troubled", MEANS)
        reason = await world.until_says("troubled", "starting", "waits for")
        assert reason.startswith("waits for detection: detection started 0 times")
        with pytest.raises(AppDoorSilentError, match=r"is starting .waits for detection"):
            await world.door.query("troubled", "from Last select bid;")
        await log_begins(session)
        assert await world.until("troubled", "running") == ""


async def test_a_process_that_ends_again_and_again_is_told_and_what_it_gives_again_is_counted_apart(
    session: Session,
) -> None:
    log, apps, first = LogMaker(21).write(300), MemoryApps(SystemClock()), await log_begins(session)
    source = source_of(session, "troubled", MEANS)
    wanted = computed(source, log, first)
    async with published(session, apps, first) as world:
        await world.publish("troubled", MEANS)
        await world.until("troubled", "running")
        await world.write(log)
        await world.written(source.label, reaching(max(map(offset, wanted))))
        assert (await until_figures(world, "troubled", repeats=0))["reason"] == ""
        for restarts in (1, 2):
            await killed_without_snapshot(world, "troubled")
            found = await until_figures(world, "troubled", restarts=restarts)
        assert found["reason"] == "restarted 2 times in the last minute: its process was killed by SIGKILL"
        means = [one for one in wanted if row_of(one)["stream"] == "Means"]
        async with asyncio.timeout(60):
            while (found := await world.door.status("troubled"))["repeats"] < len(means):
                await SystemClock().sleep(0.05)
        assert found["rows_out"] <= len(means)
        assert found["repeats"] <= 2 * len(means)


async def test_what_was_sent_before_a_version_took_over_is_read_by_it_if_it_fits(session: Session) -> None:
    apps, first = MemoryApps(SystemClock()), await log_begins(session)
    newer = SENT.replace("level + 1", "level + 2")
    other = newer.replace("level int", "height int").replace("level + 2", "height")
    async with published(session, apps, first) as world:
        app = await world.publish("waiting", SENT)
        await world.until("waiting", "running")
        await world.door.inject("waiting", "Marks", {"text": "a", "level": 1})
        await world.written(source_of(session, "waiting", SENT).label, lambda rows: len(rows) >= 1)
        await apps.order("waiting", "stopped", "ada")
        await world.until("waiting", "stopped")
        await sent(session, app, text="b", level=1)
        await world.publish("waiting", newer)
        await world.until("waiting", "running")
        (row,) = await world.written(source_of(session, "waiting", newer).label, lambda rows: len(rows) >= 1)
        assert row_of(row)["values"] == {"text": "b", "next": 3}
        await apps.order("waiting", "stopped", "ada")
        await world.until("waiting", "stopped")
        await sent(session, app, text="c", level=1)
        await sent(session, app, text="d", height=1)
        await world.publish("waiting", other)
        await world.until("waiting", "running")
        (row,) = await world.written(source_of(session, "waiting", other).label, lambda rows: len(rows) >= 1)
        assert row_of(row)["values"] == {"text": "d", "next": 1}
        found = await until_figures(world, "waiting", rejected_rows=1)
        assert found["reason"] == (
            "rows sent in that do not fit this version: 1 (the last: a row of 'Marks' has no column 'level')"
        )
