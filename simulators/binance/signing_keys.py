"""Binance's keys without a secret: the client signs with a private key, RSA or Ed25519."""

import base64
import binascii
import json
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from exchanges.credentials import Credentials, credentials_path, load_credentials
from simulators.web.account_keys import known_keys, write_private
from simulators.web.signatures import sent_bytes

KINDS = ("ed25519", "rsa")
_RSA_BITS, _EXPONENT = 2_048, 65_537

KeyKind = Literal["HMAC_SHA256", "RSA", "Ed25519"]


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """What the exchange knows of a key."""

    kind: KeyKind
    verifies: Callable[[str, str], bool]
    """(what was signed, the signature as sent) → whether it is right."""


def verifying_key(pem: str) -> VerifyingKey:
    """Return the key to verify by, from a private key's PEM. Raises ValueError if it is neither an RSA nor an Ed25519
    key."""
    private = load_pem_private_key(pem.encode(), None)
    if not isinstance(private, Ed25519PrivateKey | RSAPrivateKey):
        raise ValueError("neither an RSA nor an Ed25519 key")

    def verifies(signed: str, signature: str) -> bool:
        try:
            raw = base64.b64decode(sent_bytes(signature), validate=True)
            if isinstance(private, RSAPrivateKey):
                private.public_key().verify(raw, sent_bytes(signed), PKCS1v15(), SHA256())
            else:
                private.public_key().verify(raw, sent_bytes(signed))
        except (binascii.Error, InvalidSignature):
            return False
        return True

    return VerifyingKey("RSA" if isinstance(private, RSAPrivateKey) else "Ed25519", verifies)


def ensure_signing_keys(home: Path, accounts: Sequence[str], kinds: Sequence[str] = KINDS) -> None:
    """Make a key of each kind for each of those accounts, if there is none yet. Raises AccountRejectedError if the file
    is damaged."""
    path = credentials_path(home)
    known = known_keys(path)
    names = [(f"{account}.{kind}", kind) for account in accounts for kind in kinds]
    missing = {name: _new_key(kind) for name, kind in names if name not in known}
    if missing:
        write_private(path, json.dumps(known | missing, indent=2))


def signing_keys(home: Path, account: str) -> dict[str, Credentials]:
    """Return the keys by kind; the secret is the private key's PEM. None if none was made. Raises
    AccountRejectedError."""
    known = known_keys(credentials_path(home))
    return {kind: load_credentials(home, f"{account}.{kind}") for kind in KINDS if f"{account}.{kind}" in known}


def _new_key(kind: str) -> dict[str, str]:
    is_rsa = kind == "rsa"
    private = generate_private_key(_EXPONENT, _RSA_BITS) if is_rsa else Ed25519PrivateKey.generate()
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return {"apiKey": secrets.token_hex(32), "secret": pem.decode()}
