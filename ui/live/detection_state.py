"""Whether detection works: prices flow long before Spark has started. Pure."""

from typing import Literal

from market.time_units import MICROSECONDS
from session.session import Session
from store.records.processes import ProcessState
from ui.live.consumer_lag import StreamLag

DetectionState = Literal["unknown", "starting", "working", "silent"]
"""`unknown` if it is not known when the session began."""

SILENT_MICROSECONDS = 20 * MICROSECONDS
"""The driver reports and writes a probe row every other second."""


BY_PROCESS: dict[ProcessState | None, DetectionState] = {
    "starting": "starting",
    **dict.fromkeys(("restarting", "failed", "stopping", "stopped"), "silent"),
}
"""The supervisor sees the end of the process at once; but a process that is ready may still be silent."""


def detection_state(session: Session, lag: StreamLag, now: int, process: ProcessState | None = None) -> DetectionState:
    """Return the state by what the real-time query's driver reported and by its output; `now` by the wall clock,
    microseconds.

    The state of its `process` (None if nobody reports it) comes first.
    """
    if not session.started_at:
        return "unknown"
    if process in BY_PROCESS:
        return BY_PROCESS[process]
    query = next((one for one in lag.queries.values() if one.is_real_time), None)
    if query is None:
        return "starting"
    if not query.is_active or now - query.reported_at > SILENT_MICROSECONDS:
        return "silent"
    outputs = [one.came_out_at for one in lag.detection.values() if one.came_out_at is not None]
    if not any(came_out_at >= query.started_at for came_out_at in outputs):
        return "starting"
    is_stuck = any(one.oldest_wait(now) > SILENT_MICROSECONDS for one in lag.detection.values())
    return "silent" if is_stuck else "working"
