"""The page Opportunities: statistics, and stored opportunities with their outcome."""

import streamlit

from ui.page_parts.market_choice import choose_market
from ui.page_parts.page_frame import dashboard_or_reason
from ui.panels.opportunities_figures import render_statistics
from ui.panels.opportunities_list import render_cycle_rejections, render_list
from ui.rows.opportunity import Span

SPANS: dict[Span, str] = {"10m": "Last 10 min", "hour": "Last hour", "session": "Session"}


def render_opportunities() -> None:
    """Draw the whole page, or a reason if it cannot be drawn."""
    streamlit.header("Opportunities", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    with streamlit.container(horizontal=True, vertical_alignment="top", gap="small"):
        span = streamlit.segmented_control(
            "Span", list(SPANS), default="10m", required=True, format_func=SPANS.__getitem__, key="opportunities.span"
        )
        market = choose_market(dashboard)
    render_statistics(dashboard, span or "10m", market.base, market.exchange)
    render_list(dashboard, span or "10m", market.base, market.exchange)
    render_cycle_rejections(dashboard, market.exchange)
