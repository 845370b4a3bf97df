"""The page Trades & P&L: what was traded and what it brought."""

import streamlit

from ui.pages.frame import dashboard_or_reason
from ui.views import arbitrage_row

SHOWN = 50


def show_trades() -> None:
    streamlit.header("Trades & P&L", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is not None:
        newest = dashboard.snapshot().arbitrages[:SHOWN]
        streamlit.dataframe([dict(arbitrage_row(arbitrage)) for arbitrage in newest])
