"""Parts of our own command are forks of a template, and are in all else as processes of their own."""

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from launch.supervisor.children import ForkedProcess, become_subreaper, reap_orphans
from launch.supervisor.forks import Template
from launch.supervisor.process_groups import OWN_COMMAND, ProcessSpec, spawn
from runtime.clock import SystemClock
from streams.broker.embedded_broker import free_ports

KEY = "ARBITRAGE_KRAKEN_KEY"
SECRET = "made up, and of kraken's account alone"


def exchanges(home: Path, exchange: str | None = None, niceness: int = 0) -> ProcessSpec:
    """Return a part that runs until it is stopped and needs no other."""
    [port] = free_ports(1)
    command = (*OWN_COMMAND, "exchanges", "--port", str(port), "--only", "kraken")
    variables = {"ARBITRAGE_HOME": str(home)}
    return ProcessSpec("exchanges", command, environment=variables, exchange=exchange, niceness=niceness)


@asynccontextmanager
async def started_template(home: Path) -> AsyncIterator[Template]:
    template = Template(home)
    template.start()
    try:
        yield template
    finally:
        template.stop()


async def forked(template: Template, part: ProcessSpec, log: Path) -> ForkedProcess:
    child = await template.start_part(part, log)
    assert isinstance(child, ForkedProcess)
    return child


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():
            await SystemClock().sleep(0.02)


async def end(child: ForkedProcess) -> int | None:
    os.kill(child.pid, signal.SIGKILL)
    await until(lambda: child.poll() is not None)
    return child.returncode


def holds(pid: int, secret: bytes) -> bool:
    """Return whether the memory that a process can write to contains it."""
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            places, rights = line.split()[:2]
            first, last = (int(place, 16) for place in places.split("-"))
            if "w" in rights and secret in os.pread(memory.fileno(), last - first, first):
                return True
    return False


async def test_a_part_is_our_own_child_in_a_group_of_its_own(tmp_path: Path) -> None:
    async with started_template(tmp_path) as template:
        log = tmp_path / "logs" / "exchanges.log"
        child = await forked(template, exchanges(tmp_path, niceness=3), log)
        process = psutil.Process(child.pid)
        assert process.ppid() == os.getpid()
        assert os.getpgid(child.pid) == os.getsid(child.pid) == child.pid
        await until(lambda: process.cmdline()[3:4] == ["exchanges"])
        await until(lambda: process.nice() == min(psutil.Process().nice() + 3, 19))
        assert child.poll() is None
        await until(lambda: bool(log.read_text()))
        assert await end(child) == -signal.SIGKILL


async def test_its_end_is_its_exit_code(tmp_path: Path) -> None:
    async with started_template(tmp_path) as template:
        part = ProcessSpec("feed", (*OWN_COMMAND, "feed", "kraken"), environment={"ARBITRAGE_HOME": str(tmp_path)})
        log = tmp_path / "feed.log"
        child = await forked(template, part, log)
        await until(lambda: child.poll() is not None)
    assert child.wait() == 2
    assert "no session runs" in log.read_text()


async def test_the_template_has_one_thread_and_no_key_of_an_exchange(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY, SECRET)
    async with started_template(tmp_path) as template:
        logs = [tmp_path / name for name in ("one.log", "two.log")]
        owner = await forked(template, exchanges(tmp_path, "kraken"), logs[0])
        other = await forked(template, exchanges(tmp_path / "other", "bitstamp"), logs[1])
        await until(lambda: all(log.exists() and log.read_text() for log in logs))
        assert template.pid is not None
        assert len(os.listdir(f"/proc/{template.pid}/task")) == 1
        held = {
            name: holds(pid, SECRET.encode())
            for name, pid in (("owner", owner.pid), ("other", other.pid), ("template", template.pid))
        }
        for child in (owner, other):
            await end(child)
    assert held == {"owner": True, "other": False, "template": False}


async def test_parts_outlive_a_killed_template_and_others_start_without_it(tmp_path: Path) -> None:
    async with started_template(tmp_path) as template:
        first = await forked(template, exchanges(tmp_path), tmp_path / "one.log")
        assert template.pid is not None
        os.kill(template.pid, signal.SIGKILL)
        second = await template.start_part(exchanges(tmp_path / "other"), tmp_path / "two.log")
        assert isinstance(second, subprocess.Popen)
        assert template.pid is None
        assert first.poll() is None
        second.kill()
        second.wait()
        await end(first)


async def test_of_code_that_has_changed_no_part_is_forked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    stamps = iter(("before", "after"))
    starts: list[int | None] = []
    template = Template(tmp_path, lambda: next(stamps), stamp_seconds=0)
    template.start()
    child = await template.start_part(exchanges(tmp_path), tmp_path / "log")
    assert isinstance(child, subprocess.Popen)
    child.kill()
    child.wait()
    assert template.pid is None
    assert [getattr(record, "error", None) for record in caplog.records] == ["the code on disk has changed"]
    async with asyncio.timeout(60):
        await template.keep_running(lambda: starts.append(template.pid))
    assert starts == []


