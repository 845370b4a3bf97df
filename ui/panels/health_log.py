"""The log section of the page Health: the newest lines of a process's log."""

from html import escape

import streamlit

from store.errors import StoreError
from ui.services.dashboard import Dashboard
from ui.services.log_tail import LEVELS, LogLineRow, LogQuestion, LogTailRow, NoLogError, log_names, log_tail

REFRESH_SECONDS = 5.0
PART, LEVEL, TEXT, LINES = "health.log.part", "health.log.level", "health.log.text", "health.log.lines"
LINE_CHOICES = (50, 100, 200, 500)
NO_STORE = "MongoDB does not answer, so the list of processes is not known. Try again in a moment."
NO_LOGS = "No process of this session has a log on this machine: they run elsewhere or were started by hand."
CSS = """
<style>
.log { height: 380px; overflow: auto; border: 1px solid color-mix(in srgb, currentColor 16%, transparent); padding: 8px;
  border-radius: 6px; font: 12px/1.5 ui-monospace, monospace; display: flex; flex-direction: column-reverse; }
.log:focus-visible { outline: 2px solid light-dark(#1f6feb, #4b9bff); }
.log ol { list-style: none; margin: 0 0 auto; padding: 0; }
.log li { margin: 0; padding: 1px 0; overflow-wrap: anywhere; font-size: 12px; }
.log .quiet { color: color-mix(in srgb, currentColor 72%, transparent); }
.log .ERROR, .log .CRITICAL { color: light-dark(#b3202e, #ff8b92); }
.log .WARNING { color: light-dark(#7a4f00, #f2c14e); }
</style>
"""


def render_log(dashboard: Dashboard) -> None:
    """Draw a section that refreshes by itself."""
    streamlit.subheader("Log", anchor="log")
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)


def _render(dashboard: Dashboard) -> None:
    home = dashboard.session.home
    try:
        parts = dashboard.answer(dashboard.health.part_names())
    except (StoreError, TimeoutError):
        streamlit.warning(NO_STORE)
        return
    names = log_names(home, parts)
    if not names:
        streamlit.info(NO_LOGS)
        return
    columns = streamlit.columns([2, 2, 3, 1])
    part = columns[0].selectbox("Part", names, index=names.index("cep") if "cep" in names else 0, key=PART)
    level = columns[1].selectbox("Minimum level", LEVELS, index=1, key=LEVEL)
    text = columns[2].text_input("Contains", key=TEXT, max_chars=200, placeholder="an id, an exchange, a word")
    lines = columns[3].selectbox("Lines", LINE_CHOICES, index=1, key=LINES)
    try:
        tail = log_tail(home, part, parts, LogQuestion(lines, level, text.strip()))
    except NoLogError as reason:
        streamlit.info(str(reason))
        return
    streamlit.html(log_lines(tail))


def log_lines(tail: LogTailRow) -> str:
    """Return HTML: the newest lines at the bottom, scrolled into view."""
    items = "".join(_line(row) for row in tail["lines"]) or "<li>No lines match.</li>"
    more = "" if tail["is_complete"] else '<li class="quiet">… older lines are in the file itself</li>'
    label = escape(f"Log of {tail['part']}", quote=True)
    return f'{CSS}<div class="log" role="region" aria-label="{label}" tabindex="0"><ol>{more}{items}</ol></div>'


def _line(row: LogLineRow) -> str:
    fields = " ".join(f"{name}={value}" for name, value in row["fields"].items())
    level = row["level"] if row["level"] in LEVELS else ""
    begin = " ".join(filter(None, (row["time"], row["level"] if row["time"] else None, row["logger"])))
    return (
        f'<li><span class="quiet">{escape(begin)}</span> <span class="{level}">{escape(row["event"])}</span> '
        f'<span class="quiet">{escape(fields)}</span></li>'
    )
