"""Rows of REST: stored stream apps, their versions, what is wrong with a text, rows that failed, and
signals."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NotRequired

from typing_extensions import TypedDict

from store.app_actions import StandingEntry
from store.records.apps import AppVersion, StoredApp
from store.records.failed_rows import FailedRow
from ui.rows.attribute import row_from

NOBODY_RUNS_APPS = "the part that runs apps does not answer: it is being started, or this deployment has none"
LEVELS = ("critical", "warning", "watch", "none")
"""The worst first; a level of an app's own comes behind them."""
MILLI = 1_000
NOT_TAKEN = "the part that runs apps has not taken the order yet; it does within a second"


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
    """`version`: of the newest text; `published_version`: the one that was published last. `reason`: why it failed,
    what it waits for, or what goes wrong although it runs. `description`: what the newest text says of itself
    (`@App:description`). `errors`: since the app was started. `regions`: those that it was published for, all if
    empty. Times in microseconds UTC."""

    name: str
    state: str
    reason: NotRequired[str]
    version: int
    published_version: int | None
    regions: list[str]
    author: str
    description: str
    created_at: int
    updated_at: int
    rows_per_second: NotRequired[float]
    errors: NotRequired[int]


class LeftOutRow(TypedDict):
    """Rows that acted on nothing since the dashboard began. `last`: what the newest asked for."""

    reason: str
    actions: int
    last: str
    last_at: int


class StandingEntryRow(TypedDict):
    """An entry of the settings in force that the app made. `value`: bps; none of a paused asset."""

    setting: str
    key: str
    value: NotRequired[float]
    since: int


class LeftEntryRow(StandingEntryRow):
    """Of an app that is not wanted to run, or is gone."""

    app: str


class AppsRow(TypedDict):
    """All apps, by name. `left`: entries that apps left in the settings, which only a person takes off."""

    apps: list[AppListRow]
    left: list[LeftEntryRow]


class AppActionsRow(TypedDict):
    """What the app did to the settings, and what it asked for in vain."""

    standing: list[StandingEntryRow]
    left_out: list[LeftOutRow]


class StoredAppRow(AppListRow):
    """With the newest text, and what the running app does at this moment."""

    text: str
    status: dict[str, Any]
    actions: AppActionsRow


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
    status = (statuses or {}).get(app.name)
    if state == "starting" and not reason:
        reason = NOBODY_RUNS_APPS if statuses is None else NOT_TAKEN
    elif state == "running":
        trouble = NOBODY_RUNS_APPS if statuses is None else (status or {}).get("reason")
        reason = "; ".join(one for one in (reason, trouble) if one)
    row: AppListRow = row_from(
        AppListRow,
        app,
        state=state,
        reason=reason,
        published_version=app.order.version,
        regions=list(app.order.regions),
        rows_per_second=0.0,
        errors=0,
    )
    if not reason:
        del row["reason"]
    if status is None:
        del row["rows_per_second"], row["errors"]
        return row
    row["rows_per_second"] = float(status.get("rows_per_second") or 0.0)
    errors = dict(status.get("errors") or {}).values()
    row["errors"] = sum(map(int, errors)) + int(status.get("rejected_rows") or 0)
    return row


class AppSavepointsRow(TypedDict):
    """By name, which is when each was taken: UTC, to the second. Newest first."""

    savepoints: list[str]


def standing_row(one: StandingEntry) -> StandingEntryRow:
    row = StandingEntryRow(setting=one.entry.setting, key=one.entry.key, since=one.at)
    if one.entry.setting != "disabled_assets" and one.entry.value is not None:
        row["value"] = one.entry.value
    return row


def version_row(version: AppVersion, *, with_text: bool = False) -> AppVersionRow:
    row = AppVersionRow(
        version=version.version, author=version.author, created_at=version.at, note=version.note, text=version.text
    )
    if not with_text:
        del row["text"]
    return row


class FailedRowRow(TypedDict):
    """`key`: by which routes name it. `id`: of the row, as sinks send it. `kind`: row, delivery or message; `state`:
    waiting or replayed. `time`: the row's own, by the app's clock; `first_at`, `at`: when it failed first and last;
    microseconds UTC. `changed_by`: who edited it, or gave it again."""

    key: str
    id: str
    stream: str
    kind: str
    state: str
    values: dict[str, Any]
    error: str
    attempts: int
    time: int
    first_at: int
    at: int
    changed_by: str


class FailedRowsRow(TypedDict):
    """In the order in which they failed first. `next`: what `after` takes to go on, null at the end. `count`: of all
    that were asked for."""

    errors: list[FailedRowRow]
    next: str | None
    count: int


def failed_row(row: FailedRow) -> FailedRowRow:
    return {
        "key": key_of(row),
        "id": row.id,
        "stream": row.stream,
        "kind": row.kind,
        "state": row.state,
        "values": dict(row.values),
        "error": row.error,
        "attempts": row.attempts,
        "time": row.time * MILLI,
        "first_at": row.first_at,
        "at": row.at,
        "changed_by": row.changed_by,
    }


def key_of(row: FailedRow) -> str:
    """Return a word for addresses: names of streams may have any characters."""
    return base64.urlsafe_b64encode(f"{row.stream}|{row.id}".encode()).decode().rstrip("=")


def stored_key(app: str, key: str) -> str | None:
    """Return the store's key of a row of the app; None if the word is none."""
    try:
        return f"{app}|{base64.urlsafe_b64decode(key + '=' * (-len(key) % 4)).decode()}"
    except (binascii.Error, ValueError):
        return None


class SignalRow(TypedDict):
    """What an app says of one entity now. `since`: when it came to this level, microseconds UTC; null if the app does
    not say. `value`: what was measured."""

    app: str
    entity: str
    signal: str
    level: str
    reason: str
    since: int | None
    value: float | None


class SignalsRow(TypedDict):
    """The worst first. `apps`: those that run and have signals."""

    apps: list[str]
    signals: list[SignalRow]
