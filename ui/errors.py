"""What can go wrong with the dashboard, and what to do about it."""


class UiError(Exception):
    """The dashboard cannot go on; the message is one sentence for the user."""


class PortTakenError(UiError):
    """Something else listens there; use another port or stop it. Trying again does not help."""
