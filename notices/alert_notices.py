"""Notices of alert rules that users made. Pure."""

from store.records.audit_entry import AuditEntry
from store.records.notice import Notice

_EVENTS = {
    "alert.begin": ("alert_began", "ALERT "),
    "alert.end": ("alert_ended", "Over "),
    "alert.more": ("alerts_more", "ALERTS "),
}
"""Action → event, and how its line begins."""
TO = "to"
"""Fact of an alert's notice: the destinations that its rule names, with commas between them; all, if it names none."""


def notice_of_alert(entry: AuditEntry) -> Notice | None:
    """Return the notice of an entry of the audit log whose author is an alert rule; None of anybody else's."""
    if entry.role != "rule" or entry.outcome != "done" or entry.action not in _EVENTS:
        return None
    (event, begin), what = _EVENTS[entry.action], str(entry.after.get("what", ""))
    named = entry.after.get("to", ())
    return Notice(
        notice_id=entry.entry_id,
        kind="alerts",
        event=event,
        at=entry.at,
        line=f"{begin}{entry.target}: {what}",
        facts={
            "rule": entry.target,
            "what": what,
            "severity": str(entry.after.get("severity", "")),
            TO: ",".join(map(str, named)) if isinstance(named, list | tuple) else "",
        },
    )
