"""The page Trades & P&L: what was traded, and what it brought."""

import streamlit

from ui.page_parts.page_frame import dashboard_or_reason
from ui.panels.trades_figures import show_figures
from ui.panels.trades_list import show_list


def show_trades() -> None:
    """The whole page; a reason where it cannot be drawn."""
    streamlit.header("Trades & P&L", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    show_figures(dashboard)
    show_list(dashboard)
