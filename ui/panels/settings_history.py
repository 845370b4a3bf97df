"""Settings history, newest first, and the audit log below it."""

from collections.abc import Iterator
from datetime import tzinfo

import streamlit

from exchanges.labels import exchange_name
from market.money import decimal_of
from store.errors import StoreError
from ui.page_parts.dom_tables import Line, numbers, table, words
from ui.page_parts.page_times import moment, shown_zone
from ui.panels.audit import render_audit
from ui.rows.settings import ChangeRow, VersionRow, version_row
from ui.services.dashboard import Dashboard
from wording.number_format import UNKNOWN, fee_bps

MOST = 20
REFRESH_SECONDS = 5.0


def render_history(dashboard: Dashboard) -> None:
    """Draw a fragment that refreshes by itself."""
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    streamlit.subheader("Settings history", anchor=False)
    try:
        page = dashboard.answer(dashboard.reader.settings_history(None, MOST))
    except (StoreError, TimeoutError):
        streamlit.warning("MongoDB does not answer. Try again in a moment.")
        return
    streamlit.html(history_table([version_row(version) for version in page.items], shown_zone()))
    streamlit.subheader("Audit log", anchor=False)
    render_audit(dashboard)


def history_table(rows: list[VersionRow], zone: tzinfo) -> str:
    """Return HTML."""
    lines: list[Line] = [
        [str(row["version"]), moment(row["changed_at"], zone), row["who"], changes_text(row)] for row in rows
    ]
    return table(
        "Settings history",
        (*numbers("Version"), *words("Time", "User", "Changes")),
        lines,
        "No changes yet.",
    )


def changes_text(row: VersionRow) -> str:
    """Return `field before → after` for every change of one version."""
    return "; ".join(words for change in row["changes"] for words in _words(change)) or "defaults"


def _words(change: ChangeRow) -> Iterator[str]:
    """Yield the change in words; for fees one for each exchange, in bps as everywhere else."""
    before, after = change["before"], change["after"]
    if change["field"] != "taker_fees" or not isinstance(after, dict):
        yield f"{change['field']} {before} → {after}"
        return
    known = before if isinstance(before, dict) else {}
    for exchange, fee in after.items():
        if known.get(exchange) != fee:
            old = fee_bps(decimal_of(str(known[exchange]))) if exchange in known else UNKNOWN
            yield f"taker fee of {exchange_name(exchange)} {old} → {fee_bps(decimal_of(str(fee)))}"
