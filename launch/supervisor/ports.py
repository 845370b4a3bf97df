"""Ports of this machine's loopback."""

import socket

from launch.errors import CannotStartError

LAST_PORT = 65_535


def claim_web_port(host: str, port: int) -> None:
    """Check that the dashboard's port is free. Raises CannotStartError if it cannot be listened on."""
    _bound(host, port).close()


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens. Raises CannotStartError if the dashboard's port cannot be listened on."""
    listener = _bound(host, port)
    listener.listen()
    return listener


def _bound(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OverflowError:
        bound.close()
        raise CannotStartError(
            f"port {port} does not exist: {LAST_PORT} is the last one; choose another with --port."
        ) from None
    except OSError as error:
        bound.close()
        raise CannotStartError(
            f"port {port} on {host} cannot be used ({error.strerror}); free it, or choose another with --port."
        ) from error
    return bound
