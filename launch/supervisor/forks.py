"""The supervisor's side of the template: a process that has imported what the parts of a session use, and forks into
each of them (`docs/adr/0084-parts-are-forks-of-one-template.md`).

The template (`launch/commands/fork_template.py`) never reads a part's order: keys of one exchange would stay in the
memory that the next part inherits. It gets two file descriptors, the part's log and a socket; the fork reads that.
"""

import asyncio
import ctypes
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from launch.supervisor.process_groups import (
    FEW_ARENAS,
    ProcessSpec,
    child_environment,
    end_with_parent,
    environment_of,
    nice_of,
    opened_log,
    spawn,
)

TEMPLATE = "template"
COMMAND = ("-m", "launch.commands.fork_template")
ANSWER_SECONDS = 120.0
"""The first answer waits for the template's imports: two seconds of a core, which a busy machine may not have."""
PADDING = "-" * 96
"""Last word of the template's command: a fork writes its own command over it, for `ps`."""
PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h

log = logging.getLogger("launch")


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
            pid, status = os.waitpid(self.pid, options)
            if pid == self.pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode


class Template:
    """Starts parts of our own command as forks, and everything else, or without a living template everything, as a
    new process."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    @property
    def pid(self) -> int | None:
        """None while it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start importing, beside what is started next. Raises OSError."""
        become_subreaper()
        ours, theirs = socket.socketpair()
        command = (sys.executable, *COMMAND, str(theirs.fileno()), PADDING)
        with theirs, opened_log(self._home / "logs" / f"{TEMPLATE}.log") as file:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                # without a key or a secret: every part inherits it
                env=child_environment() | FEW_ARENAS | {"ARBITRAGE_HOME": str(self._home)},
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
                preexec_fn=lambda: end_with_parent(signal.SIGKILL),  # noqa: PLW1509 - one thread: no lock can be held
            )
        self._control = ours

    async def start_part(self, part: ProcessSpec, log_path: Path) -> Child:
        """Start a process in its own process group; it dies with us, even after kill -9 of us. Raises OSError."""
        words = part.own_words
        if words is not None and self._control is not None:
            child = await self._forked(self._control, part, words, log_path)
            if child is not None:
                return child
        return spawn(part, log_path)

    def stop(self) -> None:
        """End the template; what it forked runs on."""
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    async def _forked(
        self, control: socket.socket, part: ProcessSpec, words: tuple[str, ...], log_path: Path
    ) -> ForkedProcess | None:
        """Return the fork; None if there is no template any more."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            try:
                with theirs, opened_log(log_path) as file:
                    socket.send_fds(control, [b"+"], [theirs.fileno(), file.fileno()])
                child = await _answered(ours)
            except OSError as error:
                self._give_up(part.name, str(error) or "no answer")
                return None
            if child is None:
                self._give_up(part.name, "it ended")
                return None
            order = {"words": words, "environment": environment_of(part), "niceness": nice_of(part)}
            await _send_order(ours, child, json.dumps(order).encode())
            return child

    def _give_up(self, name: str, why: str) -> None:
        # a request that it did not read yet ends with it, so no part can come twice
        log.warning("parts are started without the template", extra={"part": name, "error": why})
        self.stop()


def become_subreaper() -> None:
    """Become the parent of descendants whose own parent ends."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_group(group: int) -> None:
    """Collect what has ended of a group, also children of its dead members: those are ours by now."""
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            continue
    except ChildProcessError:
        return


async def _answered(ours: socket.socket) -> ForkedProcess | None:
    """Return the fork that tells its process id; None if the socket was closed. Raises TimeoutError."""
    async with asyncio.timeout(ANSWER_SECONDS):
        answer = await asyncio.get_running_loop().sock_recv(ours, 32)
    return ForkedProcess(int(answer)) if answer else None


async def _send_order(ours: socket.socket, child: ForkedProcess, order: bytes) -> None:
    """Send the fork its order. If that is interrupted it ends, and is collected here."""
    try:
        await asyncio.get_running_loop().sock_sendall(ours, order)
        ours.shutdown(socket.SHUT_WR)
    except BaseException:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        raise
