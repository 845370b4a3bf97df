"""Real processes under a supervisor that reports their states to MongoDB, and stops those that a user does not want."""

import asyncio
import os
import signal
import socket
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from launch.setup.data_dir import ready_file
from launch.supervisor.process_groups import ProcessSpec
from launch.supervisor.supervisor import Supervisor
from session.session import Session
from store.mongo.store import open_store
from store.operations.processes import MongoProcesses, open_processes
from store.records.processes import SUPERVISOR, Process
from tests.launch.test_supervisor import eventually_restarted, process_of, sleeper
from tests.services import note_session
from tests.ui.samples import NOWHERE, session_of
from tests.ui.session_database import session_database
from tests.ui.waiting import until

KILLED = "killed by SIGKILL (by hand, or by a system out of memory)"
LINGERING = textwrap.dedent(
    """
    import os, pathlib, signal, sys, time
    ready, finished = map(pathlib.Path, sys.argv[1:])
    def leave(number, frame):
        while not finished.exists():
            time.sleep(0.01)
        sys.exit(0)
    signal.signal(signal.SIGTERM, leave)
    ready.write_text(str(os.getpid()))
    time.sleep(1000)
    """
)

SUPERVISING = textwrap.dedent(
    """
    import asyncio, sys
    from pathlib import Path
    from launch.supervisor.supervisor import Supervisor
    from launch.setup.data_dir import read_session
    from launch.setup.login_files import with_logins
    from tests.launch.test_supervisor import sleeper

    async def main(session):
        supervisor = Supervisor(session.home, [sleeper(session.home, "bot-alpha")], lambda _: None, session)
        await supervisor.start()
        await asyncio.Event().wait()

    asyncio.run(main(with_logins(read_session(Path(sys.argv[1])), "supervisor")))
    """
)


@pytest.fixture
async def session(tmp_path: Path, mongodb_uri: str) -> AsyncIterator[Session]:
    async with session_database(tmp_path, mongodb_uri) as made, await open_store(made):
        yield made


@pytest.fixture
async def processes(session: Session) -> AsyncIterator[MongoProcesses]:
    async with open_processes(session) as opened:
        yield opened


@asynccontextmanager
async def supervised(
    session: Session, *parts: ProcessSpec, echo: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Supervisor]:
    supervisor = Supervisor(session.home, parts, echo, session)
    await supervisor.start()
    try:
        yield supervisor
    finally:
        await supervisor.stop()


async def becomes(processes: MongoProcesses, name: str, state: str) -> Process:
    found: list[Process] = []

    async def is_so() -> bool:
        found[:] = [one for one in await processes.all() if one.name == name and one.state == state]
        return bool(found)

    await until(is_so)
    return found[0]


async def test_a_part_is_reported_with_its_process_and_its_restarts(
    session: Session, processes: MongoProcesses
) -> None:
    async with supervised(session, sleeper(session.home, "cep"), sleeper(session.home, "bot-alpha")) as supervisor:
        await supervisor.all_ready(20)
        ready = await becomes(processes, "bot-alpha", "ready")
        first = process_of(session.home, "bot-alpha")
        assert (ready.pid, ready.restarts, ready.last_end) == (first, 0, None)
        os.kill(first, signal.SIGKILL)
        second = await eventually_restarted(session.home, "bot-alpha", first)
        await until(lambda: _is_reported(processes, "bot-alpha", second))
        again = await becomes(processes, "bot-alpha", "ready")
        assert (again.pid, again.restarts, again.last_end) == (second, 1, KILLED)
        assert again.since > ready.since


async def _is_reported(processes: MongoProcesses, name: str, pid: int) -> bool:
    return any(one.name == name and one.pid == pid for one in await processes.all())


async def test_a_user_stops_a_bot_and_starts_it_again(session: Session, processes: MongoProcesses) -> None:
    said: list[str] = []
    parts = (sleeper(session.home, "cep"), sleeper(session.home, "bot-alpha"))
    async with supervised(session, *parts, echo=said.append) as supervisor:
        await supervisor.all_ready(20)
        first = process_of(session.home, "bot-alpha")
        await becomes(processes, "bot-alpha", "ready")
        assert await processes.want("bot-alpha", "stopped", "erika")
        stopped = await becomes(processes, "bot-alpha", "stopped")
        assert (stopped.pid, stopped.restarts, stopped.last_end) == (None, 0, "stopped by erika")
        assert not psutil.pid_exists(first)
        # nothing waits for what is not to run
        await supervisor.all_ready(5)
        assert "bot-alpha: stopped by erika" in said
        assert await processes.want("bot-alpha", "running", "otto")
        await becomes(processes, "bot-alpha", "ready")
        assert process_of(session.home, "bot-alpha") != first
        assert supervisor.restarts == {}


