"""Logins of servers of others, from files of the operator's: read where a connection is made, and shown to nobody."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cep.apps.functions.operator_terms import ServerTerms
from launch.errors import CannotStartError
from launch.setup.service_logins import hosts_needing_tls
from runtime.secret_files import PrivateFileError, private_toml

_TEXTS = ("user", "password", "ca")
ENCRYPTED = ("https", "mqtts")
SHORTEST_KEY = 16
"""Characters."""


@dataclass(frozen=True, slots=True, repr=False)
class ServerLogin:
    """`ca`: a file with the authority that the server's certificate is of, if no public one. `headers`: of requests."""

    user: str | None = None
    password: str | None = None
    ca: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


def server_login(server: ServerTerms) -> ServerLogin:
    """Return the login of the server. Raises CannotStartError, which names no value of it."""
    if server.login_file is None:
        return ServerLogin()
    what = f"[apps.servers] {server.name}: login_file"
    try:
        found: dict[str, Any] = private_toml(server.login_file)
    except PrivateFileError as error:
        raise CannotStartError(f"{what}: {error}.") from None
    headers = found.pop("headers", {})
    strange = next((name for name in found if name not in _TEXTS), None)
    if strange is not None:
        raise CannotStartError(f"{what}: {server.login_file}: {strange} is none of {', '.join(_TEXTS)}, headers.")
    if not isinstance(headers, dict) or not all(isinstance(one, str) for one in (*found.values(), *headers.values())):
        raise CannotStartError(f"{what}: {server.login_file}: write every value as a text.")
    if "password" in found or headers:
        _check_encrypted(server, has_ca="ca" in found)
    return ServerLogin(found.get("user"), found.get("password"), found.get("ca"), headers)


def _check_encrypted(server: ServerTerms, *, has_ca: bool) -> None:
    scheme, _, place = server.address.partition("://")
    if scheme in ENCRYPTED or (scheme == "mongodb" and has_ca):
        return
    how = "name its ca in the login_file" if scheme == "mongodb" else f"give its address with {scheme}s://"
    seen_by = next(hosts_needing_tls(place if ":" in place else f"{place}:80", server.plain_text_hosts), None)
    if seen_by is not None:
        raise CannotStartError(
            f"[apps.servers] {server.name}: the login would go to {seen_by} without TLS; {how}, "
            f"or, if nobody else can read that network, add {seen_by!r} to plain_text_hosts."
        )


def trusted(login: ServerLogin, server: ServerTerms) -> ssl.SSLContext:
    """Return how the server is known. Raises CannotStartError if the authority cannot be read."""
    try:
        return ssl.create_default_context(cafile=login.ca)
    except (OSError, ssl.SSLError):
        raise CannotStartError(f"[apps.servers] {server.name}: the ca in its login_file cannot be read.") from None


def path_keys(keys_file: Path) -> Mapping[str, str]:
    """Return the key of each path at which apps take rows. Raises CannotStartError, which names no key."""
    try:
        found = private_toml(keys_file)
    except PrivateFileError as error:
        raise CannotStartError(f"[apps.receive] keys_file: {error}.") from None
    odd = next((path for path, key in found.items() if not isinstance(key, str) or len(key) < SHORTEST_KEY), None)
    if odd is not None:
        problem = f"the key of {odd} is shorter than {SHORTEST_KEY} characters"
        raise CannotStartError(f"[apps.receive] keys_file: {keys_file}: {problem}.")
    return found
