"""A server that has a certificate and says nothing more than it."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from socket import create_server
from threading import Thread

from launch.setup.authority_folder import AuthorityFiles, issue_files
from runtime.certificate_issuing import moment_of
from runtime.clock import wall_now


def made_certificates(folder: Path, *hosts: str, at: datetime | None = None) -> AuthorityFiles:
    """As `arbitrage certificates` makes them, now or at a time that is past."""
    files = AuthorityFiles(folder)
    list(issue_files(files, hosts, moment_of(wall_now()) if at is None else at))
    return files


@contextmanager
def certificate_server(server_file: Path) -> Iterator[int]:
    """Its port on loopback; it ends each connection after the handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_file)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    context.wrap_socket(connection, server_side=True).close()
                except OSError:
                    continue

    with create_server(("127.0.0.1", 0)) as listener:
        thread = Thread(target=serve)
        thread.start()
        try:
            port: int = listener.getsockname()[1]
            yield port
        finally:
            listener.shutdown(2)
            thread.join()
