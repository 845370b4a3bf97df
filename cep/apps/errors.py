"""Errors of stream apps. The engine is a library, so it has its own root."""


class AppError(Exception):
    """An app cannot run or go on. One sentence; the same text over the same rows fails again."""


class AppNotYetError(AppError):
    """It is not there yet: the same question is answered in a moment."""


class AppFailedError(AppError):
    """The app cannot go on: a row cannot be computed, or it keeps too much."""
