"""The port to a destination: one message, once."""

from typing import Protocol

from notices.messages import NoticeMessage

ANSWER_SECONDS = 10.0
"""How long a destination may take for one message."""


class Sender(Protocol):
    """Sends to one destination. Several may be at work at the same time; none waits for another.

    A message may arrive twice if its answer was lost; a receiver can tell by `message_id`.
    """

    async def send(self, message: NoticeMessage) -> None:
        """Return once the destination has accepted it.

        Raises DestinationUnavailableError, within about `ANSWER_SECONDS`, if a retry may succeed;
        DestinationRejectedError if none can. Their messages hold no address and no key.
        """

    async def close(self) -> None: ...
