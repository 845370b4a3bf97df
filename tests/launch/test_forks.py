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

from launch.supervisor.forks import ForkedProcess, Template
from launch.supervisor.process_groups import OWN_COMMAND, ProcessSpec
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
        assert process.nice() == min(psutil.Process().nice() + 3, 19)
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
