"""Which part gets how much CPU, and that a real process and its session get it."""

import errno
import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

from launch.sessions.backtest_runner import NICENESS as BACKTEST_NICENESS
from launch.supervisor.priorities import (
    ENABLED,
    NICENESS,
    AutogroupNice,
    Priority,
    can_write_autogroup,
    has_autogroups,
    niceness_of,
    priority_of,
    write_autogroup,
)
from launch.supervisor.process_groups import ProcessSpec, spawn
from store.records.processes import ProcessKind

needs_autogroups = pytest.mark.skipif(not ENABLED.exists(), reason="this kernel has no autogroups")


@pytest.mark.parametrize(
    ("kind", "priority"),
    [
        ("mongodb", "first"),
        ("bot", "first"),
        ("feed", "second"),
        ("publisher", "second"),
        ("kafka", "second"),
        ("cep", "second"),
        ("exchanges", "third"),
        ("supervisor", "fourth"),
        ("ui", "third"),
        ("logrecorder", "fourth"),
        ("notifier", "fourth"),
        ("other", "fourth"),
    ],
)
def test_the_priority_of_each_kind(kind: ProcessKind, priority: Priority) -> None:
    assert priority_of(kind) == priority


def test_every_kind_has_a_niceness_that_needs_no_right() -> None:
    assert {niceness_of(kind) for kind in get_args(ProcessKind)} == set(NICENESS.values())
    assert 0 == NICENESS["first"] < NICENESS["second"] < NICENESS["third"] < NICENESS["fourth"] < BACKTEST_NICENESS < 20


@pytest.mark.parametrize(("text", "expected"), [("1\n", True), ("0\n", False), (None, False)])
def test_whether_the_kernel_groups_sessions(tmp_path: Path, text: str | None, expected: bool) -> None:
    setting = tmp_path / "sched_autogroup_enabled"
    if text is not None:
        setting.write_text(text)
    assert has_autogroups(setting) is expected


Spawned = Callable[[ProcessSpec], subprocess.Popen[bytes]]


@pytest.fixture
def spawned(tmp_path: Path) -> Iterator[Spawned]:
    children: list[subprocess.Popen[bytes]] = []

    def start(part: ProcessSpec) -> subprocess.Popen[bytes]:
        children.append(spawn(part, tmp_path / "logs" / f"{part.name}.log"))
        return children[-1]

    yield start
    for child in children:
        child.kill()
        child.wait()


def sleeping(name: str, niceness: int | None = None) -> ProcessSpec:
    return ProcessSpec(name, (sys.executable, "-c", "import time; time.sleep(1000)"), niceness=niceness)


@pytest.mark.parametrize(
    ("part", "above"),
    [
        (sleeping("bot-kraken-2"), 0),
        (sleeping("cep"), NICENESS["second"]),
        (sleeping("ui"), NICENESS["third"]),
        (sleeping("backtest-1", niceness=9), 9),
    ],
    ids=lambda value: value.name if isinstance(value, ProcessSpec) else "",
)
def test_a_part_starts_with_the_nice_of_its_kind(spawned: Spawned, part: ProcessSpec, above: int) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert os.getpriority(os.PRIO_PROCESS, spawned(part).pid) == min(19, own + above)


def autogroup_of(pid: int) -> str:
    return Path(f"/proc/{pid}/autogroup").read_text()


@needs_autogroups
async def test_a_session_gets_the_nice_of_its_process(spawned: Spawned) -> None:
    child = spawned(sleeping("ui"))
    await AutogroupNice(is_needed=lambda: True).follow("ui", child.pid)
    nice = os.getpriority(os.PRIO_PROCESS, child.pid)
    assert autogroup_of(child.pid).endswith(f" nice {nice}\n")


@needs_autogroups
def test_the_test_of_the_right_changes_nothing() -> None:
    before = autogroup_of(os.getpid())
    assert can_write_autogroup()
    assert autogroup_of(os.getpid()) == before


async def test_a_write_is_repeated_while_the_kernel_asks_to_wait() -> None:
    answers, written = [True, True, False], []

    def write(pid: int, niceness: int) -> None:
        if answers.pop(0):
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        written.append((pid, niceness))

    await AutogroupNice(write, lambda: True, pause_seconds=0).follow("ui", os.getpid())
    assert written == [(os.getpid(), os.getpriority(os.PRIO_PROCESS, 0))]


def refuse(_pid: int, _niceness: int) -> None:
    raise PermissionError(errno.EACCES, "Permission denied")


def wait_for_ever(_pid: int, _niceness: int) -> None:
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


@pytest.mark.parametrize("write", [refuse, wait_for_ever])
async def test_a_failure_is_logged_once(write: Callable[[int, int], None], caplog: pytest.LogCaptureFixture) -> None:
    autogroups = AutogroupNice(write, lambda: True, pause_seconds=0)
    with caplog.at_level(logging.WARNING):
        await autogroups.follow("ui", os.getpid())
        await autogroups.follow("mongodb", os.getpid())
    assert [record.getMessage() for record in caplog.records] == ["no priority; parts share the CPU equally"]


async def test_a_process_that_is_gone_is_no_failure(spawned: Spawned, caplog: pytest.LogCaptureFixture) -> None:
    child = spawned(sleeping("ui"))
    child.kill()
    child.wait()
    await AutogroupNice(write_autogroup, lambda: True).follow("ui", child.pid)
    assert caplog.records == []


async def test_without_autogroups_nothing_is_written(caplog: pytest.LogCaptureFixture) -> None:
    await AutogroupNice(refuse, lambda: False).follow("ui", os.getpid())
    assert caplog.records == []
