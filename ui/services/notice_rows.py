"""How the destinations of notices do, for REST and pages alike."""

from typing_extensions import TypedDict

from store.operations.mongo_notices import DestinationState, FailedNotice
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
    """`destinations` by name; of those given up the newest 100, newest first."""

    destinations: list[DestinationRow]
    failed: list[FailedNoticeRow]


async def notices_now(dashboard: Dashboard) -> NoticesRow:
    """Raises StoreUnavailableError."""
    notices = dashboard.reader.notices
    configured = {destination.name for destination in dashboard.session.notices}
    states, failed = await notices.states(), await notices.failed()
    return NoticesRow(
        destinations=[_destination_row(state, state.name in configured) for state in states],
        failed=[_given_up_row(each) for each in failed],
    )


def _destination_row(state: DestinationState, is_configured: bool) -> DestinationRow:
    standing = "retrying" if state.failures else "ok"
    return DestinationRow(
        name=state.name,
        kind=state.kind,
        state=standing if is_configured else "removed",
        waiting=state.waiting,
        sent=state.sent,
        failed=state.failed,
        failures=state.failures,
        last_sent_at=state.last_sent_at or None,
        last_error=state.last_error,
        last_error_at=state.last_error_at or None,
        next_try_at=state.next_try_at or None,
    )


def _given_up_row(failed: FailedNotice) -> FailedNoticeRow:
    notice = failed.notice
    return FailedNoticeRow(
        destination=failed.destination,
        notice_id=notice.notice_id,
        kind=notice.kind,
        event=notice.event,
        at=notice.at,
        line=notice.line,
        reason=failed.reason,
        failed_at=failed.failed_at,
    )
