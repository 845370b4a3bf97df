"""One request to a session's REST service, and its problems as errors."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from runtime.errors import ArbitrageError, RefusedError, UnavailableError
from runtime.loopback import is_near

ADDRESS = "http://127.0.0.1:8000"
"""Where a session answers unless it was started at another port."""
SECONDS = 20.0
TRY_AGAIN = frozenset((408, 429, 502, 503, 504))
"""Statuses after which the same request may succeed."""
PORTS = {"http": 80, "https": 443}
LONGEST_ANSWER = 64 * 1024 * 1024

Parameters = Mapping[str, object]
"""Query parameters; None is left out, a list is repeated."""


@dataclass(frozen=True, slots=True)
class Service:
    """Where a session answers. `key` None: without one, which reads what nobody needs a key for. No proxy is used."""

    url: str
    key: str | None = field(default=None, repr=False)
    seconds: float = SECONDS
    """How long an answer may take."""
    changed_by: str | None = None
    """The name that the history of settings keeps of a change; None: the key's owner."""

    def asked(
        self,
        method: str,
        path: str,
        parameters: Parameters | None = None,
        body: Mapping[str, object] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Return the answer's document, text if it is none; `path` begins with a slash and follows `/api`.

        Raises RefusedError if the session refuses, UnavailableError if it does not answer or says to try again.
        """
        sent = {**self._headers(), **(headers or {})}
        content = None if body is None else json.dumps(body, default=str).encode()
        if content is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection = self._connection()
            try:
                connection.request(method, f"/api{quote(path, safe='/%')}{query_of(parameters)}", content, sent)
                answer = connection.getresponse()
                received = answer.read(LONGEST_ANSWER)
            finally:
                connection.close()
        except (OSError, HTTPException) as error:
            raise UnavailableError(
                f"{self.url} does not answer ({str(error) or type(error).__name__}); is a session running there? "
                "`arbitrage paper` starts one."
            ) from error
        if answer.status >= 400:
            raise problem_of(answer.status, received)
        return _document(received, answer.getheader("Content-Type") or "")

    def _headers(self) -> dict[str, str]:
        headers = {"Accept": "application/json"}
        if self.key is not None:
            headers["X-API-Key"] = self.key
        if self.changed_by is not None:
            headers["X-Changed-By"] = self.changed_by
        return headers

    def _connection(self) -> HTTPConnection:
        parts = urlsplit(self.url)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        return kind(parts.hostname or "", parts.port or PORTS[parts.scheme], timeout=self.seconds)


def service_at(url: str, key: str | None = None, seconds: float = SECONDS, changed_by: str | None = None) -> Service:
    """Return the service. Raises RefusedError if the address is none, or the key would travel unencrypted."""
    address = checked_address(url)
    if key is not None and not (key.isascii() and key.isprintable() and key.strip() == key != ""):
        raise RefusedError("This is no API key: it must be printable ASCII, without blanks around it.")
    if key is not None and address.startswith("http:") and not is_near(host_of(address)):
        raise RefusedError(f"{address}: anybody on the way could read the key; use an address that begins with https.")
    return Service(address, key, seconds, changed_by)


def host_of(address: str) -> str:
    return urlsplit(address).hostname or ""


def checked_address(url: str) -> str:
    """Return the address without a slash at its end. Raises RefusedError if it is none."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme in PORTS and parts.hostname and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address or parts.path.strip("/") or parts.query or parts.username:
        raise RefusedError(f"{url!r} is not the address of a session; write it as in http://127.0.0.1:8000.")
    return f"{parts.scheme}://{parts.netloc}"


def query_of(parameters: Parameters | None) -> str:
    """Return the query with its question mark; empty without parameters."""
    given = {name: value for name, value in (parameters or {}).items() if value is not None}
    return f"?{urlencode(given, doseq=True)}" if given else ""


def problem_of(status: int, received: bytes) -> ArbitrageError:
    """Return the error of a problem document (RFC 9457): its detail, and the fields that are wrong."""
    try:
        document = json.loads(received)
    except ValueError:
        document = {}
    found = document if isinstance(document, dict) else {}
    words = str(found.get("detail") or f"The session answered with status {status}").rstrip(".")
    kind = UnavailableError if status in TRY_AGAIN else RefusedError
    return kind(f"{words}.")


def _document(received: bytes, content_type: str) -> Any:
    if not received:
        return None
    if "json" not in content_type:
        return received.decode(errors="replace")
    try:
        return json.loads(received)
    except ValueError:
        raise UnavailableError("The answer is no JSON; is this the address of a session?") from None
