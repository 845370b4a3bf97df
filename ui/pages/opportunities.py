"""The page Opportunities: what was seen, and what became of it."""

import streamlit

from ui.pages.frame import dashboard_or_reason
from ui.views import opportunity_row

SHOWN = 50


def show_opportunities() -> None:
    streamlit.header("Opportunities", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is not None:
        newest = dashboard.snapshot().opportunities[:SHOWN]
        streamlit.dataframe([dict(opportunity_row(opportunity)) for opportunity in newest])
