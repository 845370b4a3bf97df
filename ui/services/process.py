"""The processes of the session, and stopping and starting them. Shared by REST and the page."""

from dataclasses import dataclass

from typing_extensions import TypedDict

from store.records.processes import Process, Wanted
from ui.auth.callers import Caller
from ui.rows.attribute import row_from
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard


class ProcessRow(TypedDict):
    """One process as its supervisor reported it. Times in microseconds of the server's clock. `state` is `unknown`
    without a heartbeat; `reported_state` is the last one reported, `updated` its time. `wanted_by`: null if nobody
    stopped or started it."""

    name: str
    kind: str
    exchange: str | None
    state: str
    reported_state: str
    is_stoppable: bool
    wanted: str
    wanted_by: str | None
    wanted_at: int | None
    pid: int | None
    since: int
    restarts: int
    last_end: str | None
    updated: int


@dataclass(slots=True)
class NoSuchProcessError(Exception):
    """The session's supervisor has reported no process of that name; `known` are those it has."""

    name: str
    known: tuple[str, ...] = ()


@dataclass(slots=True)
class ProcessOrderRejectedError(Exception):
    """The process cannot be stopped or started now; `why` in a sentence."""

    why: str


async def processes_now(dashboard: Dashboard) -> list[ProcessRow]:
    """Return the processes by name, the supervisor among them. Raises StoreError."""
    return [process_row(process) for process in await dashboard.reader.processes.all()]


async def order_process(dashboard: Dashboard, name: str, wanted: Wanted, caller: Caller) -> Process:
    """Have a bot or a feed stopped, or started; its state follows a moment later. Repeating it changes nothing.

    Raises NoSuchProcessError, ProcessOrderRejectedError, StoreError.
    """
    action = "process.stop" if wanted == "stopped" else "process.start"
    async with auditing(dashboard, caller, action, name) as note:
        note.after = {"wanted": wanted}
        known = {one.name: one for one in await dashboard.reader.process_orders.all()}
        if name not in known:
            raise NoSuchProcessError(name, tuple(sorted(known)))
        note.before = {"wanted": known[name].order.wanted, "state": known[name].state}
        await _check_obeyed(dashboard, known[name])
        ordered = await dashboard.reader.process_orders.want(name, wanted, caller.name)
        if ordered is None:
            raise NoSuchProcessError(name)
        note.after = {"wanted": ordered.order.wanted, "state": ordered.state}
        return ordered


async def _check_obeyed(dashboard: Dashboard, process: Process) -> None:
    """Raise ProcessOrderRejectedError if an order would not be carried out."""
    if not process.is_stoppable:
        raise ProcessOrderRejectedError(f"{process.name} is not a bot or a feed: only bots and feeds can be stopped.")
    if process.state == "unknown":
        why = "There is no heartbeat from the session's supervisor, so the order would not be carried out"
        raise ProcessOrderRejectedError(f"{why}; check the terminal in which the session was started.")
    counters = await dashboard.reader.counters()
    if not counters.reservations_open:
        raise ProcessOrderRejectedError("The session is ending: no process can be stopped or started any more.")


def process_row(process: Process) -> ProcessRow:
    order = process.order
    return row_from(ProcessRow, process, wanted=order.wanted, wanted_by=order.by, wanted_at=order.at or None)
