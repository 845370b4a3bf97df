"""Regions with real delays for users who are not root: the command runs again in a user namespace, where it may make
networks.

There it has a network of its own, which nothing outside reaches except through what it opened before: the pages'
listeners.
"""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from launch.errors import CannotStartError
from launch.regions.layout import read_layout
from launch.regions.network.namespaces import regions_fault
from launch.regions.network.tun_device import switch_on
from launch.setup.data_dir import read_session
from launch.supervisor.ports import listening_socket
from streams.broker.embedded_broker import LOOPBACK

DESCRIPTORS = "ARBITRAGE_PAGE_DESCRIPTORS"
"""The pages' listeners, by their numbers; set if the command runs in a user namespace."""
ENTER = ("unshare", "--user", "--map-root-user", "--net", "--")
FAULT_INSIDE = "from launch.regions.network.namespaces import regions_fault; print(regions_fault() or '')"
TRIED_SECONDS = 30.0
RELAYED_BYTES = 65_536

Address = tuple[str, int]
Listeners = tuple[socket.socket, ...]


def run_in_own_network(ports: Sequence[int] = ()) -> Listeners:
    """If this user may not make networks, run the same command again in a user namespace, in place of this
    process.

    There, and for root, it returns: the listeners of the pages' `ports` on this machine's loopback, or none if the
    pages are reached without. Raises CannotStartError if a port is taken.
    """
    descriptors = os.environ.pop(DESCRIPTORS, None)
    if descriptors is not None:
        switch_on("lo")
        listeners = tuple(socket.socket(fileno=int(number)) for number in descriptors.split(",") if number)
        for one in listeners:
            one.set_inheritable(False)
        return listeners
    if regions_fault() is None or user_network_fault() is not None:
        # whoever makes the networks reports what is missing
        return ()
    opened = [listening_socket(LOOPBACK, port) for port in ports]
    for one in opened:
        one.set_inheritable(True)
    os.environ[DESCRIPTORS] = ",".join(str(one.fileno()) for one in opened)
    return _run_again(ENTER)


def user_network_fault() -> str | None:
    """Return why this user can have no regions with real delays without root, and what to do; None if it works. It
    tries."""
    if missing := [program for program in ("unshare", "nsenter") if shutil.which(program) is None]:
        return f"{missing[0]} is missing; install util-linux."
    try:
        tried = subprocess.run(
            [*ENTER, sys.executable, "-c", FAULT_INSIDE],
            check=False,
            capture_output=True,
            text=True,
            timeout=TRIED_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"a user namespace was not made within {TRIED_SECONDS:.0f} s; run as root."
    if tried.returncode != 0:
        return "this user may not make user namespaces (kernel.unprivileged_userns_clone, AppArmor); run as root."
    return tried.stdout.strip() or None


def enter_network_of(home: Path) -> None:
    """If the session that runs in this data folder is in a user namespace, run the same command again in there, in
    place of this process; else return."""
    process = None
    with suppress(CannotStartError, OSError):
        process = _network_owner(home)
    if process is None:
        return
    words = ("nsenter", "--target", process, "--user", "--net", "--preserve-credentials", "--")
    _run_again(words)


def _run_again(words: Sequence[str]) -> NoReturn:
    """Run this command again after these words, in place of this process."""
    os.execvp(words[0], [*words, sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - the same command, no shell


def _network_owner(home: Path) -> str | None:
    """Return the process that made the networks, if it is this user's and in another user namespace than this one.
    Raises CannotStartError if no session runs, OSError if it was killed."""
    carrier_home = read_session(home).place.carrier_home
    if carrier_home is None:
        return None
    # /proc/PID/fd/N
    held = Path(next(one.namespace for one in read_layout(carrier_home).places if one.namespace is not None))
    process = held.parts[2]
    # a session that was killed leaves its files, and another process may have its number by now
    is_network = str(held.readlink()).startswith("net:")
    # whoever made a user namespace may read and stop all processes in it: root must not enter another user's
    is_own = Path("/proc", process).stat().st_uid == os.geteuid()
    spaces = {os.readlink(f"/proc/{one}/ns/user") for one in ("self", process)}
    return process if is_network and is_own and len(spaces) > 1 else None


@asynccontextmanager
async def forwarded(listeners: Listeners, places: Sequence[Address]) -> AsyncIterator[None]:
    """Connect whoever connects to one of `listeners` to the address in its place."""
    async with AsyncExitStack() as stack:
        for listener, (host, port) in zip(listeners, places, strict=bool(listeners)):
            server = await asyncio.start_server(partial(_relay, host, port), sock=listener)
            stack.callback(server.close)
        yield


async def _relay(host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # a connection that breaks is the caller's to make again; asyncio's own callback writes a trace of a task that was
    # cancelled, as those of open pages are when the session ends
    with closing(writer), suppress(OSError, asyncio.CancelledError):
        to_reader, to_writer = await asyncio.open_connection(host, port)
        with closing(to_writer):
            await asyncio.gather(_copy(reader, to_writer), _copy(to_reader, writer))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    """Copy to the end of the source, which ends the target too."""
    while data := await source.read(RELAYED_BYTES):
        target.write(data)
        await target.drain()
    if target.can_write_eof():
        target.write_eof()
