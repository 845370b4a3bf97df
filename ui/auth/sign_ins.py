"""Signed-in browsers: a cookie that a script of the page cannot read, and that no other site can make use of.

It holds no key: a name, an end and a code over both that only this data folder can make. The code covers the hash of
the key that signed in, so a key that is revoked or replaced signs its browsers out at once, also after a restart. What
was signed out stands in a file of the data folder until it would have ended by itself.
"""

import fcntl
import hmac
import os
import secrets
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from market.time_units import MICROSECONDS
from session.clock import wall_now
from session.roles import Caller
from ui.auth.api_keys import caller_of, ensure_secret, key_named, keys_folder
from ui.auth.key_store import StoredKey

COOKIE = "arbitrage_sign_in"
SIGN_IN_SECONDS = 12 * 3_600
SECRET_FILE = "sign_in_secret"  # noqa: S105  # a file's name
SIGN_OUTS_FILE = "sign_outs"
_PARTS = 4


class SignIns:
    """Of one data folder; several processes may share it."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def begin(self, key: StoredKey) -> str:
        """The cookie's value."""
        ends_at = wall_now() + SIGN_IN_SECONDS * MICROSECONDS
        said = f"{key.name}:{ends_at}:{secrets.token_hex(8)}"
        return f"{said}:{self._code(said, key)}"

    def end(self, cookie: str | None) -> None:
        """It counts no more, after a restart neither. Raises OSError where that cannot be written down."""
        caller = self.caller(cookie)
        if caller is not None and caller.until is not None:
            _record_end(keys_folder(self._home), caller.sign_in, caller.until)

    def has_ended(self, sign_in: str) -> bool:
        """Whether somebody signed out of it."""
        return sign_in in _ends(keys_folder(self._home) / SIGN_OUTS_FILE)

    def caller(self, cookie: str | None, address: str = "") -> Caller | None:
        """Who signed in; None where the cookie is not ours, over, or its key gone."""
        parts = (cookie or "").split(":")
        if cookie is None or len(parts) != _PARTS:
            return None
        name, ends_at, identity = parts[:3]
        key = key_named(self._home, name)
        if key is None or not hmac.compare_digest(parts[3].encode(), self._code(":".join(parts[:3]), key).encode()):
            return None
        until = int(ends_at)
        if until <= wall_now() or self.has_ended(identity):
            return None
        return replace(caller_of(key, "sign-in", address), until=until, sign_in=identity)

    def _code(self, said: str, key: StoredKey) -> str:
        secret = ensure_secret(keys_folder(self._home) / SECRET_FILE).read_bytes()
        return hmac.new(secret, f"{said}:{key.role}:{key.digest}".encode(), sha256).hexdigest()


def _ends(path: Path) -> dict[str, int]:
    """Sign-in → when it would have ended by itself. A line that was cut off by a kill is none."""
    try:
        lines = [line.split() for line in path.read_text(errors="replace").splitlines()]
    except FileNotFoundError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _record_end(folder: Path, sign_in: str, ends_at: int) -> None:
    """Replaced as a whole and by one writer at a time, without those that are over by now."""
    path, now = folder / SIGN_OUTS_FILE, wall_now()
    with (folder / f"{SIGN_OUTS_FILE}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = {known: end for known, end in _ends(path).items() if end > now} | {sign_in: ends_at}
        draft = path.with_name(f"{path.name}.new")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write("".join(f"{known} {end}\n" for known, end in kept.items()))
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
