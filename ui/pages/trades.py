"""The page Trades & P&L: realised P&L, and the trades."""

import streamlit

from ui.page_parts.market_choice import choose_market
from ui.page_parts.page_frame import dashboard_or_reason
from ui.panels.trades_figures import render_figures
from ui.panels.trades_list import render_cycle_trades, render_list


def render_trades() -> None:
    """Draw the whole page, or a reason if it cannot be drawn."""
    streamlit.header("Trades & P&L", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    render_figures(dashboard)
    streamlit.subheader("Trades", anchor=False)
    market = choose_market(dashboard)
    render_list(dashboard, market)
    render_cycle_trades(dashboard, market.exchange)
