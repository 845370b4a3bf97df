"""Texts of apps, and callers who write them."""

from runtime.clock import wall_now
from session.session import Session
from ui.auth.api_keys import digest_of, new_key
from ui.auth.callers import Role
from ui.auth.key_store import StoredKey, add_key

WIDE = "from quotes[bid > 1.0] select exchange, bid insert into Wide;"
WIDER = WIDE.replace("1.0", "2.0")
WRONG = "from quotes[bidd > 1.0] select exchange, bid insert into Wide;"


def key_of(session: Session, name: str, role: Role) -> dict[str, str]:
    """Return the headers of a new key."""
    key = new_key()
    add_key(session.home, StoredKey(name, role, wall_now(), digest_of(key)))
    return {"X-API-Key": key}
