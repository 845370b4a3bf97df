"""The keys of this data folder: the owner's own in a file of its own, all others as hashes.

A key is 256 random bits, so its plain SHA-256 is enough: a slow, salted hash protects words that people choose, which
can be guessed; nobody goes through 2^256 keys, however fast each try is, and a request must not cost a tenth of a
second. Both files are read at each use, so that what is replaced, added or revoked counts at once.
"""

import hmac
import os
import secrets
from hashlib import sha256
from pathlib import Path

from session.roles import OWNER, Caller, Means
from ui.auth.key_store import StoredKey, read_keys

KEY_FILE = "api_key"
OWNER_ONLY = 0o600


def ensure_api_key(home: Path) -> Path:
    """The owner's key file below `home`, made with a new random key where there is none. Two callers at once get one
    key."""
    return ensure_secret((home / KEY_FILE).resolve())


def keys_folder(home: Path) -> Path:
    """Where all keys lie: beside the owner's, which a session with a data folder of its own has as a link."""
    return (home / KEY_FILE).resolve().parent


def known_key(home: Path, given: str | None) -> StoredKey | None:
    """Whose key `given` is; None where it is nobody's. Compared in constant time, with all keys there are."""
    if not given:
        return None
    digest = digest_of(given)
    found: StoredKey | None = None
    for key in known_keys(home):
        if hmac.compare_digest(key.digest, digest):
            found = key
    return found


def key_named(home: Path, name: str) -> StoredKey | None:
    """The key of that name as it stands now; None where it is gone."""
    return next((key for key in known_keys(home) if key.name == name), None)


def caller_of(key: StoredKey, means: Means, address: str = "") -> Caller:
    return Caller(key.name, key.role, means, address, key.mark)


def known_keys(home: Path) -> tuple[StoredKey, ...]:
    """The owner's first, then in the order they were given."""
    return (owner_key(home), *read_keys(keys_folder(home)))


def owner_key(home: Path) -> StoredKey:
    """An operator key; a file that was removed is made anew, with another key."""
    path = ensure_api_key(home)
    text = path.read_text().strip()
    # an emptied file must not make the empty word a key
    return StoredKey(OWNER, "operator", path.stat().st_mtime_ns // 1_000, digest_of(text or secrets.token_urlsafe(32)))


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return sha256(key.encode(errors="surrogatepass")).hexdigest()


def new_key() -> str:
    """256 random bits, as 43 letters, digits, `-` and `_`."""
    return secrets.token_urlsafe(32)


def ensure_secret(target: Path) -> Path:
    """A file with 256 random bits that only its owner reads. Two callers at once get one."""
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        _create(target)
    target.chmod(OWNER_ONLY)
    return target


def _create(target: Path) -> None:
    """Written beside and linked into place, so that nobody ever reads half a key."""
    draft = target.with_name(f"{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(new_key() + "\n")
        os.link(draft, target)
    except FileExistsError:
        pass  # somebody else was first; theirs is the key
    finally:
        draft.unlink()
