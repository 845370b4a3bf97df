"""The API keys of a data folder. The owner's key has its own file; of all others only hashes are stored.

A key is 256 random bits, so its plain SHA-256 is enough: a slow, salted hash protects passwords, which can be guessed.
Both files are read at each use, so that a change takes effect at once.
"""

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from ui.auth.callers import OWNER, Caller, Means
from ui.auth.key_store import StoredKey, read_keys
from ui.auth.private_files import OWNER_ONLY

KEY_FILE = "api_key"


def ensure_api_key(home: Path) -> Path:
    """Return the owner's key file below `home`; created with a random key if it is missing. Concurrent callers get the
    same key."""
    return ensure_secret((home / KEY_FILE).resolve())


def keys_folder(home: Path) -> Path:
    """Return the folder of all keys: that of the owner's key, whose file may be a link into another data folder."""
    return (home / KEY_FILE).resolve().parent


def known_key(home: Path, given: str | None) -> StoredKey | None:
    """Return the stored key of `given`; None for an unknown one. Compares with all keys, in constant time."""
    if not given:
        return None
    digest = digest_of(given)
    found: StoredKey | None = None
    for key in known_keys(home):
        if hmac.compare_digest(key.digest, digest):
            found = key
    return found


def key_named(home: Path, name: str) -> StoredKey | None:
    """Return the current key of that name; None if there is none."""
    return next((key for key in known_keys(home) if key.name == name), None)


def caller_of(key: StoredKey, means: Means, address: str = "") -> Caller:
    return Caller(key.name, key.role, means, address, key.mark)


def known_keys(home: Path) -> tuple[StoredKey, ...]:
    """Return all keys: the owner's first, then by creation."""
    return (owner_key(home), *read_keys(keys_folder(home)))


def owner_key(home: Path) -> StoredKey:
    """Return the owner's key, an operator's. A removed file is created again, with a new key."""
    path = ensure_api_key(home)
    text = path.read_text().strip()
    # an emptied file must not make the empty string a key
    return StoredKey(OWNER, "operator", path.stat().st_mtime_ns // 1_000, digest_of(text or secrets.token_urlsafe(32)))


def digest_of(key: str) -> str:
    """Return the hash that is stored."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()


def new_key() -> str:
    """Return 256 random bits, as 43 letters, digits, `-` and `_`."""
    return secrets.token_urlsafe(32)


def ensure_secret(target: Path) -> Path:
    """Return a file with 256 random bits that only its owner may read. Concurrent callers get the same file."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        _create(target)
    target.chmod(OWNER_ONLY)
    return target


def _create(target: Path) -> None:
    """Write a draft and link it into place, so that nobody reads half a key."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(new_key() + "\n")
        os.link(draft, target)
    except FileExistsError:
        pass  # another process was first; its key counts
    finally:
        draft.unlink()
