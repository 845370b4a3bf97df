"""Errors of an exchange, and how to react."""


class ExchangeError(Exception):
    """A request to an exchange failed."""


class ExchangeUnavailableError(ExchangeError):
    """The exchange was unreachable, overloaded or in maintenance; the same read may succeed in a moment."""


class StreamSilentError(ExchangeUnavailableError):
    """A stream sends nothing, not even what shows that it is alive."""


class OrderRejectedError(ExchangeError):
    """The exchange rejected the order and there is none; a retry changes nothing."""


class OutcomeUnknownError(ExchangeError):
    """The order may or may not be live; look it up, never send it again."""


class AccountRejectedError(ExchangeError):
    """API keys, permissions or the account itself are rejected; trading stops on the whole exchange."""


class NotPostedError(ExchangeError):
    """The order was not sent, so there is none; the text gives the reason."""


UNEXPECTED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    NameError,
    ArithmeticError,
    AssertionError,
    RecursionError,
)
"""What ccxt raises, beside its own errors, for an answer that it does not expect."""
