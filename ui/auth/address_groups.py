"""Addresses that are counted as one: whoever has one of them has all of them."""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

LOOPBACK = "loopback"


@lru_cache(4_096)
def counted_address(host: str) -> str:
    """All of loopback is one, and so are the 2^64 addresses of a network of IPv6. An IPv4 address is the same by
    whatever protocol it comes."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    if address.is_loopback:
        return LOOPBACK
    if isinstance(address, IPv6Address):
        return str(IPv6Network((int(address), 64), strict=False))
    return str(address)
