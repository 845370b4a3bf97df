"""The state of the destinations of notices, for REST and pages."""

from typing_extensions import TypedDict

from store.operations.notices import DestinationState, FailedNotice
from ui.rows.attribute import row_from
from ui.services.dashboard import Dashboard


class DestinationRow(TypedDict):
    """Counts are of notices; `failures` of attempts in a row. Times in microseconds UTC, null: never.

    `state`: `ok`; `retrying`: the newest attempt failed and the notices wait; `removed`: not configured any more.
    """

    name: str
    kind: str
    state: str
    waiting: int
    sent: int
    failed: int
    failures: int
    last_sent_at: int | None
    last_error: str | None
    last_error_at: int | None
    next_try_at: int | None


class FailedNoticeRow(TypedDict):
    """A notice that will not be delivered, and why; kept for seven days."""

    destination: str
    notice_id: str
    kind: str
    event: str
    at: int
    line: str
    reason: str
    failed_at: int


class NoticesRow(TypedDict):
    """`destinations` by name; of the notices given up the newest 100, newest first."""

    destinations: list[DestinationRow]
    failed: list[FailedNoticeRow]


async def notices_now(dashboard: Dashboard) -> NoticesRow:
    """Return the state of the destinations. Raises StoreUnavailableError."""
    notices = dashboard.reader.notices
    configured = {destination.name for destination in dashboard.session.upkeep.notices}
    states, failed = await notices.states(), await notices.failed()
    return NoticesRow(
        destinations=[_destination_row(state, state.name in configured) for state in states],
        failed=[_failed_row(each) for each in failed],
    )


def _destination_row(state: DestinationState, is_configured: bool) -> DestinationRow:
    delivery = "retrying" if state.failures else "ok"
    times = {name: getattr(state, name) or None for name in ("last_sent_at", "last_error_at", "next_try_at")}
    return row_from(DestinationRow, state, state=delivery if is_configured else "removed", **times)


def _failed_row(failed: FailedNotice) -> FailedNoticeRow:
    rest = {name: getattr(failed, name) for name in ("destination", "reason", "failed_at")}
    return row_from(FailedNoticeRow, failed.notice, **rest)
