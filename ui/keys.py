"""The API key: a file that only its owner may read, made at the first start. Reading needs no key, changing does."""

import os
import secrets
from pathlib import Path

KEY_FILE = "api_key"
OWNER_ONLY = 0o600


def ensure_api_key(home: Path) -> Path:
    """The key's file below `home`, made with a new random key where there is none. Two callers at once get one key."""
    target = home / KEY_FILE
    if not target.exists():
        home.mkdir(parents=True, exist_ok=True)
        _create(target)
    target.chmod(OWNER_ONLY)
    return target


def is_api_key(home: Path, given: str | None) -> bool:
    """Whether `given` is the key; compared in constant time. A replaced key file counts at once."""
    if not given:
        return False
    key = ensure_api_key(home).read_text().strip()
    return bool(key) and secrets.compare_digest(given.encode(), key.encode())


def _create(target: Path) -> None:
    """Written beside and linked into place, so that nobody ever reads half a key."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(32) + "\n")
        os.link(draft, target)
    except FileExistsError:
        pass  # somebody else was first; theirs is the key
    finally:
        draft.unlink()
