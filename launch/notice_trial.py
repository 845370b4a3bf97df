"""`arbitrage notices test`: does each destination take a message?"""

from collections.abc import Callable, Mapping, Sequence

from launch.errors import CannotStartError
from launch.notice_destinations import secrets_checked
from market.notices import Destination
from market.session import Mode
from notices.trial import try_destinations

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
