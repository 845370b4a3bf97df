"""Queued, running and finished backtests: progress with cancel, results, reports."""

from collections.abc import Callable, Sequence
from datetime import tzinfo
from functools import partial

import streamlit

from store.errors import StoreError
from store.records.backtest_requests import ENDED_STATES, BacktestJob
from ui.page_parts.dom_tables import Cell, Line, numbers, table, words
from ui.page_parts.money_cells import money_cell
from ui.page_parts.page_times import moment, shown_zone
from ui.panels.backtest_actions import changes_words, known_jobs, seconds_of, state_words
from ui.panels.backtest_comparison import render_comparison
from ui.panels.backtest_figures import BARS_WORDS, missed_cell, ratio_words, share_words, trades_cell
from ui.panels.backtest_trades import render_trades
from ui.services.dashboard import Dashboard

REFRESH_SECONDS = 2.0
LONGEST_SET_NAME = 24
HEADS = (
    *words("Requested", "By", "Tick set", "Changes", "State", "Report"),
    *numbers("Net", "Return", "Max drawdown", "Sharpe", "Missed profit", "Fees", "Trades", "Opportunities", "Run time"),
)
STATE_TONES = {"done": "good", "failed": "bad", "cancelled": "quiet"}
End = Callable[[Dashboard, str], None]


def render_jobs(dashboard: Dashboard, jobs: Sequence[BacktestJob], end: End) -> None:
    """Draw the backtests, and refresh them while one is queued or running. `end`: callback of the buttons Cancel and
    Remove."""
    is_busy = any(job.state not in ENDED_STATES for job in jobs)
    if is_busy:
        streamlit.fragment(_render_busy, run_every=REFRESH_SECONDS)(dashboard, end)
    ended = [job for job in jobs if job.state in ENDED_STATES]
    zone = shown_zone()
    streamlit.subheader("Results", anchor=False)
    streamlit.html(results_table(ended, zone))
    if ended:
        _render_removing(dashboard, ended, zone, end)
    done = [job for job in ended if job.figures is not None]
    if any(job.figures is not None and job.figures.is_of_bars for job in done):
        streamlit.caption(BARS_WORDS)
    if done:
        render_trades(dashboard, done, zone)
    if len(done) > 1:
        render_comparison(dashboard, done, zone)


def _render_busy(dashboard: Dashboard, end: End) -> None:
    try:
        jobs = known_jobs(dashboard)
    except (StoreError, TimeoutError):
        streamlit.warning("MongoDB does not answer; retrying in a moment.")
        return
    busy = [job for job in reversed(jobs) if job.state not in ENDED_STATES]
    shown: set[str] = streamlit.session_state.setdefault("backtests.busy", set())
    now = {job.job_id for job in busy}
    if shown - now:
        # one has ended: the results below belong to another part of the page
        streamlit.session_state["backtests.busy"] = now
        streamlit.rerun()
    shown |= now
    streamlit.subheader("Queued and running", anchor=False)
    for job in busy:
        _render_one(job, partial(end, dashboard, job.job_id))


def _render_one(job: BacktestJob, end: Callable[[], None]) -> None:
    title = f"{job.request.tick_set} ({changes_words(job)})"
    with streamlit.container(border=True, horizontal=True, vertical_alignment="center", gap="medium"):
        if job.state == "queued":
            streamlit.progress(0.0, f"**queued** · {title}")
        else:
            streamlit.progress(min(1.0, max(0.0, job.share)), f"**{state_words(job)}** · {title}")
        streamlit.button(
            "Cancel",
            key=f"backtests.cancel.{job.job_id}",
            on_click=end,
            disabled=job.is_cancel_asked,
            help=f"End the backtest of {job.request.tick_set}",
        )


def results_table(jobs: Sequence[BacktestJob], zone: tzinfo) -> str:
    """Return HTML."""
    return table("Finished backtests, newest first", HEADS, [_line(job, zone) for job in jobs], "None yet.")


def _line(job: BacktestJob, zone: tzinfo) -> Line:
    figures, took = job.figures, seconds_of(job)
    cells: Line = ["–"] * 8
    if figures is not None:
        cells = [
            money_cell(figures.net, figures.currency),
            share_words(figures.return_on_capital),
            money_cell(-figures.drawdown, figures.currency, is_toned=False),
            Cell(ratio_words(figures.sharpe), exact=figures.ratios),
            missed_cell(figures),
            money_cell(figures.fees, figures.currency, is_toned=False),
            trades_cell(figures),
            f"{figures.opportunities:,}",
        ]
    return [
        moment(job.asked_at, zone),
        job.who,
        _set_cell(job),
        changes_words(job),
        Cell(state_words(job), STATE_TONES.get(job.state, "")),
        Cell("open", link=f"/api/backtests/{job.job_id}/report") if job.has_report else "–",
        *cells,
        "–" if took is None else f"{took} s",
    ]


def _set_cell(job: BacktestJob) -> Cell:
    """Return the tick set's name, cut: a recorded session's name is long, and would push the figures out of the
    window."""
    name, is_of_bars = job.request.tick_set, job.figures is not None and job.figures.is_of_bars
    short = name if len(name) <= LONGEST_SET_NAME else f"{name[:10]}…"
    return Cell(f"{short} (bars)" if is_of_bars else short, exact="" if short == name else name)


def _render_removing(dashboard: Dashboard, ended: Sequence[BacktestJob], zone: tzinfo, end: End) -> None:
    titles = {job.job_id: f"{moment(job.asked_at, zone)} · {job.request.tick_set} · {job.state}" for job in ended}
    with streamlit.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = streamlit.selectbox(
            "Finished backtest",
            list(titles),
            format_func=lambda one: titles.get(one, one),
            key="backtests.chosen",
            width=460,
        )
        job = next((job for job in ended if job.job_id == chosen), None)
        if job is not None and job.has_report:
            streamlit.link_button("Open report", f"/api/backtests/{job.job_id}/report", key="backtests.open")
        streamlit.button("Remove", key="backtests.remove", on_click=end, args=(dashboard, str(chosen)))
