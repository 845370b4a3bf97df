"""Keys are given and revoked on the command line, with or without MongoDB: here the audit log is told of it."""

from pathlib import Path

from session.audit_entry import AuditEntry
from session.clock import SystemClock
from session.roles import OWNER
from store.errors import StoreError
from store.operations.mongo_audit import MongoAudit
from ui.auth.api_keys import keys_folder
from ui.auth.key_store import KEYS_FILE, KeyChange, KeysDamagedError, read_changes

REFRESH_SECONDS = 1.0


async def audit_key_changes(home: Path, audit: MongoAudit) -> None:
    """Until cancelled. Each change has an id of its own, so that telling it again changes nothing."""
    path, told = keys_folder(home) / KEYS_FILE, None
    while True:
        seen = _state_of(path)
        if seen is not None and seen != told:
            try:
                for change in read_changes(path.parent):
                    await audit.record(entry_of(change))
                told = seen
            except (StoreError, KeysDamagedError):
                pass  # at the next look
        await SystemClock().sleep(REFRESH_SECONDS)


def entry_of(change: KeyChange) -> AuditEntry:
    """Whoever may write into the data folder is its owner."""
    role = {"role": change.role}
    return AuditEntry(
        entry_id=change.change_id,
        who=OWNER,
        role="operator",
        means="command",
        address="",
        action=change.action,
        target=change.name,
        outcome="done",
        before=role if change.action == "key.revoke" else {},
        after=role if change.action == "key.add" else {},
        at=change.at,
    )


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
