"""The audit log, for operators: the newest entries, rejected attempts included."""

from collections.abc import Mapping

import streamlit

from store.errors import StoreError
from ui.api.audit_routes import AuditRow
from ui.page_parts.dom_tables import Cell, Line, table, words
from ui.page_parts.page_sign_in import operator_of
from ui.page_parts.page_times import moment, shown_zone
from ui.rows.attribute import row_from
from ui.services.change_audit import newest_entries
from ui.services.dashboard import Dashboard
from wording.number_format import UNKNOWN

SHOWN = 20
HEADS = words("Time", "User", "Address", "Action", "Target", "Outcome", "Before → after")
TONES = {"done": "good", "rejected": "bad", "failed": "bad", "started": "quiet"}
LONGEST = 120


def render_audit(dashboard: Dashboard) -> None:
    """Draw the table for a signed-in operator, else one line that says who may read it."""
    if operator_of(dashboard) is None:
        streamlit.caption("The audit log is shown to signed-in operators.")
        return
    try:
        entries = dashboard.answer(newest_entries(dashboard, SHOWN))
    except (StoreError, TimeoutError):
        streamlit.warning("MongoDB does not answer. Try again in a moment.")
        return
    rows = [_line(row_from(AuditRow, entry)) for entry in entries]
    streamlit.html(table("Audit log", HEADS, rows, "No changes yet."))


def _line(row: AuditRow) -> Line:
    behalf = f" for {row['on_behalf']}" if row["on_behalf"] else ""
    place = row["address"] or row["means"]
    outcome = f"{row['outcome']}: {row['reason']}" if row["reason"] else row["outcome"]
    changes = _changes(row)
    return [
        moment(row["at"], shown_zone()),
        f"{row['who']}{behalf}",
        place,
        row["action"],
        _cut(row["target"]),
        _cut(outcome, TONES.get(row["outcome"], "")),
        _cut(changes),
    ]


def _changes(row: AuditRow) -> str:
    names = dict.fromkeys((*row["before"], *row["after"]))
    before, after = row["before"], row["after"]
    return ", ".join(
        f"{name} {value_words(before.get(name, UNKNOWN))} → {value_words(after.get(name, UNKNOWN))}" for name in names
    )


def value_words(value: object) -> str:
    """Return a setting's value as people write it: `alpha, beta`, `BTC 5000`, `none`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {value_words(each)}" for name, each in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(map(value_words, value)) or "none"
    return "none" if value is None else str(value)


def _cut(text: str, tone: str = "") -> Cell:
    return Cell(text, tone) if len(text) <= LONGEST else Cell(f"{text[:LONGEST]}…", tone, text)
