"""API keys of the funded test accounts: created at random once, stored in one file that only its owner may read."""

import base64
import json
import os
import secrets
from pathlib import Path
from uuid import uuid4

from exchanges.errors import AccountRejectedError
from exchanges.exchange_credentials import Credentials, credentials_path, load_credentials


def ensure_credentials(home: Path, exchanges: tuple[str, ...]) -> dict[str, Credentials]:
    """The keys of each exchange, made where there are none yet; the file is written whole or not at all.

    Raises AccountRejectedError where it is damaged.
    """
    path = credentials_path(home)
    known = _known_keys(path)
    if not all(exchange in known for exchange in exchanges):
        new_keys = {exchange: _new_keys(exchange) for exchange in exchanges}
        write_private(path, json.dumps(new_keys | known, indent=2))
    return {exchange: load_credentials(home, exchange) for exchange in exchanges}


def write_private(path: Path, text: str) -> None:
    """Only the owner may read it; it is written whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
    partial.replace(path)


def _known_keys(path: Path) -> dict[str, object]:
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
    # coinbaseexchange and kraken sign with the bytes behind a base64 text, the others with the text itself.
    secret = base64.b64encode(secrets.token_bytes(48)).decode()
    keys = {"apiKey": secrets.token_hex(16), "secret": secret}
    if exchange == "coinbaseexchange":
        keys["password"] = secrets.token_hex(8)
    if exchange == "bitstamp":
        keys["uid"] = str(uuid4().int % 10**8)
    return keys
