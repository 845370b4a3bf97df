"""Rows of REST: stored stream apps, their versions, and what is wrong with a text."""

from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from store.records.apps import AppVersion, StoredApp
from ui.rows.attribute import row_from

NOBODY_RUNS_APPS = "the part that runs apps does not answer: it is being started, or this deployment has none"


class MistakeRow(TypedDict):
    """`line` and `column` from 1. `expected`: what may stand there; `nearest`: the known name that may be meant."""

    line: int
    column: int
    message: str
    expected: NotRequired[list[str]]
    nearest: NotRequired[str]


class CaseRow(TypedDict):
    """What became of a test case; `reason`: what differs."""

    id: str
    passed: bool
    reason: NotRequired[str]


class CheckedTextRow(TypedDict):
    """`name` and `version` of a text without mistakes; `cases` if some were sent."""

    mistakes: list[MistakeRow]
    name: NotRequired[str]
    version: NotRequired[str]
    cases: NotRequired[list[CaseRow]]


class AppListRow(TypedDict):
    """`version`: of the newest text; `published_version`: the one that was published last. `errors`: since the app was
    started. Times in microseconds UTC."""

    name: str
    state: str
    reason: NotRequired[str]
    version: int
    published_version: int | None
    author: str
    created_at: int
    updated_at: int
    rows_per_second: NotRequired[float]
    errors: NotRequired[int]


class AppsRow(TypedDict):
    """All apps, by name."""

    apps: list[AppListRow]


class StoredAppRow(AppListRow):
    """With the newest text, and what the running app does at this moment."""

    text: str
    status: dict[str, Any]


class AppVersionRow(TypedDict):
    """`text` is left out in lists."""

    version: int
    author: str
    created_at: int
    note: str
    text: NotRequired[str]


class AppVersionsRow(TypedDict):
    """Newest first."""

    versions: list[AppVersionRow]


def app_list_row(app: StoredApp, session_id: str, statuses: Mapping[str, Any] | None) -> AppListRow:
    """Return the row. `statuses`: of the apps that run, by name; None if nobody answers who runs apps."""
    state, reason = app.state_in(session_id)
    if state == "starting" and not reason and statuses is None:
        reason = NOBODY_RUNS_APPS
    status = (statuses or {}).get(app.name)
    row: AppListRow = row_from(
        AppListRow, app, state=state, reason=reason, published_version=app.order.version, rows_per_second=0.0, errors=0
    )
    if not reason:
        del row["reason"]
    if status is None:
        del row["rows_per_second"], row["errors"]
        return row
    row["rows_per_second"] = float(status.get("rows_per_second") or 0.0)
    row["errors"] = sum(int(count) for count in dict(status.get("errors") or {}).values())
    return row


def version_row(version: AppVersion, *, with_text: bool = False) -> AppVersionRow:
    row = AppVersionRow(
        version=version.version, author=version.author, created_at=version.at, note=version.note, text=version.text
    )
    if not with_text:
        del row["text"]
    return row
