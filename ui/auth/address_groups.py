"""Groups of addresses that one owner has; limits count a group as one address."""

from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address

LOOPBACK = "loopback"


@lru_cache(4_096)
def counted_address(host: str) -> str:
    """Return the name under which an address counts: one for all of loopback, and one for each /64 network of IPv6. An
    IPv4 address that is mapped into IPv6 counts as IPv4."""
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
