"""The page Market: candles with marks, the spread between two markets, and both order books."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason


def render_market() -> None:
    """Draw the page. All of it but the frame is a script of its own, which talks to REST."""
    streamlit.header("Market", anchor=False)
    if dashboard_or_reason() is not None:
        own_component("market_page")(key="market_page")
