"""The page: Streamlit runs this file as a script, once per visit and once per click. Nothing here may block or poll."""

import streamlit

from ui.page_parts.page_frame import style_page
from ui.pages.apps import render_apps
from ui.pages.arbitrage import render_arbitrage
from ui.pages.backtests import render_backtests
from ui.pages.bots import render_bots
from ui.pages.header import render_header
from ui.pages.health import render_health
from ui.pages.live import render_live
from ui.pages.market import render_market
from ui.pages.opportunities import render_opportunities
from ui.pages.signals import render_signals
from ui.pages.trades import render_trades


def main() -> None:
    style_page()
    render_header()
    pages = [
        streamlit.Page(render_live, title="Live", default=True),
        streamlit.Page(render_market, title="Market", url_path="market"),
        streamlit.Page(render_opportunities, title="Opportunities", url_path="opportunities"),
        streamlit.Page(render_trades, title="Trades & P&L", url_path="trades"),
        streamlit.Page(render_bots, title="Bots & thresholds", url_path="bots"),
        streamlit.Page(render_backtests, title="Backtests", url_path="backtests"),
        streamlit.Page(render_apps, title="Apps", url_path="apps"),
        streamlit.Page(render_signals, title="Signals", url_path="signals"),
        streamlit.Page(render_health, title="Health", url_path="health"),
        # opened from a row of a list
        streamlit.Page(render_arbitrage, title="Arbitrage", url_path="arbitrage", visibility="hidden"),
    ]
    streamlit.navigation(pages, position="top").run()


main()
