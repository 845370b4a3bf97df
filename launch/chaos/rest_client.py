"""REST of the session under test, called as its operator does."""

import aiohttp

from session.session import Session
from ui.auth.api_keys import ensure_api_key


def rest_client(session: Session, seconds: float, **headers: str) -> aiohttp.ClientSession:
    """Return a client with the operator's key, which waits `seconds` for an answer; paths begin with `/api`."""
    return aiohttp.ClientSession(
        f"http://{session.page.host}:{session.page.port}",
        headers={"X-API-Key": ensure_api_key(session.home).read_text().strip(), **headers},
        timeout=aiohttp.ClientTimeout(total=seconds),
    )
