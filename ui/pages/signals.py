"""The page Signals: what stream apps say of exchanges, pairs or anything else that they watch."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason


def render_signals() -> None:
    """Draw the page. All of it but the frame is a script of its own, which talks to REST."""
    streamlit.header("Signals", anchor=False)
    if dashboard_or_reason() is not None:
        own_component("app_signals_view")(key="app_signals_view")
