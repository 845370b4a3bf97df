"""The page of backtests: choose recorded ticks and thresholds, start, look on, compare, read the report."""

from datetime import UTC, datetime

import streamlit

from market.backtests import ENDED_STATES, BacktestJob, TickSetSummary
from market.clock import MICROSECONDS
from store.errors import StoreError
from ui.dashboard import Dashboard, running
from ui.errors import UiError
from ui.keys import KEY_FILE
from ui.pages.backtest_actions import (
    changes_words,
    comparison_rows,
    end_backtest,
    known_jobs,
    known_tick_sets,
    start_backtest,
    state_words,
)
from ui.pages.settings_changes import Outcome

KEY = "backtest_key"
OUTCOME = "backtest_outcome"
LOOK_AGAIN_SECONDS = 2.0
PREFIX = "backtest."
EMPTY = "as the tick set has it"
THRESHOLDS = (
    ("min_net_bps", "Trade at or above (bps net)"),
    ("max_notional", "Most per arbitrage"),
    ("max_total_notional", "Most of all open together"),
    ("cool_down_ms", "Cool-down of a pair (ms)"),
)


def show_backtests() -> None:
    """The whole page; a reason where it cannot be drawn."""
    streamlit.header("Backtests", anchor=False)
    try:
        dashboard = running()
        tick_sets = known_tick_sets(dashboard)
    except UiError as reason:
        streamlit.error(str(reason))
        return
    except (StoreError, TimeoutError):
        streamlit.error("MongoDB does not answer. Try again in a moment.")
        return
    outcome: Outcome | None = streamlit.session_state.pop(OUTCOME, None)
    if outcome is not None:
        (streamlit.success if outcome.is_good else streamlit.error)(outcome.words)
    streamlit.text_input(
        "API key",
        type="password",
        key=KEY,
        autocomplete="off",
        placeholder="needed to start or end one",
        help=f"It lies in the file {KEY_FILE} in the data folder. It stays in this tab and is never stored.",
        width=420,
    )
    if tick_sets:
        _show_form(dashboard, tick_sets)
    else:
        streamlit.info("There are no recorded ticks yet: `arbitrage import` makes a tick set of files, or record some.")
    _show_jobs(dashboard)


def _show_form(dashboard: Dashboard, tick_sets: list[TickSetSummary]) -> None:
    titles = {one.name: _set_words(one) for one in tick_sets}
    with streamlit.form("backtest", border=True):
        streamlit.selectbox("Recorded ticks", list(titles), format_func=titles.__getitem__, key=f"{PREFIX}tick_set")
        columns = streamlit.columns(2, gap="large")
        for place, (name, label) in enumerate(THRESHOLDS):
            with columns[place % 2]:
                streamlit.text_input(label, key=f"{PREFIX}{name}", placeholder=EMPTY)
        with columns[0]:
            streamlit.text_input("Taker fee a side (bps)", key=f"{PREFIX}fee_bps", placeholder=EMPTY)
            streamlit.text_input("Seed", "1", key=f"{PREFIX}seed")
        with columns[1]:
            streamlit.text_input("Latency of orders (ms)", key=f"{PREFIX}latency_ms", placeholder=EMPTY)
        streamlit.form_submit_button("Start backtest", type="primary", on_click=_start, args=(dashboard,))


def _show_jobs(dashboard: Dashboard) -> None:
    """Looked at again by itself only while something waits or runs."""
    jobs = known_jobs(dashboard)
    is_busy = any(job.state not in ENDED_STATES for job in jobs)

    def show() -> None:
        try:
            now = known_jobs(dashboard)
        except (StoreError, TimeoutError):
            streamlit.warning("MongoDB does not answer; this is looked at again in a moment.")
            return
        if is_busy and all(job.state in ENDED_STATES for job in now):
            streamlit.rerun()
        _show_progress(now)
        _show_comparison(now)

    streamlit.fragment(show, run_every=LOOK_AGAIN_SECONDS if is_busy else None)()
    if jobs:
        _show_end(dashboard, jobs)


def _show_progress(jobs: list[BacktestJob]) -> None:
    for job in reversed(jobs):
        if job.state not in ENDED_STATES:
            words = f"{job.request.tick_set} ({changes_words(job)}): {state_words(job)}"
            streamlit.progress(min(1.0, max(0.0, job.share)), words)


def _show_comparison(jobs: list[BacktestJob]) -> None:
    if not jobs:
        streamlit.caption("None yet.")
        return
    streamlit.dataframe(
        comparison_rows(jobs),
        hide_index=True,
        column_config={
            "asked": streamlit.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm:ss", timezone="UTC"),
            "net": streamlit.column_config.NumberColumn(format="%.2f"),
            "deepest fall": streamlit.column_config.NumberColumn(format="%.2f"),
            "fees": streamlit.column_config.NumberColumn(format="%.2f"),
            "report": streamlit.column_config.LinkColumn(display_text="open"),
        },
    )


def _show_end(dashboard: Dashboard, jobs: list[BacktestJob]) -> None:
    words = {job.job_id: f"{_moment(job.asked_at)} · {job.request.tick_set} · {job.state}" for job in jobs}
    with streamlit.expander("Cancel or remove one"):
        chosen = streamlit.selectbox("Backtest", list(words), format_func=lambda one: words.get(one, one))
        streamlit.button("Cancel or remove it", on_click=_end, args=(dashboard, chosen))


def _start(dashboard: Dashboard) -> None:
    """Runs before the script does, so it sees the form as it was sent."""
    state = streamlit.session_state
    entered: dict[str, object] = {
        name: state.get(f"{PREFIX}{name}") for name in ("tick_set", "fee_bps", "latency_ms", "seed")
    }
    typed = {name: str(state.get(f"{PREFIX}{name}", "")).strip() for name, _ in THRESHOLDS}
    entered["settings"] = {name: text for name, text in typed.items() if text}
    state[OUTCOME] = start_backtest(dashboard, entered, str(state.get(KEY, "")))


def _end(dashboard: Dashboard, job_id: str) -> None:
    state = streamlit.session_state
    state[OUTCOME] = end_backtest(dashboard, job_id, str(state.get(KEY, "")))


def _set_words(one: TickSetSummary) -> str:
    span = f"{_moment(one.start_time)} to {_moment(one.end_time)}"
    return f"{one.name}: {one.title} ({one.quotes:,} quotes, {span})"


def _moment(time: int) -> str:
    return f"{datetime.fromtimestamp(time / MICROSECONDS, UTC):%Y-%m-%d %H:%M}"
