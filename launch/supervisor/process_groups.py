"""Operating-system processes of the supervisor, each in its own process group; none outlives the supervisor."""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import psutil

from exchanges.key_variables import ARM_VARIABLE, is_key_variable, key_variables_of
from launch.config.configuration_sources import ENVIRONMENT
from launch.setup.service_logins import LOGIN_VARIABLES
from launch.supervisor.priorities import niceness_of
from notices.channels.secrets import PREFIX as NOTICES_PREFIX
from runtime.linux_calls import prctl
from store.records.processes import kind_of

STOP_SECONDS = 5.0
OWN_COMMAND = (sys.executable, "-m", "launch.commands.main")
"""Our command line; words follow."""
NOTIFIER = "notifier"
"""The only process that gets the secrets of the notification destinations."""
LOG_BYTES = 10 * 1024**2
"""A longer log is rotated at the next start; one old log is retained."""
PR_SET_PDEATHSIG = 1  # linux/prctl.h

FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}
"""glibc gives each thread its own heap, up to eight a core (mallopt(3)); a part with many threads, most of them idle,
would otherwise grow for half an hour."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process of a session: its command, and the processes that must be ready before it."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    awaits: tuple[str, ...] = ()
    """Processes that it waits for itself: it starts at once, and first does what needs none of them."""
    niceness: int | None = None
    """None: the one of its kind (`launch.supervisor.priorities`)."""
    exchange: str | None = None
    """The exchange whose API keys it gets; other processes get none."""
    stop_seconds: float | None = STOP_SECONDS
    """Time to end after a user's stop order, before it is killed. None: unlimited, because it must finish its orders in
    flight. The end of the session does not wait that long."""
    probe: Callable[[], Awaitable[None]] | None = None
    """Returns once the process really works, for processes that write no ready file. It is repeated after a transient
    error, for as long as the process is active."""

    @property
    def own_words(self) -> tuple[str, ...] | None:
        """Return the words of our own command; None if it is another program, or runs in another network."""
        length = len(OWN_COMMAND)
        return self.command[length:] if self.command[:length] == OWN_COMMAND else None


def nice_of(part: ProcessSpec) -> int:
    """Return by how much its nice is above its supervisor's."""
    return niceness_of(kind_of(part.name)) if part.niceness is None else part.niceness


def environment_of(part: ProcessSpec) -> dict[str, str]:
    """Return its whole environment."""
    return child_environment(part.exchange, is_notifier=part.name == NOTIFIER) | FEW_ARENAS | part.environment


def opened_log(path: Path) -> BinaryIO:
    """Open a log to append to; a long one is rotated before."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def spawn(part: ProcessSpec, log_path: Path) -> subprocess.Popen[bytes]:
    """Start a process in its own process group; it dies with us, even after kill -9 of us."""
    niceness = nice_of(part)
    with opened_log(log_path) as log:
        return subprocess.Popen(
            part.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=environment_of(part),
            start_new_session=True,
            preexec_fn=lambda: _before_exec(niceness),  # noqa: PLW1509 - one thread: no lock can be held
        )


def child_environment(exchange: str | None = None, *, is_notifier: bool = False) -> dict[str, str]:
    """Return our environment without the API keys of other exchanges, the secrets of notification destinations (a JVM
    shows its environment to anybody), and the switch that disables Python's byte code cache (importing ccxt takes 10 s
    without)."""
    # addresses, which may contain a password, and logins reach each process by files
    keys = filter(is_key_variable, os.environ)
    withheld = {"PYTHONDONTWRITEBYTECODE", *keys, *ENVIRONMENT, *LOGIN_VARIABLES}
    if not is_notifier:
        withheld |= {name for name in os.environ if name.startswith(NOTICES_PREFIX)}
    if exchange is None:
        withheld.add(ARM_VARIABLE)
    else:
        withheld -= key_variables_of(exchange)
    return {name: value for name, value in os.environ.items() if name not in withheld}


def group_members(group: int) -> list[psutil.Process]:
    """Return living processes of a group, without zombies."""
    members = []
    for process in psutil.process_iter(["pid", "status"]):
        try:
            if os.getpgid(process.pid) == group and process.info["status"] != psutil.STATUS_ZOMBIE:
                members.append(process)
        except ProcessLookupError:
            continue
    return members


def signal_group(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return


def end_with_parent(number: signal.Signals) -> None:
    """Make the kernel send this child that signal when we end, also by kill -9; called before it becomes its program.
    The kernel goes by the thread that started it, which must live as long as we do."""
    prctl(PR_SET_PDEATHSIG, number)


def _before_exec(niceness: int) -> None:
    end_with_parent(signal.SIGKILL)
    if niceness:
        os.nice(niceness)
