"""The template process: it imports what the parts of a session use, and forks into each of them.

The supervisor starts it (`launch/supervisor/forks.py`); people do not. It may have no thread, event loop, client of
Kafka or MongoDB, which no fork would have. A fork's parent ends at once, so it becomes the supervisor's own child.
"""

import ctypes
import gc
import importlib
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path

MODULES = (
    "launch.commands.entry_points",
    "launch.setup.login_files",
    "launch.supervisor.process_main",
    "pricefeeds.feed.feeder",
    "pricefeeds.settings_publisher",
    "bots.process",
    "cep.apps.hosts.average_app",
    "ccxt.async_support.base.exchange",
)
"""What at least two parts use. What one part alone uses would be copied as that part writes its reference counts."""
_KEPT: list[object] = []
PR_SET_NAME = 15  # linux/prctl.h
NAME_BYTES = 15


def main() -> None:
    """Serve the supervisor at the other end of the socket that the command names; in a fork: be that part."""
    if sys.platform != "linux":
        # the kernel gives forks to the supervisor, tells how many threads there are, and takes another name
        sys.exit("only Linux has what forks need; parts are started without a template")
    control, supervisor = socket.socket(fileno=int(sys.argv[1])), os.getppid()
    _load()
    if len(os.listdir("/proc/self/task")) > 1:
        sys.exit("the template has threads, which a fork would lose; parts are started without it")
    try:
        control.sendall(b"+")  # loaded
    except OSError:
        return
    words = _fork_of(control, supervisor)
    if words is None:
        return
    sys.argv = ["arbitrage", *words]
    from launch.commands.main import main as run_command

    run_command()


def _load() -> None:
    """Import, and leave nothing for the collector to write to in what all parts share."""
    gc.disable()
    from exchanges.ccxt.on_demand import load_ccxt_on_demand

    load_ccxt_on_demand()
    for name in MODULES:
        importlib.import_module(name)
    from launch.supervisor.memory_gaps import fill_gaps

    gc.collect()
    _KEPT.extend(fill_gaps())
    gc.freeze()


def _fork_of(control: socket.socket, supervisor: int) -> list[str] | None:
    """Return, in each fork, the words of its command; None in the template, once the supervisor closed the socket."""
    while True:
        message, files, _, _ = socket.recv_fds(control, 1, 2)
        if not message:
            return None
        orders, log = files
        is_adopted, has_ended = os.pipe()
        between = os.fork()
        if between == 0:
            if os.fork() > 0:
                os._exit(0)
            os.close(has_ended)
            control.close()
            return _become_part(socket.socket(fileno=orders), log, is_adopted, supervisor)
        os.waitpid(between, 0)
        for file in (orders, log, is_adopted, has_ended):
            os.close(file)


def _become_part(orders: socket.socket, log: int, is_adopted: int, supervisor: int) -> list[str]:
    """Become what a new process would be. Returns the words of its command."""
    from launch.supervisor.children import UNORDERED
    from launch.supervisor.process_groups import end_with_parent

    _set_name(UNORDERED)
    os.setsid()
    # closed by the template once it has seen the end of our parent
    os.read(is_adopted, 1)
    os.close(is_adopted)
    end_with_parent(signal.SIGKILL)
    if os.getppid() != supervisor:
        os._exit(1)
    for standard in (sys.stdout.fileno(), sys.stderr.fileno()):
        os.dup2(log, standard)
    os.close(log)
    text = b""
    with orders, suppress(OSError):
        orders.sendall(str(os.getpid()).encode())
        text = b"".join(iter(lambda: orders.recv(65_536), b""))
    if not text:
        os._exit(1)
    order = json.loads(text)
    words: list[str] = order["words"]
    _show_as(words)
    os.environ.clear()
    os.environ.update(order["environment"])
    if order["niceness"]:
        os.nice(order["niceness"])
    gc.enable()
    return words


def _set_name(name: str) -> None:
    ctypes.CDLL(None).prctl(PR_SET_NAME, ctypes.c_char_p(name.encode()[:NAME_BYTES]), 0, 0, 0)


def _show_as(words: list[str]) -> None:
    """Show our command, not the template's, in `ps` and `top`."""
    _set_name("-".join(word for word in words[:2] if not word.startswith("-")))
    with suppress(OSError, ValueError, IndexError):
        # proc(5): arg_start and arg_end are fields 48 and 49; the second, the name, may contain spaces
        fields = Path("/proc/self/stat").read_text().rpartition(") ")[2].split()
        start, end = int(fields[45]), int(fields[46])
        shown = "\0".join((sys.executable, "-m", "launch.commands.main", *words)).encode()[: end - start - 1]
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, shown, len(shown))


if __name__ == "__main__":
    main()
