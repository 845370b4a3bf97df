"""Which hosts are this machine, or in a network of one's own, by their names alone."""

from ipaddress import ip_address

LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})
"""What a browser on this machine calls it."""


def is_loopback(host: str) -> bool:
    """Whether it is `localhost` or an address of loopback; another name may stand for any machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_near(host: str) -> bool:
    """Whether no proxy leads there: this machine, or a number that no public network has."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost"
