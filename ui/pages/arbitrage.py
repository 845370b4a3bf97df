"""The page of one arbitrage: `/arbitrage?id=ID`, or `/arbitrage/ID`."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason


def render_arbitrage() -> None:
    """Draw the page. All of it but the frame is a script of its own, which talks to REST."""
    streamlit.header("Arbitrage", anchor=False)
    if dashboard_or_reason() is not None:
        own_component("arbitrage_page")(key="arbitrage_page")