async def test_a_template_that_fell_silent_holds_up_one_part_for_two_seconds(tmp_path: Path) -> None:
    async with started_template(tmp_path) as template:
        first = await forked(template, exchanges(tmp_path), tmp_path / "one.log")
        assert template.pid is not None
        os.kill(template.pid, signal.SIGSTOP)
        async with asyncio.timeout(60):
            second = await template.start_part(exchanges(tmp_path / "other"), tmp_path / "two.log")
        assert isinstance(second, subprocess.Popen)
        second.kill()
        second.wait()
        await end(first)


async def test_another_template_takes_the_place_of_a_killed_one(tmp_path: Path) -> None:
    starts: list[int | None] = []
    async with started_template(tmp_path) as template:
        first = template.pid
        assert first is not None
        keeping = asyncio.create_task(template.keep_running(lambda: starts.append(template.pid)))
        os.kill(first, signal.SIGKILL)
        await until(lambda: bool(starts))
        assert starts == [template.pid]
        assert template.pid not in (None, first)
        kinds = []
        async with asyncio.timeout(60):
            while ForkedProcess not in kinds:
                # until it has imported, parts start without it
                child = await template.start_part(exchanges(tmp_path), tmp_path / "log")
                kinds.append(type(child))
                os.kill(child.pid, signal.SIGKILL)
                child.wait()
        keeping.cancel()


async def test_a_fork_that_gets_no_order_leaves_no_zombie(tmp_path: Path) -> None:
    others = set(psutil.Process().children())
    async with started_template(tmp_path) as template:
        await end(await forked(template, exchanges(tmp_path), tmp_path / "log"))
        assert template.pid is not None
        asking = asyncio.create_task(template.start_part(exchanges(tmp_path), tmp_path / "log"))
        os.kill(template.pid, signal.SIGSTOP)
        await SystemClock().sleep(0)
        asking.cancel()
        os.kill(template.pid, signal.SIGCONT)

        def left() -> list[psutil.Process]:
            reap_orphans()
            return [one for one in psutil.Process().children() if one.pid != template.pid and one not in others]

        await asyncio.gather(asking, return_exceptions=True)
        # it answers in order: what was asked before has come
        await end(await forked(template, exchanges(tmp_path), tmp_path / "log"))
        await until(lambda: not left())


async def test_orphans_are_collected_and_exit_codes_left_to_who_waits_for_them(tmp_path: Path) -> None:
    become_subreaper()
    # it ends with its parent, never before, when the parent would collect it
    begun = "child = subprocess.Popen(['cat'], stdin=subprocess.PIPE)"
    orphaning = f"import os, subprocess; {begun}; print(child.pid, flush=True); os._exit(7)"
    log = tmp_path / "log"
    started = [spawn(ProcessSpec("part", (sys.executable, "-c", orphaning)), log), ended_child()]
    await until(lambda: all(psutil.Process(one.pid).status() == psutil.STATUS_ZOMBIE for one in started))
    orphan = int(log.read_text())
    await until(lambda: psutil.Process(orphan).status() == psutil.STATUS_ZOMBIE)
    reap_orphans()
    assert not psutil.pid_exists(orphan)
    assert [one.wait() for one in started] == [7, 1]


def ended_child() -> "subprocess.Popen[bytes]":
    """Return a child in our own session."""
    return subprocess.Popen(["false"])


def test_a_child_that_another_collected_has_ended() -> None:
    child = subprocess.Popen(["true"])
    ours = [ForkedProcess(child.pid), ForkedProcess(child.pid)]
    child.wait()
    assert ours[0].poll() == 0
    assert ours[1].wait() == 0


async def test_a_fork_dies_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import asyncio, sys
        from pathlib import Path
        from launch.supervisor.forks import Template
        from tests.launch.test_forks import exchanges

        async def main(home):
            template = Template(home)
            template.start()
            child = await template.start_part(exchanges(home), home / "log")
            print(child.pid, flush=True)
            await asyncio.Event().wait()

        asyncio.run(main(Path(sys.argv[1])))
        """
    )
    command = (sys.executable, "-c", script, str(tmp_path))
    supervisor = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: ASYNC220  killed below
    with supervisor:
        assert supervisor.stdout is not None
        fork = int(await asyncio.to_thread(supervisor.stdout.readline))
        assert psutil.Process(fork).ppid() == supervisor.pid
        supervisor.kill()
    await until(lambda: not psutil.pid_exists(fork) or psutil.Process(fork).status() == psutil.STATUS_ZOMBIE)
