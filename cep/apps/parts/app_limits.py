"""How much an app may keep and take, and the error of one that would have more."""

from dataclasses import dataclass

from cep.apps.errors import AppError


class AppLimitError(AppError):
    """The app would take more than it may: it is ended. One sentence that names the limit and what reached it."""


class FunctionFailedError(ValueError):
    """A function of the app could not compute a value; one sentence. As with other values that cannot be computed, the
    row goes where `@OnError` says, or the app ends."""


@dataclass(frozen=True, slots=True)
class AppLimits:
    """The limits of one partition of the log. Rows, matches and keys are counted for each query, in all keys of its
    partition."""

    window_rows: int = 100_000
    partial_matches: int = 10_000
    keys: int = 10_000
    """The most keys of a partition, of `group by`, of sessions and of an aggregation's groups."""
    table_rows: int = 100_000
    event_seconds: float = 10.0
    """CPU of one row of the log, with all that comes of it."""
    state_bytes: int = 64 * 1024**2
    script_seconds: float = 0.5
    """CPU of one call of a function in JavaScript."""
    script_bytes: int = 32 * 1024**2
    """Memory of all functions in JavaScript."""
    worker_bytes: int = 1536 * 1024**2
    """Memory of a process that runs a partition live."""
