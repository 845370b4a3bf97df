"""Notices of what stream apps did to the session, and of what they want to say. Pure."""

from exchanges.labels import exchange_name
from market.decide.thresholds import exchanges_of_pair
from store.app_actions import APP
from store.records.audit_entry import AuditEntry
from store.records.notice import Notice


def notice_of_action(entry: AuditEntry) -> Notice | None:
    """Return the notice of an entry of the audit log whose author is an app; None of anybody else's."""
    if entry.role != "app" or entry.outcome != "done":
        return None
    app = entry.who.removeprefix(APP)
    is_text = entry.action == "app.notice"
    return Notice(
        notice_id=f"app:{entry.entry_id}",
        kind="apps",
        event="app_notice" if is_text else "app_acted",
        at=entry.at,
        line=f"App {app}: {entry.after.get('text', '')}" if is_text else f"App {app} {_done(entry)}",
        facts={"app": app, "action": entry.action, "target": entry.target, **_facts(entry)},
    )


def _done(entry: AuditEntry) -> str:
    _, _, name = entry.target.partition(" ")
    match entry.action:
        case "app.pause":
            return f"PAUSED {name}: nothing new begins in it"
        case "app.resume":
            return f"RESUMED {name}, which it had paused"
        case "app.threshold":
            value, before = entry.after.get("value"), entry.before.get("value")
            now = "took its own threshold off" if value is None else f"set the threshold to {value:g} bps net"
            was = "" if before is None else f" (was {before:g})"
            return f"{now} for {_subject(name)}{was}"
        case _:
            return f"took {exchange_name(entry.target)} OFF: nothing new begins there"


def _subject(name: str) -> str:
    """Return an asset, or a pair in words."""
    try:
        buy, sell = exchanges_of_pair(name)
    except ValueError:
        return name
    return f"{exchange_name(buy)} → {exchange_name(sell)}"


def _facts(entry: AuditEntry) -> dict[str, str]:
    """Return the values before and after, of those that have one."""
    known = {"before": entry.before.get("value"), "after": entry.after.get("value"), "text": entry.after.get("text")}
    return {name: str(value) for name, value in known.items() if value is not None}
