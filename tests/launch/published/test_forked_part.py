"""The part that runs published apps, as its session's supervisor starts it: a fork of the template, with logins of its
own, on a real Kafka and MongoDB."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from launch.supervisor.forks import Template
from launch.supervisor.process_groups import group_members, signal_group
from launch.supervisor.process_plan import APPS, own_processes
from runtime.app_door import AppDoor, AppDoorSilentError
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.mongo.store import open_store
from store.ports.apps import StoredApps
from streams.topic_admin import ensure_topics
from tests.launch.published.published_world import log_begins
from tests.launch.published.test_published_apps import MEANS
from tests.services import note_session
from tests.store.traded_session import new_session

pytestmark = pytest.mark.slow
SECONDS = 120


@pytest.fixture
async def session(mongodb_uri: str, kafka_address: str, tmp_path: Path) -> AsyncIterator[Session]:
    await ensure_topics(kafka_address, 1)
    async with new_session(mongodb_uri) as (opened, _):
        services = replace(opened.services, kafka=kafka_address, partitions=1)
        yield replace(opened, services=services, home=tmp_path, started_at=wall_now(), mode="paper")


async def test_a_fork_of_the_template_runs_what_is_published_and_goes_on_after_kill_9(
    session: Session,
) -> None:
    note_session(session)
    await log_begins(session)
    (part,) = (one for one in own_processes(session, (), fed=True) if one.name == APPS)
    template, log, door = Template(session.home), session.home / "logs" / "apps.log", AppDoor(session.home)
    template.start()
    try:
        async with await open_store(session) as store, asyncio.timeout(SECONDS):
            await store.apps.create("means", MEANS, "ada")
            await store.apps.order("means", "published", "ada")
            for _ in range(2):
                child = await template.start_part(part, log)
                await until_runs(door, store.apps, session.session_id)
                signal_group(child.pid, signal.SIGKILL)
                while group_members(child.pid):
                    child.poll()
                    await SystemClock().sleep(0.05)
    finally:
        template.stop()


async def until_runs(door: AppDoor, apps: StoredApps, session_id: str) -> None:
    """Wait until the app has a process, and its host has said so."""
    while True:
        app = await apps.app("means")
        with suppress(AppDoorSilentError):
            status = (await door.all_status()).get("means")
            has_process = status is not None and status["workers"][0]["pid"] is not None
            if has_process and app is not None and app.state_in(session_id) == ("running", ""):
                return
        await SystemClock().sleep(0.1)
