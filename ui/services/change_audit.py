"""Every change leaves an entry in the audit log: who, what, before, after, and how it ended, rejections included.

The entry is written before the change is tried. So a process that is killed in between leaves `started`, never a change
without its author; and while MongoDB is away nothing is changed that could not be recorded.
"""

import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from uuid import uuid4

from store.errors import StoreError, VersionConflictError
from store.operations.audit import AuditFilter
from store.records.audit_entry import AuditEntry, AuditOutcome
from ui.auth.callers import Caller
from ui.services.dashboard import Dashboard

SECRET_NAME = re.compile(r"key|secret|token|password|authorization|cookie", re.IGNORECASE)
HIDDEN = "(not shown)"
LONGEST_TEXT = 2_000
LONGEST_NAME = 100
MOST = 100
"""Maximum number of entries of a dictionary or list that are kept."""
LARGEST = 2**63
DEEPEST = 6
UNUSABLE = str.maketrans({"$": "·", ".": "·", chr(0): "·"})

log = logging.getLogger("ui")


@dataclass(slots=True)
class AuditNote:
    """Filled in by the change while it is made."""

    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)
    settings_version: int | None = None
    """The version of the settings that the change led to: its entry gets the time of that version, so that history and
    audit log say one time of one change."""


@asynccontextmanager
async def auditing(
    dashboard: Dashboard, caller: Caller, action: str, target: str, on_behalf: str = ""
) -> AsyncIterator[AuditNote]:
    """Wrap a change. An error that is an answer to the caller ends the entry as rejected, any other as failed.

    Raises StoreError if the entry cannot be written; then nothing may be changed.
    """
    audit, note = dashboard.reader.audit, AuditNote()
    kept = await audit.begin(entry_by(caller, action, target, on_behalf))
    try:
        yield note
    except BaseException as error:
        await _end(
            dashboard, kept.entry_id, "failed" if is_outcome_unknown(error) else "rejected", note, reason_of(error)
        )
        raise
    await _end(dashboard, kept.entry_id, "done", note, at=await _done_at(dashboard, note, kept.at))


async def audit_rejection(dashboard: Dashboard, caller: Caller, action: str, target: str, reason: str) -> None:
    """Record a change that was not allowed; while MongoDB is down, only the log has it.

    Rate-limited. Call it on the server's loop.
    """
    if dashboard.access.audited_rejections.take("all"):
        return
    try:
        kept = await dashboard.reader.audit.begin(entry_by(caller, action, target))
        await dashboard.reader.audit.end(kept.entry_id, "rejected", {}, {}, reason)
    except StoreError as error:
        log.warning("rejection not recorded", extra={"action": action, "who": caller.name, "reason": str(error)})


def entry_by(caller: Caller, action: str, target: str, on_behalf: str = "") -> AuditEntry:
    return AuditEntry(
        entry_id=uuid4().hex,
        who=caller.name,
        role=caller.role,
        means=caller.means,
        address=caller.address,
        action=action,
        target=target[:LONGEST_TEXT],
        on_behalf=on_behalf,
    )


def is_outcome_unknown(error: BaseException) -> bool:
    """Return whether nobody knows if the change was made: the store went down meanwhile, or the process is ending."""
    if isinstance(error, VersionConflictError):
        return False
    return isinstance(error, StoreError | TimeoutError | OSError) or not isinstance(error, Exception)


def reason_of(error: BaseException) -> str:
    """Return the text that the caller gets."""
    detail = getattr(error, "detail", None)
    words = detail if isinstance(detail, str) else str(error)
    return (words or type(error).__name__)[:LONGEST_TEXT].encode(errors="replace").decode()


def shown_safely(values: Mapping[str, object]) -> dict[str, object]:
    """Return the values so that they are safe to store and show: secrets by name are hidden, long values are cut."""
    return {name: _shown(value, DEEPEST) for name, value in _without_secrets(values).items()}


def _without_secrets(values: Mapping[str, object]) -> dict[str, object]:
    return {
        _name(name): HIDDEN if SECRET_NAME.search(str(name)) else value for name, value in islice(values.items(), MOST)
    }


def _name(name: object) -> str:
    """Return the name as MongoDB allows it for a field."""
    return str(name)[:LONGEST_NAME].encode(errors="replace").decode().translate(UNUSABLE) or "·"


def _shown(value: object, depth: int) -> object:
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {name: _shown(inner, depth - 1) for name, inner in _without_secrets(value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(inner, depth - 1) for inner in islice(value, MOST)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < LARGEST:
        return value
    return str(value)[:LONGEST_TEXT].encode(errors="replace").decode()


async def _done_at(dashboard: Dashboard, note: AuditNote, began_at: int) -> int | None:
    """Return the time of the version that the change made; None if it made none, or while the store is away."""
    if note.settings_version is None:
        return None
    try:
        at = await dashboard.reader.settings_changed_at(note.settings_version)
    except StoreError:
        return None
    # an older one was in force already: nothing changed
    return at if at is not None and at >= began_at else None


async def _end(
    dashboard: Dashboard,
    entry_id: str,
    outcome: AuditOutcome,
    note: AuditNote,
    reason: str = "",
    *,
    at: int | None = None,
) -> None:
    """Record how the change ended. The change stands either way; if this cannot be written, the entry stays
    `started`."""
    try:
        before, after = shown_safely(note.before), shown_safely(note.after)
        await dashboard.reader.audit.end(entry_id, outcome, before, after, reason, at)
    except StoreError as error:
        log.error("end of a change not recorded", extra={"entry": entry_id, "outcome": outcome, "reason": str(error)})


async def newest_entries(dashboard: Dashboard, most: int) -> tuple[AuditEntry, ...]:
    """Return the newest entries. Raises StoreError."""
    return (await dashboard.reader.audit.page(AuditFilter(), None, most)).items
