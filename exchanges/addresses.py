"""Addresses of simulated exchanges, in the form of ccxt's `urls`, and the addresses that a client must not use."""

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Literal
from urllib.parse import urlsplit

from exchanges.errors import AccountRejectedError

# ccxt has many addresses for Binance; those other than spot return no markets, or nothing at all.
_BINANCE_REST = {
    "public": "/api/v3",
    "private": "/api/v3",
    "v1": "/api/v1",
    "sapi": "/sapi/v1",
    "sapiV2": "/sapi/v2",
    "sapiV3": "/sapi/v3",
    "sapiV4": "/sapi/v4",
    "fapiPublic": "/fapi/v1",
    "fapiPublicV2": "/fapi/v2",
    "fapiPublicV3": "/fapi/v3",
    "fapiPrivate": "/fapi/v1",
    "fapiPrivateV2": "/fapi/v2",
    "fapiPrivateV3": "/fapi/v3",
    "fapiData": "/futures/data",
    "dapiPublic": "/dapi/v1",
    "dapiPrivate": "/dapi/v1",
    "dapiPrivateV2": "/dapi/v2",
    "dapiData": "/futures/data",
    "eapiPublic": "/eapi/v1",
    "eapiPrivate": "/eapi/v1",
    "papi": "/papi/v1",
    "papiV2": "/papi/v2",
}
PRIVATE_ENDINGS = (".local", ".internal")
"""Endings of names that no public server of names has; those of a cluster end with `.cluster.local`."""
_BINANCE_STREAMS = ("spot", "margin", "linear", "inverse", "stock", "option", "optionMarket", "optionPrivate", "papi")


def simulated_addresses(exchange: str, base_url: str) -> dict[str, object]:
    """All addresses that ccxt has for `exchange`, each below `base_url`: none is left of the real exchange.

    For ccxt's `urls["api"]`. Raises AccountRejectedError if no such
    exchange is simulated.
    """
    base = base_url.rstrip("/")
    socket = "ws" + base.removeprefix("http") + "/ws"
    if exchange == "coinbaseexchange":
        return {"public": base, "private": base, "ws": socket}
    if exchange == "bitstamp":
        return {"public": f"{base}/api", "private": f"{base}/api", "ws": socket}
    if exchange == "bitflyer":
        return {"rest": base}
    if exchange == "kraken":
        # ccxt derives the protocol's version from the address.
        sockets = dict.fromkeys(("public", "private", "beta", "beta-private"), socket)
        sockets |= dict.fromkeys(("publicV2", "privateV2"), f"{socket}/v2")
        return {"public": base, "private": base, "zendesk": base, "ws": sockets}
    if exchange == "binance":
        calls = dict.fromkeys(("spot", "linear", "inverse"), socket.removesuffix("/ws") + "/ws-api/v3")
        streams = {**dict.fromkeys(_BINANCE_STREAMS, socket), "ws-api": calls}
        return {**{name: base + path for name, path in _BINANCE_REST.items()}, "ws": streams}
    raise AccountRejectedError(f"there is no simulated {exchange}")


SANDBOX_FEEDS = {
    "coinbaseexchange": (
        "wss://ws-feed-public.sandbox.exchange.coinbase.com",
        "https://api-public.sandbox.exchange.coinbase.com",
    ),
    "binance": ("wss://stream.testnet.binance.vision/ws", "https://testnet.binance.vision"),
}
"""Stream and REST of the sandboxes' public market data, as ccxt's `urls["test"]` has them."""

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
