"""One test message to each destination, tried once, without a session or a store."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from notices.channels.secrets import Secrets
from notices.channels.sender_port import Sender
from notices.channels.senders import opened_senders
from notices.errors import NoticesError
from notices.messages import NoticeMessage
from runtime.clock import wall_now
from session.notice_destinations import Destination
from session.session import Mode
from store.records.notice import Notice


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The result of one test message; `fault` is None if it was accepted."""

    name: str
    fault: str | None


async def try_destinations(
    destinations: Sequence[Destination], secrets: Mapping[str, Secrets], mode: Mode
) -> list[TrialResult]:
    """Return the results in the order of the destinations. All are tried at the same time, so it takes as long as the
    slowest."""
    async with opened_senders(destinations, secrets) as senders:
        return await asyncio.gather(*(_tried(each.name, senders[each.name], mode) for each in destinations))


async def _tried(name: str, sender: Sender, mode: Mode) -> TrialResult:
    identity, now = f"test:{uuid4().hex}", wall_now()
    line = f"Test message to {name}: notices arrive here"
    message = NoticeMessage(identity, mode, (Notice(identity, "notifier", "test", now, line),))
    try:
        await sender.send(message)
    except NoticesError as error:
        return TrialResult(name, str(error))
    return TrialResult(name, None)
