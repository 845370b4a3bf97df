"""A TLS certificate for this machine's loopback, and the CA that a client must trust for it."""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from runtime.certificate_issuing import (
    LOOPBACK_NAMES,
    RENEWED_BEFORE,
    SERVER_DAYS,
    issue_authority,
    issue_server,
    moment_of,
    names_all,
)
from simulators.web.account_keys import write_private


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files. Only the owner may read the server's key; nobody has the CA's, which is thrown away, so that
    a client that trusts the CA trusts this certificate and no other."""

    ca: Path
    server: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server, self.key)
        return context


def ensure_certificates(folder: Path, names: Iterable[str], now: int) -> Certificates:
    """Return those in `folder` for localhost and other `names` of this machine, made if they are missing, about to
    expire or unreadable. `now` in microseconds."""
    found = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server_key.pem")
    hosts = [*LOOPBACK_NAMES, *names]
    if not _is_good(found, hosts, moment_of(now)):
        _make(found, hosts, moment_of(now))
    return found


def _is_good(found: Certificates, hosts: list[str], now: datetime) -> bool:
    try:
        server = x509.load_pem_x509_certificate(found.server.read_bytes())
        server.verify_directly_issued_by(x509.load_pem_x509_certificate(found.ca.read_bytes()))
        found.server_context()
    except (OSError, ValueError, InvalidSignature):
        return False
    is_current = server.not_valid_before_utc <= now < server.not_valid_after_utc - RENEWED_BEFORE
    return is_current and names_all(server, hosts)


def _make(files: Certificates, hosts: list[str], now: datetime) -> None:
    authority = issue_authority("Simulated exchanges, CA of this machine", now, SERVER_DAYS)
    server = issue_server(authority, hosts, now)
    # the key first: without it the next start makes all three again
    write_private(files.key, server.key_text)
    write_private(files.server, server.certificate_text)
    write_private(files.ca, authority.certificate_text)
