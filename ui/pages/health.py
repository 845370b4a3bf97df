"""The page Health: whether every part does its work."""

import streamlit

from ui.pages.frame import dashboard_or_reason
from ui.views import feed_row


def show_health() -> None:
    streamlit.header("Health", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is not None:
        streamlit.dataframe([dict(feed_row(feed)) for feed in dashboard.snapshot().ledger.feeds])
