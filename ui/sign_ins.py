"""Signed-in browsers: a cookie that a script of the page cannot read, and that no other site can make use of.

It holds no key: a name, an end and a code over both that only this data folder can make. The code covers the hash of
the key that signed in, so a key that is revoked or replaced signs its browsers out at once, also after a restart.
"""

import hmac
import secrets
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from market.access import Caller
from market.clock import MICROSECONDS, wall_now
from ui.kept_keys import KeptKey
from ui.keys import caller_of, ensure_secret, key_named, keys_folder

COOKIE = "arbitrage_sign_in"
SIGN_IN_SECONDS = 12 * 3_600
SECRET_FILE = "sign_in_secret"  # noqa: S105  # a file's name
_PARTS = 4


class SignIns:
    """Of one data folder. What was signed out is remembered by this process until it would have ended by itself."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._ended: dict[str, int] = {}

    def begin(self, key: KeptKey) -> str:
        """The cookie's value."""
        ends_at = wall_now() + SIGN_IN_SECONDS * MICROSECONDS
        said = f"{key.name}:{ends_at}:{secrets.token_hex(8)}"
        return f"{said}:{self._code(said, key)}"

    def end(self, cookie: str | None) -> None:
        """It counts no more."""
        if cookie is not None and self.caller(cookie) is not None:
            now = wall_now()
            self._ended = {known: ends_at for known, ends_at in self._ended.items() if ends_at > now}
            self._ended[cookie] = int(cookie.split(":")[1])

    def caller(self, cookie: str | None, address: str = "") -> Caller | None:
        """Who signed in; None where the cookie is not ours, over, or its key gone."""
        parts = (cookie or "").split(":")
        if cookie is None or len(parts) != _PARTS or cookie in self._ended:
            return None
        name, ends_at = parts[0], parts[1]
        key = key_named(self._home, name)
        if key is None or not hmac.compare_digest(parts[3].encode(), self._code(":".join(parts[:3]), key).encode()):
            return None
        until = int(ends_at)
        return replace(caller_of(key, "sign-in", address), until=until) if until > wall_now() else None

    def _code(self, said: str, key: KeptKey) -> str:
        secret = ensure_secret(keys_folder(self._home) / SECRET_FILE).read_bytes()
        return hmac.new(secret, f"{said}:{key.role}:{key.digest}".encode(), sha256).hexdigest()
