"""The Unix socket by which the carrier takes commands: one line in, one JSON document out, per connection."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launch.errors import CannotStartError, LaunchError
from launch.regions.layout import LAYOUT_FILE
from runtime.carrier_socket import SOCKET, CarrierSilentError, LinkCommandRefusedError, ask_carrier
from runtime.link_states import CarrierState
from runtime.socket_path import short_path

WAITING = 16


@contextmanager
def listening(home: Path) -> Iterator[socket.socket]:
    """Listen; only this user may connect. The caller is alone in the data folder: an older socket file is a dead
    carrier's."""
    (home / SOCKET).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as listener:
        with short_path(home, SOCKET) as path:
            listener.bind(path)
        # before it listens nobody can connect
        (home / SOCKET).chmod(0o600)
        listener.listen(WAITING)
        try:
            yield listener
        finally:
            (home / SOCKET).unlink(missing_ok=True)


def command_carrier(home: Path, line: str) -> CarrierState:
    """Send a command to the carrier of this data folder. Returns the state after it. Raises CannotStartError if no
    session with regions runs, or for a mistake in the command; LaunchError if the carrier does not answer."""
    if not (home / LAYOUT_FILE).exists():
        raise CannotStartError(f"{home}: no session with regions runs here, so there is nothing to change.")
    try:
        return ask_carrier(home, line)
    except LinkCommandRefusedError as refused:
        raise CannotStartError(f"region {line!r}: {refused}") from None
    except CarrierSilentError as silent:
        raise LaunchError(f"{home}: {silent}") from silent


def error_answer(sentence: str) -> bytes:
    return json.dumps({"error": sentence}).encode()
