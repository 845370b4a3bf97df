"""Parts are real processes: those that die are restarted, and none outlives its supervisor."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import psutil
import pytest

from launch.errors import LaunchError
from launch.setup.data_dir import ready_file
from launch.supervisor.priorities import has_autogroups, niceness_of
from launch.supervisor.process_groups import ProcessSpec, group_members
from launch.supervisor.supervisor import Supervisor, kill_leftovers
from runtime.clock import SystemClock, wall_now

SLEEPER = "import os, pathlib, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(1000)"


def sleeper(home: Path, name: str, after: tuple[str, ...] = ()) -> ProcessSpec:
    (home / "ready").mkdir(exist_ok=True)
    return ProcessSpec(name, (sys.executable, "-c", SLEEPER, str(ready_file(home, name))), after)


def autogroup_of(pid: int) -> str:
    return Path(f"/proc/{pid}/autogroup").read_text()


def process_of(home: Path, name: str) -> int:
    return int(ready_file(home, name).read_text() or "0")


async def eventually_restarted(home: Path, name: str, old: int) -> int:
    async with asyncio.timeout(20):
        while not ready_file(home, name).exists() or process_of(home, name) in (0, old):
            await SystemClock().sleep(0.02)
    return process_of(home, name)


async def test_a_killed_part_comes_back_and_stop_leaves_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(tmp_path, [sleeper(tmp_path, "log"), sleeper(tmp_path, "bot", ("log",))], said.append)
    await supervisor.start()
    await supervisor.all_ready(20)
    first = process_of(tmp_path, "bot")
    os.kill(first, signal.SIGKILL)
    second = await eventually_restarted(tmp_path, "bot", first)
    await supervisor.stop()
    assert supervisor.restarts == {"bot": 1}
    assert not psutil.pid_exists(first)
    assert not psutil.pid_exists(second)
    assert any("restarting in" in line for line in said)


async def test_a_fault_in_supervising_a_part_ends_neither_its_supervision_nor_leaves_two_of_it(tmp_path: Path) -> None:
    faults = [ValueError("a fault of our own")]
    running: list[int] = []

    def say(line: str) -> None:
        if "ready after" in line and faults:
            running.append(process_of(tmp_path, "bot"))
            raise faults.pop()

    supervisor = Supervisor(tmp_path, [sleeper(tmp_path, "bot")], say)
    await supervisor.start()
    async with asyncio.timeout(20):
        while not running:
            await SystemClock().sleep(0.02)
    second = await eventually_restarted(tmp_path, "bot", running[0])
    assert not psutil.pid_exists(running[0])
    await supervisor.stop()
    assert not psutil.pid_exists(second)


@pytest.mark.skipif(not has_autogroups(), reason="this kernel has no autogroups, or they are off")
async def test_a_part_that_comes_back_has_its_priority_again(tmp_path: Path) -> None:
    async def eventually_nice(pid: int) -> int:
        nice = os.getpriority(os.PRIO_PROCESS, pid)
        async with asyncio.timeout(20):
            while not autogroup_of(pid).endswith(f" nice {nice}\n"):
                await SystemClock().sleep(0.02)
        return nice

    supervisor = Supervisor(tmp_path, [sleeper(tmp_path, "ui")], lambda _: None)
    await supervisor.start()
    await supervisor.all_ready(20)
    first = process_of(tmp_path, "ui")
    nices = [await eventually_nice(first)]
    os.kill(first, signal.SIGKILL)
    nices.append(await eventually_nice(await eventually_restarted(tmp_path, "ui", first)))
    await supervisor.stop()
    assert nices == [os.getpriority(os.PRIO_PROCESS, 0) + niceness_of("ui")] * 2


async def test_the_whole_group_goes_before_a_restart(tmp_path: Path) -> None:
    forking = textwrap.dedent(
        """
        import os, pathlib, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
        pathlib.Path(sys.argv[2]).write_text(str(child.pid))
        pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
        time.sleep(1000)
        """
    )
    (tmp_path / "ready").mkdir()
    ready, grandchild_file = ready_file(tmp_path, "cep"), tmp_path / "grandchild"
    part = ProcessSpec("cep", (sys.executable, "-c", forking, str(ready), str(grandchild_file)))
    supervisor = Supervisor(tmp_path, [part], lambda _: None)
    await supervisor.start()
    await supervisor.all_ready(20)
    first, grandchild = process_of(tmp_path, "cep"), int(grandchild_file.read_text())
    os.kill(first, signal.SIGKILL)
    await eventually_restarted(tmp_path, "cep", first)
    alive = psutil.pid_exists(grandchild) and psutil.Process(grandchild).status() != psutil.STATUS_ZOMBIE
    await supervisor.stop()
    assert not alive


async def test_a_part_that_never_gets_ready_is_named_with_its_last_words(tmp_path: Path) -> None:
    speaker = "import sys, time; print('waiting for Kafka', file=sys.stderr, flush=True); time.sleep(1000)"
    said: list[str] = []
    supervisor = Supervisor(tmp_path, [ProcessSpec("cep", (sys.executable, "-c", speaker))], said.append)
    await supervisor.start()
    async with asyncio.timeout(20):
        while not (tmp_path / "logs" / "cep.log").exists() or not (tmp_path / "logs" / "cep.log").stat().st_size:
            await SystemClock().sleep(0.02)
    since = wall_now()
    os.utime(tmp_path / "logs" / "cep.log", (since / 1e6 + 60, since / 1e6 + 60))
    with pytest.raises(LaunchError, match=r"idle for 0 s: cep\. cep last logged: waiting for Kafka") as gave_up:
        await supervisor.all_ready(0.4, progress_seconds=0.1)
    await supervisor.stop()
    assert str(tmp_path / "logs") in str(gave_up.value)
    waiting = [line for line in said if "still waiting" in line]
    assert waiting[0].startswith("still waiting for cep: cep last logged: waiting for Kafka")


async def test_a_part_that_waits_for_another_itself_starts_at_once_and_counts_as_waiting(tmp_path: Path) -> None:
    """The awaited part is reported as dead, not the one that waits for it."""
    asleep = (sys.executable, "-c", "import time; time.sleep(1000)")
    log, waiting = ProcessSpec("kafka", asleep), ProcessSpec("cep", asleep, awaits=("kafka",))
    supervisor = Supervisor(tmp_path, [log, waiting], lambda _: None)
    await supervisor.start()
    async with asyncio.timeout(20):
        while supervisor.group_of("cep") is None:
            await SystemClock().sleep(0.02)
    with pytest.raises(LaunchError, match=r"idle for 0 s: kafka\."):
        await supervisor.all_ready(0.4)
    await supervisor.stop()


async def test_a_part_that_works_is_waited_for_however_long(tmp_path: Path) -> None:
    """On a busy machine Spark alone takes minutes: its progress so far is not thrown away."""
    (tmp_path / "ready").mkdir()
    working = (
        "import os, pathlib, sys, time\n"
        "while time.process_time() < 1.5: pass\n"
        "pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))\n"
        "time.sleep(1000)"
    )
    part = ProcessSpec("cep", (sys.executable, "-c", working, str(ready_file(tmp_path, "cep"))))
    supervisor = Supervisor(tmp_path, [part], lambda _: None)
    await supervisor.start()
    await supervisor.all_ready(idle_seconds=0.5)
    await supervisor.stop()


async def test_who_waits_for_its_exchange_holds_up_nobody(tmp_path: Path) -> None:
    said: list[str] = []
    waiting = "import sys, time; print('kraken did not answer', file=sys.stderr, flush=True); time.sleep(1000)"
    away = ProcessSpec("bot-kraken", (sys.executable, "-c", waiting), exchange="kraken")
    supervisor = Supervisor(tmp_path, [sleeper(tmp_path, "ui"), away], said.append)
    await supervisor.start()
    async with asyncio.timeout(20):
        # idle for longer than anything else may be
        await supervisor.all_ready(idle_seconds=1.0, exchange_seconds=2.5)
    pid = supervisor.group_of("bot-kraken")
    await supervisor.stop()
    assert pid is not None
    line = next(line for line in said if line.startswith("starting without"))
    assert line.startswith("starting without bot-kraken; they wait for their exchange and join once it answers: bot-")


async def test_who_is_ready_soon_sees_no_waiting(tmp_path: Path) -> None:
    said: list[str] = []
    supervisor = Supervisor(tmp_path, [sleeper(tmp_path, "bot")], said.append)
    await supervisor.start()
    await supervisor.all_ready(20)
    await supervisor.stop()
    assert not [line for line in said if "waiting" in line]


def test_nothing_outlives_a_killed_supervisor(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from tests.launch.test_supervisor import sleeper
        from launch.supervisor.supervisor import Supervisor

        async def main(home):
            supervisor = Supervisor(home, [sleeper(home, "bot")], lambda _: None)
            await supervisor.start()
            await supervisor.all_ready(20)
            await asyncio.Event().wait()

        asyncio.run(main(Path(sys.argv[1])))
        """
    )
    supervisor = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[2])
    try:
        deadline = wall_now() + 20_000_000
        while not (ready_file(tmp_path, "bot").exists() and process_of(tmp_path, "bot")):
            assert wall_now() < deadline
            assert supervisor.poll() is None
        bot = psutil.Process(process_of(tmp_path, "bot"))
    finally:
        supervisor.kill()
        supervisor.wait()
    gone, alive = psutil.wait_procs([bot], timeout=5)
    assert not alive
    assert gone


def test_leftovers_of_a_killed_session_are_ended(tmp_path: Path) -> None:
    left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
    created = psutil.Process(left.pid).create_time()
    (tmp_path / "processes.json").write_text(f'{{"cep": [{left.pid}, {created}]}}')
    kill_leftovers(tmp_path)
    left.wait(timeout=5)
    assert group_members(left.pid) == []
