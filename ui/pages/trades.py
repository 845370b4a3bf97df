"""The page Trades & P&L: realised P&L, and the trades."""

import streamlit

from ui.page_parts.market_choice import choose_market
from ui.page_parts.page_frame import dashboard_or_reason
from ui.panels.trades_figures import render_figures
from ui.panels.trades_list import render_list


def render_trades() -> None:
    """Draw the whole page, or a reason if it cannot be drawn."""
    streamlit.header("Trades & P&L", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    render_figures(dashboard)
    streamlit.subheader("Trades", anchor=False)
    render_list(dashboard, choose_market(dashboard))
