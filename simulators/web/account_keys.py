"""API keys of the funded test accounts: created at random once, stored in one file that only its owner may read."""

import base64
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from uuid import uuid4

from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from exchanges.credentials import Credentials, credentials_path, load_credentials
from exchanges.errors import AccountRejectedError
from simulators.catalogue import terms_of

_ACCOUNT = ".account-"


def account_names(exchange: str, count: int) -> tuple[str, ...]:
    """Return names of an exchange's accounts, as its keys and journals have them: the first has the exchange's own."""
    return exchange, *(f"{exchange}{_ACCOUNT}{number}" for number in range(2, count + 1))


def ensure_credentials(home: Path, accounts: Mapping[str, str]) -> dict[str, Credentials]:
    """Return the keys of each account, made if there are none yet; the file is written whole or not at all. `accounts`:
    name of the account → its exchange.

    Raises AccountRejectedError if the file is damaged.
    """
    path = credentials_path(home)
    known = known_keys(path)
    if not all(name in known for name in accounts):
        new_keys = {name: _new_keys(exchange) for name, exchange in accounts.items()}
        write_private(path, json.dumps(new_keys | known, indent=2))
    return {name: load_credentials(home, name) for name in accounts}


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    partial.replace(path)


def known_keys(path: Path) -> dict[str, object]:
    """Return what the file has so far. Raises AccountRejectedError if it is damaged."""
    if not path.exists():
        return {}
    try:
        known = json.loads(path.read_text())
    except ValueError:
        known = None
    if not isinstance(known, dict):
        raise AccountRejectedError(f"{path} is damaged: delete it for new keys")
    return known


def _new_keys(exchange: str) -> dict[str, str]:
    if terms_of(exchange).signs_by_private_key:
        return _new_private_key()
    # coinbaseexchange and kraken sign with the bytes behind a base64 text, the others with the text itself.
    secret = base64.b64encode(secrets.token_bytes(48)).decode()
    keys = {"apiKey": secrets.token_hex(16), "secret": secret}
    further = {"password": secrets.token_hex(8), "uid": str(uuid4().int % 10**8)}
    return keys | {name: further[name] for name in terms_of(exchange).key_fields}


def _new_private_key() -> dict[str, str]:
    private = generate_private_key(SECP256R1())
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    return {"apiKey": f"organizations/{uuid4()}/apiKeys/{uuid4()}", "secret": pem.decode()}
