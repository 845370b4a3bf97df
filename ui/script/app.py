"""The page: Streamlit runs this file as a script, once per visit and once per click. Nothing here may block or poll."""

import streamlit

from ui.page_parts.page_frame import dress
from ui.pages.backtests_page import show_backtests
from ui.pages.bots_page import show_bots
from ui.pages.health_page import show_health
from ui.pages.live_page import show_live
from ui.pages.opportunities_page import show_opportunities
from ui.pages.page_header import show_header
from ui.pages.trades_page import show_trades


def main() -> None:
    dress()
    show_header()
    pages = [
        streamlit.Page(show_live, title="Live", url_path="live", default=True),
        streamlit.Page(show_opportunities, title="Opportunities", url_path="opportunities"),
        streamlit.Page(show_trades, title="Trades & P&L", url_path="trades"),
        streamlit.Page(show_bots, title="Bots & thresholds", url_path="bots"),
        streamlit.Page(show_backtests, title="Backtests", url_path="backtests"),
        streamlit.Page(show_health, title="Health", url_path="health"),
    ]
    streamlit.navigation(pages, position="top").run()


main()
