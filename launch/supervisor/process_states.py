"""What the supervisor knows of its parts: the state of each, and what a user wants of it. Nothing here waits."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from launch.supervisor.process_groups import ProcessSpec
from session.clock import steady_now
from session.processes import MAX_STARTS, STOPPABLE, ProcessKind, ProcessOrder, ProcessReport, ProcessState, kind_of


@dataclass(slots=True)
class _Entry:
    kind: ProcessKind
    exchange: str | None
    state: ProcessState = "starting"
    changed_at: int = 0
    pid: int | None = None
    restarts: int = 0
    last_end: str | None = None
    order: ProcessOrder | None = None
    """None while nobody knows yet what is wanted."""
    barren: int = 0
    """Starts in a row that never became ready."""
    version: int = 0
    """Grows with each change, so that a reader knows what is new."""


class ProcessStates:
    """The parts of one session by name. Where nobody can want anything (`is_ordered` False) all are to run."""

    def __init__(self, *, is_ordered: bool = False) -> None:
        self._is_ordered = is_ordered
        self._entries: dict[str, _Entry] = {}

    def enter(self, part: ProcessSpec) -> None:
        kind = kind_of(part.name)
        is_free = self._is_ordered and kind in STOPPABLE
        order = None if is_free else ProcessOrder()
        self._entries[part.name] = _Entry(kind, part.exchange, changed_at=steady_now(), order=order)

    def note_start(self, name: str) -> None:
        self._change(name, "starting")

    def note_running(self, name: str, pid: int) -> None:
        """It has a process, and is not ready yet."""
        self._change(name, "starting", pid)

    def note_ready(self, name: str) -> None:
        entry = self._entries[name]
        entry.barren = -1
        self._change(name, "ready", entry.pid)

    def note_stopping(self, name: str) -> None:
        self._change(name, "stopping", self._entries[name].pid)

    def note_stopped(self, name: str, why: str) -> None:
        """It ended because it was to."""
        entry = self._entries[name]
        entry.last_end, entry.barren = why, 0
        self._change(name, "stopped")

    def note_idle(self, name: str) -> None:
        """It is not to run, and does not."""
        self._change(name, "stopped")

    def note_end(self, name: str, why: str) -> None:
        """It ended though it was to run."""
        entry = self._entries[name]
        entry.last_end, entry.restarts, entry.barren = why, entry.restarts + 1, entry.barren + 1
        self._change(name, "failed" if entry.barren >= MAX_STARTS else "restarting")

    def is_wanted(self, name: str) -> bool:
        """False also while nobody knows yet."""
        order = self._entries[name].order
        return order is not None and order.wanted == "running"

    def stop_order(self, name: str) -> ProcessOrder | None:
        """Who wants it stopped; None where nobody does, or nobody knows yet."""
        order = self._entries[name].order
        return order if order is not None and order.wanted == "stopped" else None

    def obey(self, orders: Mapping[str, ProcessOrder]) -> None:
        """What is wanted now, as read where it is kept; a name that is not among them is to run."""
        for name, entry in self._entries.items():
            if entry.kind in STOPPABLE and self._is_ordered:
                entry.order = orders.get(name, ProcessOrder())

    def idle_exchanges(self) -> frozenset[str]:
        """Those all of whose bots are to stay stopped."""
        bots = [(name, entry.exchange) for name, entry in self._entries.items() if entry.kind == "bot"]
        served = {exchange for name, exchange in bots if self.stop_order(name) is None}
        return frozenset(exchange for _, exchange in bots if exchange is not None and exchange not in served)

    def versions(self) -> dict[str, int]:
        """Of each part; one that grew has something new to tell."""
        return {name: entry.version for name, entry in self._entries.items()}

    def told(self, names: Iterable[str]) -> list[ProcessReport]:
        """How these are now."""
        now = steady_now()
        return [
            ProcessReport(
                name=name,
                kind=entry.kind,
                exchange=entry.exchange,
                state=entry.state,
                age=now - entry.changed_at,
                pid=entry.pid,
                restarts=entry.restarts,
                last_end=entry.last_end,
            )
            for name, entry in ((name, self._entries[name]) for name in names)
        ]

    def _change(self, name: str, state: ProcessState, pid: int | None = None) -> None:
        entry = self._entries[name]
        if (entry.state, entry.pid) == (state, pid) and entry.version > 0:
            return
        if entry.state != state:
            entry.changed_at = steady_now()
        entry.state, entry.pid, entry.version = state, pid, entry.version + 1
