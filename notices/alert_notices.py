"""Notices of alert rules that users made. Pure."""

from store.records.audit_entry import AuditEntry
from store.records.notice import Notice

TO = "to"
"""Fact of an alert's notice: the destinations that its rule names, with commas between them; all, if it names none."""


def notice_of_alert(entry: AuditEntry) -> Notice | None:
    """Return the notice of an entry of the audit log whose author is an alert rule; None of anybody else's."""
    if entry.role != "rule" or entry.outcome != "done":
        return None
    is_over, what = entry.action == "alert.end", str(entry.after.get("what", ""))
    named = entry.after.get("to", ())
    return Notice(
        notice_id=entry.entry_id,
        kind="alerts",
        event="alert_ended" if is_over else "alert_began",
        at=entry.at,
        line=f"{'Over' if is_over else 'ALERT'} {entry.target}: {what}",
        facts={
            "rule": entry.target,
            "what": what,
            "severity": str(entry.after.get("severity", "")),
            TO: ",".join(map(str, named)) if isinstance(named, list | tuple) else "",
        },
    )
