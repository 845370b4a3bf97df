"""Signed-in browsers: a cookie that scripts cannot read and other sites cannot use.

The cookie holds no key, but a name, an expiry and a signature over both with a secret of this data folder. The
signature covers the hash of the key, so revoking or replacing a key signs its browsers out at once, also after a
restart. Signed-out cookies are listed in a file of the data folder until they would have expired.
"""

import hmac
import secrets
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from ui.auth.api_keys import caller_of, ensure_secret, key_named, keys_folder, known_keys
from ui.auth.callers import Caller
from ui.auth.key_store import StoredKey
from ui.auth.private_files import replace_file
from ui.auth.started_sign_ins import LONGEST_TEXT, StartedSignIn, list_sign_in, started_sign_ins

COOKIE = "arbitrage_sign_in"
SIGN_IN_SECONDS = 12 * 3_600
SECRET_FILE = "sign_in_secret"  # noqa: S105  # a file's name
SIGN_OUTS_FILE = "sign_outs"
_PARTS = 4


class SignIns:
    """The sign-ins of one data folder; several processes may share it."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def begin(self, key: StoredKey, address: str = "", browser: str = "") -> str:
        """Return the cookie's value. `browser`: as it says of itself, for the list of those that are signed in.

        Who has too many is signed out in the oldest. Waits for the disk, as `end` and `end_by_id` do. Raises OSError
        if that cannot be stored."""
        began_at, identity = wall_now(), secrets.token_hex(8)
        ends_at = began_at + SIGN_IN_SECONDS * MICROSECONDS
        said = f"{key.name}:{ends_at}:{identity}"
        place = (address[:LONGEST_TEXT], browser[:LONGEST_TEXT])
        started = StartedSignIn(identity, key.name, key.role, key.mark, began_at, ends_at, *place)
        for oldest in list_sign_in(keys_folder(self._home), started):
            _record_end(keys_folder(self._home), oldest.identity, oldest.ends_at)
        return f"{said}:{self._signature(said, key)}"

    def current(self) -> list[StartedSignIn]:
        """Return those that are valid, the newest first."""
        folder, marks = keys_folder(self._home), {key.name: key.mark for key in known_keys(self._home)}
        ended = _ends(folder / SIGN_OUTS_FILE)
        return [
            one for one in started_sign_ins(folder) if marks.get(one.name) == one.mark and one.identity not in ended
        ]

    def end_by_id(self, sign_in_id: str) -> StartedSignIn:
        """Sign that browser out, for good, and return which it was. Raises KeyError if none is signed in by that id,
        OSError if it cannot be stored."""
        found = next((one for one in self.current() if one.sign_in_id == sign_in_id), None)
        if found is None:
            raise KeyError(sign_in_id)
        _record_end(keys_folder(self._home), found.identity, found.ends_at)
        return found

    def end(self, cookie: str | None) -> None:
        """Sign out, for good: a restart does not undo it. Raises OSError if that cannot be stored."""
        caller = self.caller(cookie)
        if caller is not None and caller.until is not None:
            _record_end(keys_folder(self._home), caller.sign_in, caller.until)

    def has_ended(self, sign_in: str) -> bool:
        """Return whether it was signed out."""
        return sign_in in _ends(keys_folder(self._home) / SIGN_OUTS_FILE)

    def caller(self, cookie: str | None, address: str = "") -> Caller | None:
        """Return who signed in; None if the cookie is invalid or expired, or its key revoked."""
        parts = (cookie or "").split(":")
        if len(parts) != _PARTS:
            return None
        name, ends_at, identity, signature = parts
        key = key_named(self._home, name)
        if key is None:
            return None
        expected = self._signature(f"{name}:{ends_at}:{identity}", key)
        if not hmac.compare_digest(signature.encode(), expected.encode()):
            return None
        until = int(ends_at)
        if until <= wall_now() or self.has_ended(identity):
            return None
        return replace(caller_of(key, "sign-in", address), until=until, sign_in=identity)

    def _signature(self, said: str, key: StoredKey) -> str:
        secret = ensure_secret(keys_folder(self._home) / SECRET_FILE).read_bytes()
        return hmac.new(secret, f"{said}:{key.role}:{key.digest}".encode(), sha256).hexdigest()


def _ends(path: Path) -> dict[str, int]:
    """Return sign-in → its expiry. A line that a kill cut off is skipped."""
    try:
        lines = [line.split() for line in path.read_text(errors="replace").splitlines()]
    except FileNotFoundError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) == 2 and line[1].isdecimal()}


def _record_end(folder: Path, sign_in: str, ends_at: int) -> None:
    """Record the end of a sign-in, and drop those that have expired."""
    path, now = folder / SIGN_OUTS_FILE, wall_now()

    def content() -> bytes:
        kept = {known: end for known, end in _ends(path).items() if end > now} | {sign_in: ends_at}
        return "".join(f"{known} {end}\n" for known, end in kept.items()).encode()

    replace_file(path, content)
