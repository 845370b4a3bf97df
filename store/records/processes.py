"""The processes of a session as their supervisor reports them, and what a user may request of one. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args

from market.time_units import MICROSECONDS

ProcessKind = Literal[
    "supervisor",
    "feed",
    "bot",
    "cep",
    "apps",
    "publisher",
    "ui",
    "kafka",
    "mirror",
    "carrier",
    "mongodb",
    "exchanges",
    "logrecorder",
    "notifier",
    "other",
]
ProcessState = Literal["starting", "ready", "stopping", "stopped", "restarting", "failed", "unknown"]
"""`starting`: it runs, or waits for another, and has not reported ready; `restarting`: it ended and is started again in
a moment; `failed`: so often, without ever becoming ready, that somebody should look; `unknown`: the last
report is old, since the supervisor is gone."""
Wanted = Literal["running", "stopped"]

SUPERVISOR = "supervisor"
"""The name of the supervisor's own heartbeat."""
SILENT_SECONDS = 5.0
"""A supervisor without heartbeat for this long counts as gone."""
MAX_STARTS = 3
"""This many failed starts in a row are a failure."""
STOPPABLE: frozenset[ProcessKind] = frozenset({"bot", "feed"})
"""Kinds that a user may stop. The dashboard and the log need the others."""


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """The supervisor's report of one process."""

    name: str
    kind: ProcessKind
    exchange: str | None
    state: ProcessState
    age: int
    """For how long it has been in this state, microseconds."""
    pid: int | None = None
    restarts: int = 0
    """Unrequested restarts in this session."""
    last_end: str | None = None
    """Why it ended last; None if it never did."""


@dataclass(frozen=True, slots=True)
class ProcessOrder:
    """A user's request for one process; `at` by the server's clock, 0 if there was none."""

    wanted: Wanted = "running"
    by: str | None = None
    at: int = 0


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a session as a reader sees it. Times by the server's clock, microseconds."""

    name: str
    kind: ProcessKind
    exchange: str | None
    state: ProcessState
    reported_state: ProcessState
    """The last reported state; `state` is `unknown` if that is old."""
    pid: int | None
    since: int
    restarts: int
    last_end: str | None
    order: ProcessOrder
    updated: int
    """The supervisor's last heartbeat; 0: never."""

    @property
    def is_stoppable(self) -> bool:
        return self.kind in STOPPABLE


def kind_of(name: str) -> ProcessKind:
    """Return the kind of a part by its name: `feed-kraken`, `bot-kraken-2`, `cep`, `backtest-…`."""
    word = name.partition("-")[0]
    return next((kind for kind in get_args(ProcessKind) if kind == word), "other")


def is_silent(updated: int, now: int) -> bool:
    """Whether a supervisor with its last heartbeat at `updated` counts as gone at `now`; both the server's,
    microseconds."""
    return now - updated > int(SILENT_SECONDS * MICROSECONDS)
