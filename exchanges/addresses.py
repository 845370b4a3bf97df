"""Addresses of simulated exchanges, in the form of ccxt's `urls`, and the addresses that a client must not use."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal
from urllib.parse import urlsplit

from exchanges.catalogue import facts_of
from exchanges.errors import AccountRejectedError

PRIVATE_ENDINGS = (".local", ".internal")
"""Endings of names that no public server of names has; those of a cluster end with `.cluster.local`."""


def simulated_addresses(exchange: str, base_url: str) -> dict[str, object]:
    """All addresses that ccxt has for `exchange`, each below `base_url`: none is left of the real exchange.

    For ccxt's `urls["api"]`. Raises AccountRejectedError if no such exchange is simulated.
    """
    facts = facts_of(exchange)
    if facts is None:
        raise AccountRejectedError(f"there is no simulated {exchange}")
    base = base_url.rstrip("/")
    below = {"{rest}": base, "{ws}": "ws" + base.removeprefix("http")}
    return {name: _placed(branch, below) for name, branch in facts.addresses.simulated.items()}


def _placed(branch: object, below: Mapping[str, str]) -> object:
    if isinstance(branch, Mapping):
        return {name: _placed(one, below) for name, one in branch.items()}
    text = str(branch)
    for mark, address in below.items():
        text = text.replace(mark, address)
    return text


Place = Literal["live", "sandbox", "public", "simulated"]
"""Real money, the exchange's sandbox, a real exchange without an account, or our simulated exchange."""


def every_address(tree: object) -> Iterator[str]:
    """All texts in nested mappings and lists."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping):
        for branch in tree.values():
            yield from every_address(branch)
    elif isinstance(tree, Sequence):
        for branch in tree:
            yield from every_address(branch)


def address_fault(place: Place, address: str) -> str | None:
    """Why a client of this place must not use the address, or None."""
    parts = urlsplit(address)
    on_loopback = _is_loopback(parts.hostname or "")
    if place == "simulated":
        is_ours = on_loopback or _is_private(parts.hostname or "")
        return None if is_ours and parts.scheme in ("http", "ws") else "is not on loopback or in a private network"
    if place == "public":
        # no secret is sent there, so a gateway may be anywhere
        return None if parts.scheme in ("http", "ws", "https", "wss") and parts.hostname else "is not a valid address"
    if parts.scheme not in ("https", "wss") or not parts.hostname:
        return "is not encrypted (https or wss)"
    return "is on loopback, but a real exchange is not" if on_loopback else None


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    number = _number(host)
    return number is not None and (number.is_loopback or number.is_unspecified)


def _is_private(host: str) -> bool:
    """Whether no public name or number leads there: parts that run apart reach the simulated exchanges so."""
    number = _number(host)
    if number is not None:
        return number.is_private
    # a name that begins with a digit may be a number in another notation
    return host[:1].isalpha() and ("." not in host or host.endswith(PRIVATE_ENDINGS))


def _number(host: str) -> IPv4Address | IPv6Address | None:
    try:
        number = ip_address(host)
    except ValueError:
        return None
    return (number.ipv4_mapped or number) if isinstance(number, IPv6Address) else number
