"""The folder of the user's own certificate authority, and of the certificates that it has signed for servers.

`ca.pem` is for every client; `ca_key.pem` signs, and only its owner may read it; `servers/HOST.pem` has the key and the
certificate of one host, in one file, as Kafka and mongod take them.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from launch.errors import CannotStartError
from launch.setup.data_dir import write_atomically
from runtime.certificate_issuing import (
    LOOPBACK_NAMES,
    RENEWED_BEFORE,
    IssuedCertificate,
    is_host,
    issue_authority,
    issue_server,
    names_all,
)

Done = Literal["made", "kept", "renewed", "replaced", "unusable"]
AUTHORITY_DAYS = 3_650


@dataclass(frozen=True, slots=True)
class AuthorityFiles:
    """Where everything is."""

    folder: Path

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    @property
    def ca_key(self) -> Path:
        return self.folder / "ca_key.pem"

    @property
    def servers(self) -> Path:
        return self.folder / "servers"

    def server(self, host: str) -> Path:
        return self.servers / f"{host}.pem"

    def hosts(self) -> tuple[str, ...]:
        """Return the hosts that have a certificate, by name."""
        return tuple(sorted(path.stem for path in self.servers.glob("*.pem") if is_host(path.stem)))


@dataclass(frozen=True, slots=True)
class IssuedFile:
    """What became of one file."""

    path: Path
    done: Done
    until: datetime


def issue_files(files: AuthorityFiles, hosts: Sequence[str], now: datetime) -> Iterator[IssuedFile]:
    """Return the authority's file, then each server's, of `hosts` and of those that have one; without any,
    `localhost`.

    An existing authority is used and never replaced. A server's certificate is made again if it ends within 30 days;
    one that cannot be used, or is of another authority, only if its host is among `hosts`. Raises CannotStartError in
    one sentence.
    """
    wrong = next((host for host in hosts if not is_host(host)), None)
    if wrong is not None:
        raise CannotStartError(f"--host {wrong!r} is not a host name or an IP address; write it as in db.example.com.")
    try:
        for folder in (files.folder, files.servers):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_own(folder)
        authority, done = _authority(files, now)
        yield IssuedFile(files.ca, done, authority.certificate.not_valid_after_utc)
        for host in dict.fromkeys((*files.hosts(), *hosts)) or (LOOPBACK_NAMES[0],):
            yield _server(files.server(host), authority, host, now, is_asked_for=host in hosts)
    except OSError as error:
        raise CannotStartError(
            f"{error.filename or files.folder}: cannot be used ({error.strerror}); name another folder with --out."
        ) from error


def ends_at(path: Path) -> datetime | None:
    """Return when the last of a file's certificates ends; None if it has none. Raises OSError."""
    try:
        return max(one.not_valid_after_utc for one in x509.load_pem_x509_certificates(path.read_bytes()))
    except ValueError:
        return None


def _check_own(folder: Path) -> None:
    """Check that only this user can write to the folder, because others could replace the authority by their own."""
    rights = folder.stat()
    # root works in folders of its users, as in a container
    is_own = os.geteuid() in (0, rights.st_uid)
    if rights.st_mode & 0o022 or not is_own:
        raise CannotStartError(
            f"{folder} can be changed by others; name a folder of your own with --out, or `chmod go-w` this one."
        )


def _authority(files: AuthorityFiles, now: datetime) -> tuple[IssuedCertificate, Done]:
    if not files.ca.exists() and not files.ca_key.exists():
        made = issue_authority(f"arbitrage certificates {now:%Y-%m-%d}", now, AUTHORITY_DAYS)
        # never over one that somebody made meanwhile; the key first: without it the certificate is of no use
        _write_new(files.ca_key, made.key_text)
        _write_new(files.ca, made.certificate_text)
        return made, "made"
    for path in (files.ca, files.ca_key):
        if not path.exists():
            raise CannotStartError(
                f"{path} is missing, without which nothing can be signed; put it back, or name another folder with "
                "--out for a new authority, which every client then needs."
            )
    found = _read(files.ca, files.ca_key)
    if found is None:
        raise CannotStartError(
            f"{files.ca} and {files.ca_key.name} are not an authority and its key; put the right ones back, or name "
            "another folder with --out for a new authority, which every client then needs."
        )
    _check_signs(files, found.certificate, now)
    return found, "kept"


def _check_signs(files: AuthorityFiles, certificate: x509.Certificate, now: datetime) -> None:
    """Raise CannotStartError if it must not sign: by a wrong clock it would replace valid certificates."""
    if files.ca_key.stat().st_mode & 0o077:
        raise CannotStartError(
            f"{files.ca_key} can be read by others; `chmod 600` it, or, if somebody may have read it, name another "
            "folder with --out for a new authority, which every client then needs."
        )
    if now < certificate.not_valid_before_utc:
        raise CannotStartError(
            f"the authority {files.ca} is valid from {certificate.not_valid_before_utc:%Y-%m-%d} on, and the clock of "
            f"this machine says {now:%Y-%m-%d}; set it right, or, if it was wrong before, name another folder "
            "with --out for a new authority."
        )
    if now >= certificate.not_valid_after_utc - RENEWED_BEFORE:
        raise CannotStartError(
            f"the authority {files.ca} ends on {certificate.not_valid_after_utc:%Y-%m-%d}; name another folder "
            "with --out for a new one, and give every client a file with the certificates of both first."
        )


def _server(path: Path, authority: IssuedCertificate, host: str, now: datetime, *, is_asked_for: bool) -> IssuedFile:
    hosts = list(dict.fromkeys((host, *LOOPBACK_NAMES)))
    done: Done = "made"
    if path.exists():
        found = _read(path, path)
        if found is None or not _is_of(found, authority) or not names_all(found.certificate, hosts):
            if not is_asked_for:
                return IssuedFile(path, "unusable", now)
            done = "replaced"
        elif found.certificate.not_valid_before_utc <= now < found.certificate.not_valid_after_utc - RENEWED_BEFORE:
            return IssuedFile(path, "kept", found.certificate.not_valid_after_utc)
        else:
            done = "renewed"
    # members of a replica set show theirs to each other
    made = issue_server(authority, hosts, now, is_client=True)
    write_atomically(path, f"{made.key_text}{made.certificate_text}".encode())
    return IssuedFile(path, done, made.certificate.not_valid_after_utc)


def _read(certificate: Path, key: Path) -> IssuedCertificate | None:
    """Return both; None if the files are damaged, or do not belong together. Raises OSError."""
    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
        own = load_pem_private_key(key.read_bytes(), None)
    except (ValueError, TypeError):
        return None
    if not isinstance(own, ec.EllipticCurvePrivateKey) or read.public_key() != own.public_key():
        return None
    return IssuedCertificate(read, own)


def _is_of(server: IssuedCertificate, authority: IssuedCertificate) -> bool:
    try:
        server.certificate.verify_directly_issued_by(authority.certificate)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _write_new(path: Path, text: str) -> None:
    """Write a file that only this user can read, from the first byte on. Raises FileExistsError."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
