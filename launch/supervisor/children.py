"""Children of the supervisor: those that it started, those that the template forked for it, and the orphans of both,
which the kernel gives to it (it is a subreaper)."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

import psutil

from runtime.linux_calls import prctl

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h
UNORDERED = "unordered"
"""Name of a fork that has no order yet: no part is known by it."""


class Child(Protocol):
    """A process of ours, started or forked."""

    @property
    def pid(self) -> int: ...

    def poll(self) -> int | None: ...

    def wait(self) -> int: ...


class ForkedProcess:
    """A child that was forked by the template and is ours: the kernel gave it to us as its parent ended."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._waited(os.WNOHANG)

    def wait(self) -> int:
        """Wait for its end. Returns the exit code, negative for a signal."""
        code = self._waited(0)
        return 0 if code is None else code

    def _waited(self, options: int) -> int | None:
        if self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:
                # it has ended, and somebody else collected it: 0, as of a `Popen`
                self.returncode = 0
                return 0
            if pid == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class ExitWatch:
    """Wakes whoever waits as soon as a process has ended. `knows`: whether it can, by a descriptor of the process."""

    def __init__(self, *, knows: bool) -> None:
        self.knows = knows
        self.ended = asyncio.Event()

    async def wait(self, seconds: float) -> None:
        """Return after so many seconds, or once the process has ended."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.ended.wait()


@contextmanager
def watched_exit(pid: int) -> Iterator[ExitWatch]:
    """Watch a child that nobody has waited for yet, until the block ends."""
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        # a kernel without it, or a child that is gone
        yield ExitWatch(knows=False)
        return
    watch = ExitWatch(knows=True)

    def note() -> None:
        # it stays readable
        loop.remove_reader(descriptor)
        watch.ended.set()

    loop.add_reader(descriptor, note)
    try:
        yield watch
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def become_subreaper() -> None:
    """Become the parent of descendants whose own parent ends."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def reap_group(group: int) -> None:
    """Collect what has ended of a group, also children of its dead members: those are ours by now."""
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


def reap_orphans() -> None:
    """Collect ended descendants of parts, and forks that got no order; never what somebody here waits for.

    A child that we started is in our session or leads its own, and so does each part; an orphan is in a part's.
    """
    own = os.getsid(0)
    for child in psutil.Process().children():
        try:
            if child.status() != psutil.STATUS_ZOMBIE:
                continue
            session = os.getsid(child.pid)
            if session != own and (session != child.pid or child.name() == UNORDERED):
                os.waitpid(child.pid, os.WNOHANG)
        except (psutil.Error, ProcessLookupError, ChildProcessError):
            continue
