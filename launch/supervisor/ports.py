"""Ports of this machine's loopback."""

import socket

from launch.errors import CannotStartError


def claim_web_port(host: str, port: int) -> None:
    """Raises CannotStartError where the dashboard's port cannot be listened on."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise CannotStartError(
                f"port {port} on {host} cannot be used ({error.strerror}); free it, or choose another with --port."
            ) from error
