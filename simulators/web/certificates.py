"""A TLS certificate for this machine's loopback, and the CA that a client must trust for it."""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from market.time_units import MICROSECONDS
from simulators.web.account_keys import write_private

_DAYS = 397
"""Clients take no longer ones: https://support.apple.com/en-us/102028"""
_RENEWED_BEFORE = timedelta(days=30)
_ADDRESSES = ("127.0.0.1", "::1")
_HOST = "localhost"


@dataclass(frozen=True, slots=True)
class Certificates:
    """Paths of PEM files. Only the owner may read the server's key; nobody has the CA's, which is thrown away, so that
    what trusts it trusts this certificate and no other."""

    ca: Path
    server: Path
    key: Path

    def server_context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.server, self.key)
        return context


def ensure_certificates(folder: Path, names: Iterable[str], now: int) -> Certificates:
    """Those in `folder` for localhost and other `names` of this machine, made where they are missing, about to expire
    or unreadable. `now` in microseconds."""
    found = Certificates(folder / "ca.pem", folder / "server.pem", folder / "server_key.pem")
    moment = datetime.fromtimestamp(now / MICROSECONDS, UTC)
    hosts = [_HOST, *names]
    if not _is_good(found, hosts, moment):
        _make(found, hosts, moment)
    return found


def _is_good(found: Certificates, hosts: list[str], now: datetime) -> bool:
    try:
        server = x509.load_pem_x509_certificate(found.server.read_bytes())
        server.verify_directly_issued_by(x509.load_pem_x509_certificate(found.ca.read_bytes()))
        found.server_context()
        names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, InvalidSignature, x509.ExtensionNotFound):
        return False
    is_current = server.not_valid_before_utc <= now < server.not_valid_after_utc - _RENEWED_BEFORE
    return is_current and set(hosts) <= set(names.get_values_for_type(x509.DNSName))


def _make(files: Certificates, hosts: list[str], now: datetime) -> None:
    ca_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    issuer, subject = _name("Simulated exchanges, CA of this machine"), _name(_HOST)
    ca = _signed(_basic(issuer, issuer, ca_key.public_key(), now, is_ca=True), ca_key)
    names = [x509.DNSName(host) for host in hosts]
    addresses = [x509.IPAddress(ip_address(address)) for address in _ADDRESSES]
    server = _signed(
        _basic(subject, issuer, key.public_key(), now, is_ca=False)
        .add_extension(x509.SubjectAlternativeName([*names, *addresses]), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False),
        ca_key,
    )
    # the key first: without it the next start makes all three again
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    write_private(files.key, private.decode())
    write_private(files.server, server.public_bytes(Encoding.PEM).decode())
    write_private(files.ca, ca.public_bytes(Encoding.PEM).decode())


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _basic(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, *, is_ca: bool
) -> x509.CertificateBuilder:
    """What a CA's certificate and a server's have alike; strict clients want each of the extensions."""
    uses = dict.fromkeys(_KEY_USES, False) | dict.fromkeys(_OF_A_CA if is_ca else _OF_A_SERVER, True)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=_DAYS))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=0 if is_ca else None), critical=True)
        .add_extension(x509.KeyUsage(**uses), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


_OF_A_CA = ("key_cert_sign", "crl_sign")
_OF_A_SERVER = ("digital_signature",)
_KEY_USES = (
    *_OF_A_CA,
    *_OF_A_SERVER,
    "content_commitment",
    "key_encipherment",
    "data_encipherment",
    "key_agreement",
    "encipher_only",
    "decipher_only",
)


def _signed(builder: x509.CertificateBuilder, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    return builder.sign(key, hashes.SHA256())
