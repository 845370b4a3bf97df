"""Every change leaves an entry in the audit log: who, what, before, after, and how it ended, rejections included.

The entry is written before the change is tried. So a process killed in between leaves `begun`, never a change that
nobody made; and while MongoDB is away nothing is changed that could not be recorded.
"""

import logging
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import islice
from uuid import uuid4

from session.audit_entry import AuditEntry, AuditOutcome
from session.roles import Caller
from store.errors import StoreError, VersionConflictError
from store.operations.mongo_audit import AuditFilter
from ui.services.dashboard import Dashboard

SECRET_NAME = re.compile(r"key|secret|token|password|authorization|cookie", re.IGNORECASE)
HIDDEN = "(not shown)"
LONGEST_TEXT = 2_000
LONGEST_NAME = 100
MOST = 100
"""Values in a row or table."""
LARGEST = 2**63
DEEPEST = 6
UNUSABLE = str.maketrans({"$": "·", ".": "·", chr(0): "·"})

log = logging.getLogger("ui")


@dataclass(slots=True)
class AuditNote:
    """What the change fills in while it is made."""

    before: Mapping[str, object] = field(default_factory=dict)
    after: Mapping[str, object] = field(default_factory=dict)


@asynccontextmanager
async def auditing(
    dashboard: Dashboard, caller: Caller, action: str, target: str, on_behalf: str = ""
) -> AsyncIterator[AuditNote]:
    """Around a change. What it raises ends the entry as rejected, where it is an answer to the caller, else as failed.

    Raises StoreError where the entry cannot be written; then nothing is to be changed.
    """
    audit, note = dashboard.reader.audit, AuditNote()
    kept = await audit.begin(entry_by(caller, action, target, on_behalf))
    try:
        yield note
    except BaseException as error:
        await _end(dashboard, kept.entry_id, "failed" if is_unknown(error) else "rejected", note, reason_of(error))
        raise
    await _end(dashboard, kept.entry_id, "done", note)


async def audited(
    dashboard: Dashboard,
    caller: Caller,
    action: str,
    target: str,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
) -> None:
    """Record a change that was made already. Raises StoreError."""
    async with auditing(dashboard, caller, action, target) as note:
        note.before, note.after = before or {}, after or {}


async def audit_rejection(dashboard: Dashboard, caller: Caller, action: str, target: str, reason: str) -> None:
    """Record that somebody wanted to change something and may not; only the log says so where MongoDB is away.

    A flood of them is not written. On the server's loop alone.
    """
    if dashboard.access.noted_rejections.take("all"):
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


def is_unknown(error: BaseException) -> bool:
    """Whether it is open if the change was made: the store went away meanwhile, or the process is ending."""
    if isinstance(error, VersionConflictError):
        return False
    return isinstance(error, StoreError | TimeoutError | OSError) or not isinstance(error, Exception)


def reason_of(error: BaseException) -> str:
    """In the words that the caller gets."""
    detail = getattr(error, "detail", None)
    words = detail if isinstance(detail, str) else str(error)
    return (words or type(error).__name__)[:LONGEST_TEXT].encode(errors="replace").decode()


def shown_safely(values: Mapping[str, object]) -> dict[str, object]:
    """As they may be kept and shown: nothing under a name that sounds secret, nothing endless."""
    return {name: _shown(value, DEEPEST) for name, value in _unsecret(values).items()}


def _unsecret(values: Mapping[str, object]) -> dict[str, object]:
    return {
        _name(name): HIDDEN if SECRET_NAME.search(str(name)) else value for name, value in islice(values.items(), MOST)
    }


def _name(name: object) -> str:
    """One that MongoDB can hold as a field's."""
    return str(name)[:LONGEST_NAME].encode(errors="replace").decode().translate(UNUSABLE) or "·"


def _shown(value: object, depth: int) -> object:
    if depth == 0:
        return "…"
    if isinstance(value, Mapping):
        return {name: _shown(inner, depth - 1) for name, inner in _unsecret(value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_shown(inner, depth - 1) for inner in islice(value, MOST)]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < LARGEST:
        return value
    return str(value)[:LONGEST_TEXT].encode(errors="replace").decode()


async def _end(dashboard: Dashboard, entry_id: str, outcome: AuditOutcome, note: AuditNote, reason: str = "") -> None:
    """The change stands whatever becomes of this; where it cannot be written, the entry stays `begun`."""
    try:
        await dashboard.reader.audit.end(entry_id, outcome, shown_safely(note.before), shown_safely(note.after), reason)
    except StoreError as error:
        log.error("end of a change not recorded", extra={"entry": entry_id, "outcome": outcome, "reason": str(error)})


async def newest_entries(dashboard: Dashboard, most: int) -> tuple[AuditEntry, ...]:
    """Raises StoreError."""
    return (await dashboard.reader.audit.page(AuditFilter(), None, most)).items
