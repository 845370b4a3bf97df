"""The page Backtests: choose a tick set and parameters, start, follow, compare, read the report."""

import streamlit

from store.errors import StoreError
from store.records.backtest_requests import TickSetSummary
from ui.page_parts.own_component import own_component
from ui.page_parts.page_actions import render_outcome, store_outcome
from ui.page_parts.page_frame import dashboard_or_reason
from ui.page_parts.page_sign_in import require_operator
from ui.page_parts.page_times import moment, shown_zone
from ui.panels.backtest_actions import end_backtest, fee_tiers_of, known_jobs, known_tick_sets, start_backtest
from ui.panels.backtest_list import render_jobs
from ui.services.dashboard import Dashboard
from ui.services.settings_fields import FIRST, TOPICS, setting_label
from wording.labels import BACKTEST_FIELDS as LABELS

PLACE = "backtests"
RECORDINGS = "recordings_view"
PREFIX = "backtest."
EMPTY = "from the tick set"
THRESHOLDS = ("min_net_bps", "max_notional", "max_total_notional", "cool_down_ms")
SWEPT = ("fee_bps", "latency_ms")
"""Parameters that a sweep varies beside settings."""
PLAIN = ("tick_set", "fee_bps", "latency_ms", "seed", "failed_percent")


def render_backtests() -> None:
    """Draw the whole page, or a reason if it cannot be drawn."""
    streamlit.header("Backtests", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    try:
        tick_sets, jobs = known_tick_sets(dashboard), known_jobs(dashboard)
    except (StoreError, TimeoutError):
        streamlit.error("MongoDB does not answer. Try again in a moment.")
        return
    render_outcome(PLACE)
    require_operator(dashboard)
    # its `started` draws the page again, with the backtest among those that are queued
    own_component("recordings_view")(key=RECORDINGS, data={"sets": bool(tick_sets)}, on_started_change=lambda: None)
    if tick_sets:
        _render_form(dashboard, tick_sets)
        swept = {"sets": [one.name for one in tick_sets], "parameters": _parameters()}
        own_component("sweep_view")(key="sweep_view", data=swept, on_started_change=lambda: None)
    render_jobs(dashboard, jobs, _end)
    own_component("comparison_view")(key="comparison_view")


def _parameters() -> list[tuple[str, str]]:
    """Return name and label of what a sweep from the page may vary."""
    fields = (field for group in (FIRST, *TOPICS) for field in group.fields if not field.choices)
    return [*((field.name, setting_label(field.name)) for field in fields), *((name, LABELS[name]) for name in SWEPT)]


def _render_form(dashboard: Dashboard, tick_sets: list[TickSetSummary]) -> None:
    titles = {one.name: set_words(one) for one in tick_sets}
    with streamlit.form("backtest", border=True):
        streamlit.selectbox(LABELS["tick_set"], list(titles), format_func=titles.__getitem__, key=f"{PREFIX}tick_set")
        columns = streamlit.columns(4, gap="medium")
        for column, name in zip(columns, THRESHOLDS, strict=True):
            column.text_input(LABELS[name], key=f"{PREFIX}{name}", placeholder=EMPTY)
        columns = streamlit.columns(4, gap="medium")
        columns[0].text_input(LABELS["fee_bps"], key=f"{PREFIX}fee_bps", placeholder=EMPTY)
        columns[1].text_input(LABELS["latency_ms"], key=f"{PREFIX}latency_ms", placeholder="50")
        columns[2].text_input(LABELS["failed_percent"], key=f"{PREFIX}failed_percent", placeholder="0")
        columns[3].text_input(LABELS["seed"], "1", key=f"{PREFIX}seed")
        streamlit.text_input(
            LABELS["fee_tiers"],
            key=f"{PREFIX}fee_tiers",
            placeholder="none",
            help="exchange=volume:bps,volume:bps, the volume of 30 days, exchanges separated by spaces: "
            "kraken=0:26,50000:24",
        )
        streamlit.form_submit_button("Start backtest", type="primary", on_click=_start, args=(dashboard,))


def _start(dashboard: Dashboard) -> None:
    """Start a backtest. As a callback it runs before the script, so it sees the form as it was sent."""
    state = streamlit.session_state
    entered: dict[str, object] = {name: str(state.get(f"{PREFIX}{name}") or "").strip() for name in PLAIN}
    typed = {name: str(state.get(f"{PREFIX}{name}", "")).strip() for name in THRESHOLDS}
    entered["settings"] = {name: text for name, text in typed.items() if text}
    entered["fee_tiers"] = fee_tiers_of(str(state.get(f"{PREFIX}fee_tiers", "")))
    store_outcome(PLACE, start_backtest(dashboard, entered))


def _end(dashboard: Dashboard, job_id: str) -> None:
    store_outcome(PLACE, end_backtest(dashboard, job_id))


def set_words(one: TickSetSummary) -> str:
    zone = shown_zone()
    span = f"{moment(one.start_time, zone)} to {moment(one.end_time, zone)}"
    made_of = "quotes, from bars" if one.is_of_bars else "quotes"
    name = one.title if one.name in one.title else f"{one.name}: {one.title}"
    return f"{name} ({one.quotes:,} {made_of}, {span})"
