"""The Unix socket by which the carrier takes commands: one line in, one JSON document out, per connection."""

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launch.errors import CannotStartError, LaunchError
from launch.regions.carrier_state import CarrierState, state_of_json
from launch.regions.region_layout import LAYOUT_FILE

SOCKET = "regions.sock"
MOST_BYTES_OF_COMMAND = 4_096
MOST_BYTES_OF_ANSWER = 1024**2
WAITING = 16
ANSWER_SECONDS = 5.0


@contextmanager
def listening(home: Path) -> Iterator[socket.socket]:
    """Only this user may connect. The caller is alone in the data folder: an older socket file is a dead carrier's."""
    (home / SOCKET).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as listener:
        with _short_path(home) as path:
            listener.bind(path)
        # before it listens nobody can connect
        (home / SOCKET).chmod(0o600)
        listener.listen(WAITING)
        try:
            yield listener
        finally:
            (home / SOCKET).unlink(missing_ok=True)


def command_carrier(home: Path, line: str) -> CarrierState:
    """Send a command to the carrier of this data folder; returns the state after it.

    Raises CannotStartError where no session with regions runs, or for a mistake in the command; LaunchError where the
    carrier does not answer.
    """
    if not (home / LAYOUT_FILE).exists():
        raise CannotStartError(f"{home}: no session with regions runs here, so there is nothing to change.")
    try:
        answer = _answer(home, line.encode())
    except (FileNotFoundError, ConnectionRefusedError):
        raise LaunchError(
            f"{home}: the carrier of the regions is not there; it is being restarted, or its session was killed."
        ) from None
    except OSError as error:
        raise LaunchError(
            f"the carrier of the regions does not answer ({error.strerror or error}); try again in a moment."
        ) from error
    if not answer:
        raise LaunchError("the carrier of the regions ended before it answered; try again in a moment.")
    if answer.startswith(b'{"error"'):
        raise CannotStartError(f"region {line!r}: {json.loads(answer)['error']}")
    return state_of_json(answer)


def error_answer(sentence: str) -> bytes:
    return json.dumps({"error": sentence}).encode()


def _answer(home: Path, line: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(ANSWER_SECONDS)
        with _short_path(home) as path:
            connection.connect(path)
        connection.send(line[:MOST_BYTES_OF_COMMAND])
        return connection.recv(MOST_BYTES_OF_ANSWER)


@contextmanager
def _short_path(home: Path) -> Iterator[str]:
    """The kernel takes 107 bytes for the path of a socket; data folders may have longer ones."""
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{folder}/{SOCKET}"
    finally:
        os.close(folder)
