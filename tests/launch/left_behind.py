"""Finds keys of exchange accounts in the files of a run."""

import gzip
import json
from pathlib import Path

from exchanges.credentials import credentials_path

OWN_FILES = ("exchange_accounts.json", "exchange_admin_token", "own.json", "mongodb.key", "server.properties")
"""Files kept for the owner alone, the only ones that may hold keys."""


def keys_in(home: Path) -> set[str]:
    accounts = json.loads(credentials_path(home).read_text())
    return {value for keys in accounts.values() for name, value in keys.items() if value and name != "uid"}


def passwords_in(home: Path) -> set[str]:
    """Return the passwords of the session's own Kafka and MongoDB."""
    own = json.loads((home / "logins" / "own.json").read_text())
    return {own["mongodb_key"], own["controller"], *own["passwords"].values()}


def found_in(folder: Path, keys: set[str]) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in OWN_FILES]
    assert files
    return [f"{path.name}: {key[:4]}…" for path in files for key in keys if key.encode() in contents(path)]


def contents(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
