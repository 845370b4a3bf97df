"""The processes of a session as their supervisor tells of them, and what a user may want of one. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args

from market.time_units import MICROSECONDS

ProcessKind = Literal[
    "supervisor",
    "feed",
    "bot",
    "cep",
    "publisher",
    "ui",
    "kafka",
    "mongodb",
    "exchanges",
    "logrecorder",
    "notifier",
    "other",
]
ProcessState = Literal["starting", "ready", "stopping", "stopped", "restarting", "failed", "unknown"]
"""`starting`: it runs, or waits for another, and has not reported ready; `restarting`: it ended and is started again in
a moment; `failed`: so often, without ever becoming ready, that somebody should look; `unknown`: whatever was told last
is old, since nobody supervises it any more."""
Wanted = Literal["running", "stopped"]

SUPERVISOR = "supervisor"
"""The name under which the supervisor tells that it is alive itself."""
SILENT_SECONDS = 5.0
"""A supervisor that has not been heard of for so long supervises nothing any more."""
MAX_STARTS = 3
"""So many starts in a row that came to nothing are a failure."""
STOPPABLE: frozenset[ProcessKind] = frozenset({"bot", "feed"})
"""What a user may stop. Without the others there is no page to start anything on, and no log to trade by."""


@dataclass(frozen=True, slots=True)
class ProcessReport:
    """What the supervisor tells of one process."""

    name: str
    kind: ProcessKind
    exchange: str | None
    state: ProcessState
    age: int
    """For how long it has been in this state, microseconds."""
    pid: int | None = None
    restarts: int = 0
    """In this session, those that nobody asked for."""
    last_end: str | None = None
    """Why it ended last; None where it never did."""


@dataclass(frozen=True, slots=True)
class ProcessOrder:
    """What a user wants of one process; `at` by the server's clock, 0 where nobody ever said anything."""

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
    """What was told last; `state` is `unknown` where that is old."""
    pid: int | None
    since: int
    restarts: int
    last_end: str | None
    order: ProcessOrder
    updated: int
    """When the supervisor was heard of last; 0: never."""

    @property
    def is_stoppable(self) -> bool:
        return self.kind in STOPPABLE


def kind_of(name: str) -> ProcessKind:
    """Of a part by its name: `feed-kraken`, `bot-kraken-2`, `cep`, `backtest-…`."""
    word = name.partition("-")[0]
    return next((kind for kind in get_args(ProcessKind) if kind == word), "other")


def is_silent(updated: int, now: int) -> bool:
    """Whether a supervisor heard of at `updated` is taken for gone at `now`; both the server's, microseconds."""
    return now - updated > int(SILENT_SECONDS * MICROSECONDS)
