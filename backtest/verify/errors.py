"""Why a session cannot be verified."""


class CannotVerifyError(Exception):
    """One sentence for the user, without its full stop."""
