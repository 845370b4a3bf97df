"""Apps of one run, until they end: what is beside them may be done long before."""

import asyncio
from threading import Event

from cep.apps.hosts.hosted_app import AppSource
from cep.apps.resident.kernel import PlacedApp
from launch.sessions.app_input import apps_folder, live_input
from launch.sessions.app_rows import AppRows
from launch.sessions.live_apps import _Run, _run
from launch.setup.data_dir import RUN_FILE, write_atomically
from session.session import Session
from tests.launch import test_user_topics
from tests.launch.test_user_topics import TIMEOUT_SECONDS, give, read_all, two_versions
from tests.ui.waiting import until

session = test_user_topics.session


class Host:
    """Runs no app, until it is told that it has ended."""

    def __init__(self) -> None:
        self.ended, self.problems = Event(), dict[str, str]()

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self.ended.set()


async def run_of(session: Session, source: AppSource, host: Host) -> _Run:
    write_atomically(session.home / RUN_FILE, session.to_json())
    beside = await live_input(session, source)
    placed = PlacedApp(source, apps_folder(session) / source.label, beside.first)
    return _Run(session, (host,), (placed,), [beside], None)


async def test_a_version_runs_on_once_the_rest_of_the_one_before_is_copied(session: Session) -> None:
    versions, host, kafka = two_versions("edited"), Host(), session.services.kafka
    await versions.begun(session, apps_folder(session))
    await give(session, (versions.old, "edited", 1))

    def copied() -> list[str]:
        return [name for name, _, _ in read_all(kafka, versions.topic)]

    async with asyncio.timeout(TIMEOUT_SECONDS):
        run = await run_of(session, versions.new, host)
        running = asyncio.ensure_future(_run(run, AppRows(None, lambda _: None, [versions.new]), lambda _: None))
        await until(lambda: asyncio.to_thread(lambda: len(copied()) == 1), TIMEOUT_SECONDS)
        await give(session, (versions.new, "edited", 2))
        await until(lambda: asyncio.to_thread(lambda: len(copied()) == 2), TIMEOUT_SECONDS)
        assert not running.done()
        host.ended.set()
        await running
    assert copied() == [f"{versions.old.label}:0:1:0", f"{versions.new.label}:0:2:0"]
