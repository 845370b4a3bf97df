"""What can go wrong with Kafka, and what to do about it."""


class StreamError(Exception):
    """Kafka cannot do what was asked."""


class StreamUnavailableError(StreamError):
    """Kafka was not reached, or not in time; the same call may succeed in a moment."""


class StreamRejectedError(StreamError):
    """Kafka said no; trying again changes nothing."""
