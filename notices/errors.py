"""Errors of delivery. None contains an address or a key."""


class NoticesError(Exception):
    """A notice was not delivered, or cannot be."""


class MisconfiguredError(NoticesError):
    """The configuration is wrong; one sentence, without a secret."""


class DestinationUnavailableError(NoticesError):
    """The destination is unavailable; a retry may succeed."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        """Seconds that the destination asked for; None if it named none."""


class DestinationRejectedError(NoticesError):
    """The destination rejects this message; a retry will not succeed."""
