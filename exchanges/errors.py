"""What can go wrong at an exchange, and what to do about it."""


class ExchangeError(Exception):
    """An exchange did not do what was asked."""


class ExchangeUnavailableError(ExchangeError):
    """Not reached, overloaded or in maintenance; the same read may succeed in a moment."""


class OrderRejectedError(ExchangeError):
    """The exchange said no and there is no order; trying again changes nothing."""


class OutcomeUnknownError(ExchangeError):
    """The order may or may not be live; look it up, never send it again."""


class AccountRejectedError(ExchangeError):
    """Keys, permissions or the account itself are rejected; the whole exchange stops for us."""


class NotPostedError(ExchangeError):
    """Nothing of the order left this machine, so there is none and never will be; it says why."""
