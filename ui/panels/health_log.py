"""The log section of the page Health: the newest lines of a process's log, or of all of them by time; it can be
paused, and the address opens it at a part and a text."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

import streamlit

from store.errors import StoreError
from ui.services.dashboard import Dashboard
from ui.services.log_tail import (
    LEVELS,
    LogLineRow,
    LogQuestion,
    NoLogError,
    log_names,
    log_tail,
    newest_of_all,
)

REFRESH_SECONDS = 5.0
PART, LEVEL, TEXT, LINES = "health.log.part", "health.log.level", "health.log.text", "health.log.lines"
PAUSED, SHOWN = "health.log.paused", "health.log.shown"
ALL = "all"
"""Instead of a part."""
MOST_TEXT = 200
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
    part, question = _question(names)
    state = streamlit.session_state
    asked = (part, question)
    if streamlit.toggle("Pause", key=PAUSED) and state.get(SHOWN, (None,))[0] == asked:
        streamlit.html(state[SHOWN][1])
        return
    try:
        html = _newest(home, part, parts, question)
    except NoLogError as reason:
        streamlit.info(str(reason))
        return
    state[SHOWN] = asked, html
    streamlit.html(html)


def _question(names: tuple[str, ...]) -> tuple[str, LogQuestion]:
    """Draw the fields; what the address names is chosen first."""
    options, address = (ALL, *names), streamlit.query_params
    begin = next((one for one in (address.get("log"), "cep", *names) if one in options), ALL)
    if TEXT not in streamlit.session_state:
        streamlit.session_state[TEXT] = address.get("text", "")[:MOST_TEXT]
    columns = streamlit.columns([2, 2, 3, 1])
    part = columns[0].selectbox(
        "Part",
        options,
        index=options.index(begin),
        key=PART,
        format_func=lambda one: "All parts" if one == ALL else one,
    )
    level = columns[1].selectbox("Minimum level", LEVELS, index=1, key=LEVEL)
    text = columns[2].text_input("Contains", key=TEXT, max_chars=MOST_TEXT, placeholder="an id, an exchange, a word")
    lines = columns[3].selectbox("Lines", LINE_CHOICES, index=1, key=LINES)
    return part, LogQuestion(lines, level, text.strip())


def _newest(home: Path, part: str, parts: frozenset[str], question: LogQuestion) -> str:
    if part == ALL:
        lines, is_complete = newest_of_all(home, parts, question)
        return log_lines("all parts", lines, is_complete=is_complete)
    tail = log_tail(home, part, parts, question)
    return log_lines(part, [("", row) for row in tail["lines"]], is_complete=tail["is_complete"])


def log_lines(name: str, lines: Iterable[tuple[str, LogLineRow]], *, is_complete: bool) -> str:
    """Return HTML: the newest lines at the bottom, scrolled into view. `lines`: each with its part, if that is not the
    same for all."""
    items = "".join(_line(part, row) for part, row in lines) or "<li>No lines match.</li>"
    more = "" if is_complete else '<li class="quiet">… older lines are in the files</li>'
    label = escape(f"Log of {name}", quote=True)
    return f'{CSS}<div class="log" role="region" aria-label="{label}" tabindex="0"><ol>{more}{items}</ol></div>'


def _line(part: str, row: LogLineRow) -> str:
    fields = " ".join(f"{name}={value}" for name, value in row["fields"].items())
    level = row["level"] if row["level"] in LEVELS else ""
    begin = " ".join(filter(None, (row["time"], part, row["level"] if row["time"] else None, row["logger"])))
    return (
        f'<li><span class="quiet">{escape(begin)}</span> <span class="{level}">{escape(row["event"])}</span> '
        f'<span class="quiet">{escape(fields)}</span></li>'
    )
