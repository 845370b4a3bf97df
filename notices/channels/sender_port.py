"""The port to a destination: one message, once."""

from typing import Protocol

from notices.messages import NoticeMessage

ANSWER_SECONDS = 10.0
"""How long a destination may take for one message."""


class Sender(Protocol):
    """Sends to one destination. Several may be at work at the same time; none waits for another.

    A message may arrive twice where its answer was lost; `message_id` says so to a receiver that looks.
    """

    async def send(self, message: NoticeMessage) -> None:
        """Return once the destination took it.

        Raises DestinationUnavailableError within `ANSWER_SECONDS` or a little more where it may be taken later,
        DestinationRejectedError where never. What they say holds no address and no key.
        """

    async def close(self) -> None: ...
