"""Addresses of HTTP that an app's text or its rows name: which may be asked, and where that is. Pure."""

import re
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urljoin, urlsplit

_URL = re.compile(r"https?://[A-Za-z0-9.\-]+(:\d{1,5})?(/[!-z|~]*)?")
# a step upwards, however a host may read one, would leave the path that the operator allows
_STEP = re.compile(r"/\.{1,2}(?=[/;]|$)|\\|%(2e|2f|5c|25)", re.IGNORECASE)
_THIS_NETWORK = ip_network("0.0.0.0/8")
_NAT64 = ip_network("64:ff9b::/96")
_OF_CLOUDS = frozenset(map(ip_address, ("fd00:ec2::254", "168.63.129.16", "100.100.100.200")))
"""Where machines at AWS (by IPv6), Azure and Alibaba ask for their secrets and settings, beside 169.254.169.254."""


def url_problem(url: str) -> str | None:
    """Return what is wrong with an address; None if nothing is."""
    if not _URL.fullmatch(url):
        return "write http:// or https://, a host, and a path"
    if _STEP.search(re.split(r"[?#]", url)[0]):
        return "write the path without . and .., \\ and %2e, %2f, %5c and %25"
    return None


def origin_of(url: str) -> str:
    """Return scheme, host and port."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def mapped_url(url: str, addresses: Mapping[str, str]) -> str:
    """Return where a request to `url` goes; `addresses`: by origin. Raises ValueError, in one sentence without the
    path, if nobody allowed it."""
    problem, origin = url_problem(url), origin_of(url)
    if problem is not None:
        raise ValueError(f"no address that may be asked: {problem}")
    if origin not in addresses:
        raise ValueError(f"requests to {origin} are not allowed here")
    return f"{addresses[origin]}{url[len(origin) :]}"


def redirect_target(asked: str, location: str, addresses: Mapping[str, str]) -> tuple[str, str]:
    """Return where a request goes that was sent on from `asked`: the operator's name of the origin, and the address.
    Raises ValueError if nobody allowed that."""
    url = urljoin(asked, location)
    problem, origin = url_problem(url), origin_of(url)
    if problem is not None:
        raise ValueError(f"the redirect leads to no address that may be asked: {problem}")
    if origin in addresses:
        return origin, f"{addresses[origin]}{url[len(origin) :]}"
    # where the operator's own addresses are, a path of theirs is their beginning; the longest says most
    of_operator = sorted(((one, name) for name, one in addresses.items()), key=lambda found: -len(found[0]))
    for one, name in of_operator:
        if url == one or url.startswith((f"{one}/", f"{one}?")):
            return name, url
    raise ValueError(f"the redirect leads to {origin}, and requests to it are not allowed here")


def is_literal(url: str) -> bool:
    """Whether the address names its machine by number, or as this one: whoever wrote it meant it."""
    host = urlsplit(url).hostname or ""
    if host == "localhost":
        return True
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def is_forbidden(address: str) -> bool:
    """Whether a name may not lead there: this machine, its own link and where else clouds keep a machine's secrets,
    everybody.
    IPv4 within IPv6 counts as what it is."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return True
    return any(_is_forbidden(one) for one in (found, *_within(found)))


def _within(found: IPv4Address | IPv6Address) -> tuple[IPv4Address, ...]:
    if isinstance(found, IPv4Address):
        return ()
    embedded = [found.ipv4_mapped, found.sixtofour, *(found.teredo or ())]
    if found in _NAT64:
        embedded.append(IPv4Address(int(found) & 0xFFFFFFFF))
    return tuple(one for one in embedded if one is not None)


def _is_forbidden(found: IPv4Address | IPv6Address) -> bool:
    is_own = found.is_loopback or found.is_link_local or found.is_unspecified or found in _THIS_NETWORK
    return is_own or found.is_multicast or found in _OF_CLOUDS
