"""The page of one arbitrage: `/arbitrage?id=ID`, or `/arbitrage/ID`."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason
from ui.page_parts.page_sign_in import render_signing_in


def render_arbitrage() -> None:
    """Draw the page. All of it but the frame is a script of its own, which talks to REST."""
    streamlit.header("Arbitrage", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    render_signing_in(dashboard)
    own_component("arbitrage_page")(key="arbitrage_page")
