"""Servers of others as an app's text names them, and what the operator says of them. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping

from cep.apps.functions.operator_terms import ServerTerms
from cep.apps.language.errors import AppTextError
from cep.apps.language.expression_tree import Place

_NAME = re.compile(r"([a-z0-9+]+)://([a-z0-9.-]+)(:[0-9]{1,5})?")


def server_name(text: str, ports: Mapping[str, int]) -> str | None:
    """Return scheme, host and port; None if it is no such address. `ports`: by the schemes that there are, for an
    address without one."""
    found = _NAME.fullmatch(text)
    if found is None or found[1] not in ports:
        return None
    port = ports[found[1]] if found[3] is None else int(found[3][1:])
    return f"{found[1]}://{found[2]}:{port}" if 0 < port < 1 << 16 else None


def is_server(text: str) -> bool:
    """Whether the text names a server as the operator does: one of HTTP as an origin, a bucket as s3://NAME, a project
    of Pub/Sub as pubsub://NAME, any other with its port."""
    found = _NAME.fullmatch(text)
    if found is None or found[3] is None:
        return found is not None and found[1] in ("http", "https", "s3", "pubsub")
    return 0 < int(found[3][1:]) < 1 << 16


def allowed_server(at: Place, name: str, servers: Iterable[ServerTerms]) -> ServerTerms:
    """Return what the operator says of the server. Raises AppTextError if that is nothing."""
    found = next((one for one in servers if one.name == name), None)
    if found is None:
        raise AppTextError(at, f"{name} is not allowed here; the operator allows it below [apps.servers]")
    return found


def check_parts(at: Place, server: ServerTerms, parts: Collection[str], *, is_read: bool) -> None:
    """`parts`: topics or collections. Raises AppTextError for one that may not be read, or written."""
    allowed = server.reads if is_read else server.writes
    for part in parts:
        if not any(covers(one, part) for one in allowed):
            done, where = ("read", "reads") if is_read else ("written", "writes")
            problem = f"{part!r} of {server.name} may not be {done} here; the operator allows it in {where} of"
            raise AppTextError(at, f"{problem} [apps.servers]")


def covers(allowed: str, part: str) -> bool:
    """Whether `part` is `allowed`, or below it: `orders/#` covers `orders`, `orders/eu` and `orders/+/new`."""
    if allowed == "#":
        return True
    stem = allowed.removesuffix("/#")
    return part == allowed or (stem != allowed and (part == stem or part.startswith(f"{stem}/")))
