"""Errors of Kafka, and how to react."""


class StreamError(Exception):
    """A request to Kafka failed."""


class StreamUnavailableError(StreamError):
    """Kafka was unreachable or too slow; the same call may succeed in a moment."""


class StreamRejectedError(StreamError):
    """Kafka rejected the request; a retry changes nothing."""
