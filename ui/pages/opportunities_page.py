"""The page Opportunities: statistics, and stored opportunities with their outcome."""

import streamlit

from session.labels import exchange_name
from ui.page_parts.page_frame import dashboard_or_reason
from ui.panels.opportunities_figures import render_statistics
from ui.panels.opportunities_list import render_list
from ui.rows.opportunity_rows import Span

SPANS: dict[Span, str] = {"10m": "Last 10 min", "hour": "Last hour", "session": "Session"}


def render_opportunities() -> None:
    """The whole page; a reason where it cannot be drawn."""
    streamlit.header("Opportunities", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    session = dashboard.session
    with streamlit.container(horizontal=True, vertical_alignment="top", gap="small"):
        span = streamlit.segmented_control(
            "Span", list(SPANS), default="10m", required=True, format_func=SPANS.__getitem__, key="opportunities.span"
        )
        base = streamlit.selectbox("Base", session.bases, None, key="opportunities.base", placeholder="All", width=120)
        exchange = streamlit.selectbox(
            "Exchange",
            session.exchanges,
            None,
            format_func=exchange_name,
            key="opportunities.exchange",
            placeholder="All",
            width=170,
        )
    render_statistics(dashboard, span or "10m", base, exchange)
    render_list(dashboard, base, exchange)
