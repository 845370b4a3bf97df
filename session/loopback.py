"""Which hosts are this machine, by their names alone."""

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether it is `localhost` or an address of loopback; another name may stand for any machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
