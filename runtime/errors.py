"""Errors of what a user's own program calls: the package `arbitrage`, and the client of a running session."""


class ArbitrageError(Exception):
    """A call could not do its work; the message is one sentence that says what is wrong and what to do."""


class RefusedError(ArbitrageError):
    """What was asked cannot be done as it is: change the call, the data or the key; the same call fails again."""


class UnavailableError(ArbitrageError):
    """The session, its store or a worker does not answer now: the same call may succeed in a moment."""
