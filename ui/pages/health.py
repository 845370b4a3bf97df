"""The page Health: findings, and the state of every part."""

import streamlit

from store.errors import StoreError
from ui.page_parts.market_choice import MarketChoice, choose_market
from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason
from ui.page_parts.page_times import shown_zone
from ui.panels.health_log import render_log
from ui.panels.health_tables import (
    changes_table,
    detection_table,
    feeds_table,
    headline,
    kafka_table,
    latencies_table,
    latency_chart,
    processes_table,
    publisher_words,
    queries_table,
    stage_name,
    verdict,
)
from ui.panels.regions import render_regions
from ui.rows.health import HealthReportRow
from ui.services.dashboard import Dashboard

REFRESH_SECONDS = 3.0
STAGE = "health.stage"
NO_ANSWER = "The health report took too long. Try again in a moment."
REAL_TIME_REPORTS = (
    "Spark reports a real-time query at the end of a batch, every five minutes; rows per second and state are of "
    "that batch. That it works in between is shown by the probe row that is written to the log every two seconds "
    "and by the rows per second of `ticks` and `opportunities` under Kafka lag."
)


def render_health() -> None:
    """Draw the whole page, or a reason if it cannot be drawn."""
    streamlit.header("Health", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    streamlit.fragment(_render, run_every=REFRESH_SECONDS)(dashboard)
    own_component("alerts_view")(key="alerts_view")
    own_component("alert_rules")(key="alert_rules")
    render_regions(dashboard)
    streamlit.subheader("Feeds", anchor=False)
    streamlit.fragment(_render_streams, run_every=REFRESH_SECONDS)(dashboard, choose_market(dashboard))
    render_log(dashboard)


def _report(dashboard: Dashboard) -> HealthReportRow | None:
    """Return the report. If it takes too long, the page says so and this returns None."""
    try:
        return dashboard.answer(dashboard.health.report())
    except (StoreError, TimeoutError):
        streamlit.warning(NO_ANSWER)
        return None


def _render(dashboard: Dashboard) -> None:
    report = _report(dashboard)
    if report is None:
        return
    streamlit.html(verdict(report))
    streamlit.html(headline(report))
    _section("Processes", processes_table(report, shown_zone()))


def _render_streams(dashboard: Dashboard, market: MarketChoice) -> None:
    report, zone = _report(dashboard), shown_zone()
    if report is None:
        return
    streamlit.html(feeds_table(report, market, dashboard.session.markets))
    _section("Spark", queries_table(report, zone))
    streamlit.caption(REAL_TIME_REPORTS)
    left, right = streamlit.columns(2, gap="medium")
    with left:
        _section("Real-time query", detection_table(report))
        _section("MongoDB change streams", changes_table(report))
        streamlit.caption(publisher_words(report))
    with right:
        _section("Kafka lag", kafka_table(report))
    _render_latencies(report)


def _section(title: str, html: str) -> None:
    streamlit.subheader(title, anchor=False)
    streamlit.html(html)


def _render_latencies(report: HealthReportRow) -> None:
    streamlit.subheader("Latencies", anchor=False)
    rows = {stage_name(row): row for row in report["latencies"]}
    left, right = streamlit.columns(2, gap="medium")
    with left:
        streamlit.html(latencies_table(report))
        streamlit.caption("Arbitrages that ended since the dashboard started; p50 and p95 are estimated from buckets.")
    with right:
        chosen = streamlit.selectbox("Stage", list(rows), key=STAGE)
        streamlit.echarts_chart(
            latency_chart(rows[chosen]), height=240, key="health.latency", alt=f"Distribution of latencies: {chosen}"
        )