async def test_what_was_stopped_stays_so_in_the_next_session_and_is_said(
    session: Session, processes: MongoProcesses
) -> None:
    async with supervised(session, sleeper(session.home, "bot-alpha")) as supervisor:
        await supervisor.all_ready(20)
        await becomes(processes, "bot-alpha", "ready")
        await processes.want("bot-alpha", "stopped", "erika")
        await becomes(processes, "bot-alpha", "stopped")
    said: list[str] = []
    parts = (sleeper(session.home, "bot-alpha"), sleeper(session.home, "bot-beta"))
    async with supervised(session, *parts, echo=said.append) as supervisor:
        await supervisor.all_ready(20)
        await becomes(processes, "bot-alpha", "stopped")
        assert not ready_file(session.home, "bot-alpha").exists()
        assert supervisor.group_of("bot-alpha") is None
        assert supervisor.group_of("bot-beta") is not None
    assert "bot-alpha stays stopped (erika stopped it); start it on the dashboard" in said


async def test_one_with_things_in_flight_is_not_killed_for_being_slow(
    session: Session, processes: MongoProcesses
) -> None:
    finished = session.home / "finished"
    (session.home / "ready").mkdir(exist_ok=True)
    words = (sys.executable, "-c", LINGERING, str(ready_file(session.home, "bot-alpha")), str(finished))
    patient = ProcessSpec("bot-alpha", words, stop_seconds=None)
    async with supervised(session, patient) as supervisor:
        await supervisor.all_ready(20)
        ready = await becomes(processes, "bot-alpha", "ready")
        await processes.want("bot-alpha", "stopped", "erika")
        stopping = await becomes(processes, "bot-alpha", "stopping")
        assert stopping.pid == ready.pid
        # it may be wanted again before it is gone; it is not needed twice
        await processes.want("bot-alpha", "running", "erika")
        finished.touch()
        await until(lambda: not psutil.pid_exists(ready.pid or 0))
        assert (await becomes(processes, "bot-alpha", "ready")).pid != ready.pid


async def test_a_hasty_one_is_killed_where_it_does_not_end(session: Session, processes: MongoProcesses) -> None:
    (session.home / "ready").mkdir(exist_ok=True)
    words = (sys.executable, "-c", LINGERING, str(ready_file(session.home, "feed-alpha")), str(session.home / "never"))
    async with supervised(session, ProcessSpec("feed-alpha", words, stop_seconds=0.3)) as supervisor:
        await supervisor.all_ready(20)
        await becomes(processes, "feed-alpha", "ready")
        await processes.want("feed-alpha", "stopped", "erika")
        assert (await becomes(processes, "feed-alpha", "stopped")).pid is None


async def test_one_that_fails_all_the_time_can_be_stopped(session: Session, processes: MongoProcesses) -> None:
    async with supervised(session, ProcessSpec("bot-alpha", (sys.executable, "-c", "raise SystemExit(3)"))):
        failed = await becomes(processes, "bot-alpha", "failed")
        assert failed.last_end == "exit code 3"
        await processes.want("bot-alpha", "stopped", "erika")
        await becomes(processes, "bot-alpha", "stopped")


async def test_a_supervisor_that_is_killed_leaves_nothing_that_reads_as_running(
    session: Session, processes: MongoProcesses
) -> None:
    note_session(session)
    words = ("-c", SUPERVISING, str(session.home))
    killed = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=Path(__file__).parents[2])
    try:
        ready = await becomes(processes, "bot-alpha", "ready")
    finally:
        killed.kill()
        await killed.wait()
    unknown = await becomes(processes, "bot-alpha", "unknown")
    assert (unknown.reported_state, unknown.pid) == ("ready", ready.pid)
    assert (await becomes(processes, SUPERVISOR, "unknown")).pid == killed.pid
    async with supervised(session, sleeper(session.home, "bot-alpha")):
        again = await becomes(processes, "bot-alpha", "ready")
        assert again.pid != ready.pid


async def test_a_store_that_is_away_neither_delays_nor_ends_the_others(tmp_path: Path) -> None:
    away = session_of(tmp_path, f"mongodb://{NOWHERE}/?replicaSet=rs0", "nowhere")
    async with supervised(away, sleeper(tmp_path, "cep")) as supervisor:
        await supervisor.all_ready(20)
        first = process_of(tmp_path, "cep")
        os.kill(first, signal.SIGKILL)
        await eventually_restarted(tmp_path, "cep", first)
        assert supervisor.restarts == {"cep": 1}


async def test_a_store_that_hangs_does_not_hold_up_the_end(tmp_path: Path) -> None:
    """As a frozen mongod: it takes the connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"mongodb://127.0.0.1:{server.getsockname()[1]}/?directConnection=true"
        hanging = session_of(tmp_path, address, "hanging")
        async with asyncio.timeout(20), supervised(hanging, sleeper(tmp_path, "cep")) as supervisor:
            await supervisor.all_ready(20)
