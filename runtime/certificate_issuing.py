"""Certificates for TLS: an authority, and certificates of servers that it signs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from market.time_units import MICROSECONDS

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
SERVER_DAYS = 397
"""Clients take no longer ones: https://support.apple.com/en-us/102028"""
RENEWED_BEFORE = timedelta(days=30)
_BACKDATED = timedelta(hours=1)
"""For clients whose clocks are behind."""
_LABEL = "[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(\.{_LABEL})*")
_ENDS_LIKE_AN_ADDRESS = re.compile(r"(^|\.)[0-9]+\Z")
_LONGEST_COMMON_NAME = 64
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


@dataclass(frozen=True, slots=True)
class IssuedCertificate:
    """A certificate and the key that belongs to it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = field(repr=False)

    @property
    def certificate_text(self) -> str:
        """In PEM."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def key_text(self) -> str:
        """In PEM, not encrypted."""
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def issue_authority(name: str, now: datetime, days: int) -> IssuedCertificate:
    """Return an authority that signs certificates of servers and no further authorities."""
    key, named = ec.generate_private_key(ec.SECP256R1()), _name(name)
    builder = _builder(named, named, key, now, now + timedelta(days=days), is_ca=True)
    return IssuedCertificate(builder.sign(key, hashes.SHA256()), key)


def issue_server(
    authority: IssuedCertificate, hosts: Sequence[str], now: datetime, *, is_client: bool = False
) -> IssuedCertificate:
    """For host names and addresses, the first of which names it; for 397 days, or until the authority ends.

    `is_client`: its server may show it to other servers too.
    """
    key, issuer = ec.generate_private_key(ec.SECP256R1()), authority.certificate
    until = min(now + timedelta(days=SERVER_DAYS), issuer.not_valid_after_utc)
    uses = [ExtendedKeyUsageOID.SERVER_AUTH] + [ExtendedKeyUsageOID.CLIENT_AUTH] * is_client
    builder = (
        # clients look at the alternative names, so that a long one may be cut here
        _builder(_name(hosts[0][:_LONGEST_COMMON_NAME]), issuer.subject, key, now, until, is_ca=False)
        .add_extension(x509.SubjectAlternativeName(list(map(_alternative_name, hosts))), critical=False)
        .add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    return IssuedCertificate(builder.sign(authority.key, hashes.SHA256()), key)


def moment_of(micros: int) -> datetime:
    """Return a time of our clock (microseconds) as certificates have it."""
    return datetime.fromtimestamp(micros / MICROSECONDS, UTC)


def is_host(text: str) -> bool:
    """Whether it is a host name in small letters, or an IP address, as a certificate may name it: without a zone."""
    return (_is_address(text) and "%" not in text) or (
        _HOST_NAME.fullmatch(text) is not None and not _ENDS_LIKE_AN_ADDRESS.search(text)
    )


def names_all(certificate: x509.Certificate, hosts: Iterable[str]) -> bool:
    """Whether it is valid for each of these host names and addresses."""
    try:
        named = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    return set(map(_alternative_name, hosts)) <= set(named)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _alternative_name(host: str) -> x509.GeneralName:
    return x509.IPAddress(ip_address(host)) if _is_address(host) else x509.DNSName(host)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    until: datetime,
    *,
    is_ca: bool,
) -> x509.CertificateBuilder:
    """Return what a CA's certificate and a server's have alike; strict clients want each of the extensions."""
    uses = dict.fromkeys(_KEY_USES, False) | dict.fromkeys(_OF_A_CA if is_ca else _OF_A_SERVER, True)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BACKDATED)
        .not_valid_after(until)
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=0 if is_ca else None), critical=True)
        .add_extension(x509.KeyUsage(**uses), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
