"""Why a session cannot be verified."""


class CannotVerifyError(Exception):
    """One sentence, without its full stop, for whoever asked."""
