"""The supervisor's side of the template: a process that has imported what the parts of a session use, and forks into
each of them (`docs/adr/0084-parts-are-forks-of-one-template.md`).

The template (`launch/commands/fork_template.py`) never reads a part's order: keys of one exchange would stay in the
memory that the next part inherits. It gets two file descriptors, the part's log and a socket; the fork reads that.
"""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from launch.supervisor.children import Child, ForkedProcess, become_subreaper
from launch.supervisor.code_stamp import code_stamp
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
from market.time_units import MICROSECONDS
from runtime.backoff import backoff
from runtime.clock import SystemClock, steady_now

TEMPLATE = "template"
COMMAND = ("-m", "launch.commands.fork_template")
LOAD_SECONDS = 120.0
"""The first part waits for the template's imports: two seconds of a core, which a busy machine may not have."""
ANSWER_SECONDS = 2.0
"""A fork takes a tenth of a second; parts ask one after the other."""
CHECK_SECONDS = 2.0
STEADY_SECONDS = 60.0
"""A template that ran this long starts again with the shortest back-off."""
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
"""Back-off before another template: parts start without one, and each costs its imports."""
STAMP_SECONDS = 1.0
"""How long a stamp of the code holds: many parts start at once."""
PADDING = "-" * 96
"""Last word of the template's command: a fork writes its own command over it, for `ps`."""

log = logging.getLogger("launch")


class Template:
    """Starts parts of our own command as forks, and everything else, or without a living template everything, as a
    new process."""

    def __init__(self, home: Path, stamp: Callable[[], str] = code_stamp, stamp_seconds: float = STAMP_SECONDS) -> None:
        """`stamp` changes with the code on disk; it is asked for again after `stamp_seconds`."""
        self._home = home
        self._stamp = stamp
        self._stamp_seconds = stamp_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._turn = asyncio.Lock()
        self._is_loaded = False
        self._load_seconds = LOAD_SECONDS
        """How long a part waits for the imports; no time if another template takes over: a new process is as fast."""
        self._loaded_stamp = ""
        self._is_outdated = False
        self._stamped_at = 0

    @property
    def pid(self) -> int | None:
        """None while it does not run."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start importing, beside what is started next. Raises OSError."""
        become_subreaper()
        if not self._loaded_stamp:
            # before it imports: what changes meanwhile may be imported in part
            self._loaded_stamp, self._stamped_at = self._stamp(), steady_now()
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
        ours.setblocking(False)
        self._control, self._is_loaded = ours, False

    async def keep_running(self, on_start: Callable[[], None]) -> None:
        """Start another one, with back-off, after one ended or was given up, until cancelled or the code changes: one
        of other code may not understand us."""
        delays, started, clock = backoff(FIRST_PAUSE, longest=LONGEST_PAUSE), steady_now(), SystemClock()
        while True:
            await clock.sleep(CHECK_SECONDS)
            if self._process is not None and self._process.poll() is None:
                continue
            async with self._turn:
                self.stop()
            if steady_now() - started > STEADY_SECONDS * MICROSECONDS:
                delays = backoff(FIRST_PAUSE, longest=LONGEST_PAUSE)
            await clock.sleep(next(delays))
            if self._has_other_code():
                return
            started, self._load_seconds = steady_now(), 0.0
            try:
                self.start()
                on_start()
            except OSError as error:
                log.warning("no other template starts", extra={"error": str(error)})
            else:
                log.info("another template starts")

    async def start_part(self, part: ProcessSpec, log_path: Path) -> Child:
        """Start a process in its own process group; it dies with us, even after kill -9 of us. Raises OSError."""
        words = part.own_words
        if words is not None:
            # one after the other, so that none waits for the forks of the others
            async with self._turn:
                child = await self._forked(part, words, log_path)
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

    async def _forked(self, part: ProcessSpec, words: tuple[str, ...], log_path: Path) -> ForkedProcess | None:
        """Return the fork; None if there is no template, or none yet."""
        control = self._control
        if control is None:
            return None
        if self._has_other_code():
            self._give_up(part.name, "the code on disk has changed")
            return None
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours, theirs:
            try:
                if not await self._until_loaded(control):
                    return None
                with opened_log(log_path) as file:
                    socket.send_fds(control, [b"+"], [theirs.fileno(), file.fileno()])
                theirs.close()
                child = await _answered(ours)
            except OSError as error:
                self._give_up(part.name, str(error) or "no answer")
                return None
            order = {"words": words, "environment": environment_of(part), "niceness": nice_of(part)}
            await _send_order(ours, child, json.dumps(order).encode())
            return child

    async def _until_loaded(self, control: socket.socket) -> bool:
        """Wait for its imports. Returns False if another template is not there yet. Raises OSError if it ended, and
        TimeoutError."""
        if not self._is_loaded:
            try:
                async with asyncio.timeout(self._load_seconds):
                    said = await asyncio.get_running_loop().sock_recv(control, 1)
            except TimeoutError:
                if self._load_seconds:
                    raise
                return False
            if not said:
                raise ConnectionError("it ended")
            self._is_loaded = True
        return True

    def _has_other_code(self) -> bool:
        """Whether a fork would import other code than the template did, or a template other code than we did."""
        if not self._is_outdated and steady_now() - self._stamped_at >= self._stamp_seconds * MICROSECONDS:
            self._stamped_at = steady_now()
            self._is_outdated = self._stamp() != self._loaded_stamp
        return self._is_outdated

    def _give_up(self, name: str, why: str) -> None:
        # a request that it did not read yet ends with it, so no part can come twice
        log.warning("parts are started without the template", extra={"part": name, "error": why})
        self.stop()


async def _answered(ours: socket.socket) -> ForkedProcess:
    """Return the fork that tells its process id. Raises TimeoutError, and ConnectionError if there is none."""
    async with asyncio.timeout(ANSWER_SECONDS):
        answer = await asyncio.get_running_loop().sock_recv(ours, 32)
    if not answer:
        raise ConnectionError("it ended")
    return ForkedProcess(int(answer))


async def _send_order(ours: socket.socket, child: ForkedProcess, order: bytes) -> None:
    """Send the fork its order. If that is interrupted it ends, and is collected here."""
    try:
        await asyncio.get_running_loop().sock_sendall(ours, order)
        ours.shutdown(socket.SHUT_WR)
    except BaseException:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        raise
