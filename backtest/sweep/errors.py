"""Errors of a sweep, and whether a retry helps."""


class SweepError(Exception):
    """Base of the sweep errors."""


class SweepRejectedError(SweepError):
    """The request is invalid: one sentence that says what to change; a retry does not help."""


class SweepStoppedError(SweepError):
    """Some of the work failed; the same command continues with what is missing."""
