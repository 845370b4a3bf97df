"""`arbitrage notices test`: sends a test message to each destination."""

from collections.abc import Callable, Mapping, Sequence

from launch.config.notice_destinations import secrets_checked
from launch.errors import CannotStartError
from notices.channels.trial import try_destinations
from session.notice_destinations import Destination
from session.session import Mode

Echo = Callable[[str], None]


async def report_test_messages(
    destinations: Sequence[Destination], environment: Mapping[str, str], mode: Mode, echo: Echo
) -> int:
    """Send a test message to each and print the result. Returns 0 if all were accepted, else 1. Raises
    CannotStartError."""
    if not destinations:
        raise CannotStartError("no [[notices]] is configured; docs/notices.md says how.")
    tried = await try_destinations(destinations, secrets_checked(destinations, environment), mode)
    for one in tried:
        echo(f"{one.name}: {'test message accepted' if one.fault is None else f'FAILED: {one.fault}'}")
    return 0 if all(one.fault is None for one in tried) else 1
