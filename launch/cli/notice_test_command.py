"""`arbitrage notices test`: does each destination take a message?"""

from collections.abc import Callable, Mapping, Sequence

from launch.config.notice_destinations import secrets_checked
from launch.errors import CannotStartError
from notices.channels.channel_trial import try_destinations
from session.notices import Destination
from session.session import Mode

Say = Callable[[str], None]


async def say_what_arrives(
    destinations: Sequence[Destination], environment: Mapping[str, str], mode: Mode, say: Say
) -> int:
    """Send a test message to each and say what became of it. 0 where all arrived, else 1. Raises CannotStartError."""
    if not destinations:
        raise CannotStartError("no [[notices]] is configured; docs/notices.md says how.")
    tried = await try_destinations(destinations, secrets_checked(destinations, environment), mode)
    for one in tried:
        say(f"{one.name}: {'the test message was taken' if one.fault is None else f'FAILED: {one.fault}'}")
    return 0 if all(one.fault is None for one in tried) else 1
