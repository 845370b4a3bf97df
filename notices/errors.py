"""Why a message was not delivered, and what to do about it. None of them ever holds an address or a key."""


class NoticesError(Exception):
    """A notice was not delivered, or cannot be."""


class MisconfiguredError(NoticesError):
    """Nothing can be sent before somebody corrects the configuration; one sentence, without a secret."""


class DestinationUnavailableError(NoticesError):
    """It did not take the message now; the same message may arrive later."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds that the destination asked for; None where it named none."""


class DestinationRejectedError(NoticesError):
    """It will not take this message however often it is sent."""
