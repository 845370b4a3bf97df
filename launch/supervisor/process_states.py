"""The states of a session's processes, and a user's orders for them. No I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from launch.supervisor.process_groups import ProcessSpec
from runtime.clock import steady_now
from store.records.processes import (
    MAX_STARTS,
    STOPPABLE,
    ProcessKind,
    ProcessOrder,
    ProcessReport,
    ProcessState,
    kind_of,
)


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
    """None until the orders were read."""
    failed_starts: int = 0
    """Consecutive starts that never became ready."""
    version: int = 0
    """Grows with each change, so that a reader knows what is new."""


class ProcessStates:
    """The processes of one session by name. Without orders (`is_ordered` False) all are to run."""

    def __init__(self, *, is_ordered: bool = False) -> None:
        self._is_ordered = is_ordered
        self._entries: dict[str, _Entry] = {}

    def add(self, part: ProcessSpec) -> None:
        kind = kind_of(part.name)
        is_free = self._is_ordered and kind in STOPPABLE
        order = None if is_free else ProcessOrder()
        self._entries[part.name] = _Entry(kind, part.exchange, changed_at=steady_now(), order=order)

    def set_starting(self, name: str) -> None:
        self._change(name, "starting")

    def set_running(self, name: str, pid: int) -> None:
        """Record that it has a process id and is not ready yet."""
        self._change(name, "starting", pid)

    def set_ready(self, name: str) -> None:
        entry = self._entries[name]
        entry.failed_starts = -1
        self._change(name, "ready", entry.pid)

    def set_stopping(self, name: str) -> None:
        self._change(name, "stopping", self._entries[name].pid)

    def set_stopped(self, name: str, why: str) -> None:
        """Record that it ended on a user's order."""
        entry = self._entries[name]
        entry.last_end, entry.failed_starts = why, 0
        self._change(name, "stopped")

    def set_idle(self, name: str) -> None:
        """Record that it is not running and not to run."""
        self._change(name, "stopped")

    def set_ended(self, name: str, why: str) -> None:
        """Record that it ended although it was to run."""
        entry = self._entries[name]
        entry.last_end, entry.restarts, entry.failed_starts = why, entry.restarts + 1, entry.failed_starts + 1
        self._change(name, "failed" if entry.failed_starts >= MAX_STARTS else "restarting")

    def is_wanted(self, name: str) -> bool:
        """Return whether it is to run; False until the orders were read."""
        order = self._entries[name].order
        return order is not None and order.wanted == "running"

    def stop_order(self, name: str) -> ProcessOrder | None:
        """Return the order to stop it; None if there is none, or until the orders were read."""
        order = self._entries[name].order
        return order if order is not None and order.wanted == "stopped" else None

    def apply_orders(self, orders: Mapping[str, ProcessOrder]) -> None:
        """Apply the orders read from the store; a process without an order is to run."""
        for name, entry in self._entries.items():
            if entry.kind in STOPPABLE and self._is_ordered:
                entry.order = orders.get(name, ProcessOrder())

    def idle_exchanges(self) -> frozenset[str]:
        """Return exchanges all of whose bots are stopped on a user's order."""
        bots = [(name, entry.exchange) for name, entry in self._entries.items() if entry.kind == "bot"]
        served = {exchange for name, exchange in bots if self.stop_order(name) is None}
        return frozenset(exchange for _, exchange in bots if exchange is not None and exchange not in served)

    def versions(self) -> dict[str, int]:
        """Return the version of each process; a higher one than before means a change."""
        return {name: entry.version for name, entry in self._entries.items()}

    def reports(self, names: Iterable[str]) -> list[ProcessReport]:
        """Return the current states of `names`."""
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
