"""Copies changes of keys into the audit log: they are made with or without MongoDB."""

from pathlib import Path

from runtime.clock import SystemClock
from store.errors import StoreError
from store.operations.audit import MongoAudit
from store.records.audit_entry import AuditEntry
from ui.auth.api_keys import keys_folder
from ui.auth.key_store import KEYS_FILE, KeyChange, KeysDamagedError, read_changes

REFRESH_SECONDS = 1.0


async def audit_key_changes(home: Path, audit: MongoAudit) -> None:
    """Run until cancelled. Each change has an id, so recording it again changes nothing."""
    path, recorded = keys_folder(home) / KEYS_FILE, None
    while True:
        seen = _state_of(path)
        if seen is not None and seen != recorded:
            try:
                for change in read_changes(path.parent):
                    await audit.record(entry_of(change))
                recorded = seen
            except (StoreError, KeysDamagedError):
                pass  # tried again at the next refresh
        await SystemClock().sleep(REFRESH_SECONDS)


def entry_of(change: KeyChange) -> AuditEntry:
    """Return the audit entry of a change; only operators make any."""
    role = {"role": change.role}
    return AuditEntry(
        entry_id=change.change_id,
        who=change.who,
        role="operator",
        means=change.means,
        address=change.address,
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
