"""The page Market: candles with marks, the spread between two markets, and both order books."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason

MAKERS = "Charts: [TradingView Lightweight Charts™](https://www.tradingview.com/)"
"""Their licence asks for this link on the page."""


def render_market() -> None:
    """Draw the page. All of it but the frame is a script of its own, which talks to REST."""
    streamlit.header("Market", anchor=False)
    if dashboard_or_reason() is None:
        return
    own_component("market_page")(key="market_page")
    streamlit.caption(MAKERS)
