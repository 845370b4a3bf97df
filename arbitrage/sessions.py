"""A running session from a program."""

import os
from pathlib import Path

from remote.connection import Connection
from remote.requests import ADDRESS, SECONDS, service_at
from remote.session_keys import key_from


def connect(
    url: str = ADDRESS, *, key: str | None = None, key_file: str | Path | None = None, seconds: float = SECONDS
) -> Connection:
    """Return a connection to a running session's REST service. Nothing is asked before the first method is called.

    `key`, `key_file`: an API key or a file that holds it (`.data/api_key` is an operator's); default the variable
    `ARBITRAGE_API_KEY`, else none, with which a session on loopback can be read. `seconds`: how long an answer may
    take. Raises RefusedError for an address or a key file that is none, and for a key over plain http to a public host.

    Example: `connect(key_file=".data/api_key").arbitrages(sort="net", limit=1)` is the worst trade.
    """
    found = key_from(key, None if key_file is None else Path(key_file), os.environ)
    return Connection(service_at(url, found, seconds))
