"""The Unix socket of the carrier of the links between regions, as those see it who send it commands."""

import json
import socket
from pathlib import Path

from runtime.link_states import CarrierState, state_of_json
from runtime.socket_path import short_path

SOCKET = "regions.sock"
MOST_BYTES_OF_COMMAND = 4_096
MOST_BYTES_OF_ANSWER = 1024**2
ANSWER_SECONDS = 5.0


class CarrierSilentError(ConnectionError):
    """The carrier does not answer, so that nobody knows whether it did what was asked; one sentence."""


class LinkCommandRefusedError(ValueError):
    """The carrier did nothing; one sentence that says why, with the column of a mistake."""


def ask_carrier(home: Path, line: str) -> CarrierState:
    """Send a command to the carrier of this data folder and wait, 5 s at the most; returns the state after it.

    Raises LinkCommandRefusedError, CarrierSilentError.
    """
    try:
        answer = _answer(home, line.encode())
    except (FileNotFoundError, ConnectionRefusedError):
        raise CarrierSilentError(
            "the carrier of the regions is not there; it is being restarted, or its session was killed."
        ) from None
    except OSError as error:
        raise CarrierSilentError(
            f"the carrier of the regions does not answer ({error.strerror or error}); try again in a moment."
        ) from error
    if not answer:
        raise CarrierSilentError("the carrier of the regions ended before it answered; try again in a moment.")
    if answer.startswith(b'{"error"'):
        raise LinkCommandRefusedError(json.loads(answer)["error"])
    return state_of_json(answer)


def _answer(home: Path, line: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
        connection.settimeout(ANSWER_SECONDS)
        with short_path(home, SOCKET) as path:
            connection.connect(path)
        connection.send(line[:MOST_BYTES_OF_COMMAND])
        return connection.recv(MOST_BYTES_OF_ANSWER)
