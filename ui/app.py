"""The page: Streamlit runs this file as a script, once per visit and once per click. Nothing here may block or poll."""

import streamlit

from ui.backtest_page import show_backtests
from ui.live_panel import show_live_panel
from ui.settings_form import show_settings

PAGE_CSS = """
<style>
[data-testid="stMainBlockContainer"] { padding: 3.75rem 1.5rem 3rem; max-width: 1680px; }
[data-testid="stHeader"] { background: transparent; pointer-events: none; }
[data-testid="stHeader"] * { pointer-events: auto; }
@media (max-width: 640px) { [data-testid="stMainBlockContainer"] { padding: 3.75rem 0.75rem 3rem; } }
</style>
"""


def main() -> None:
    streamlit.set_page_config(page_title="Paper trading · cross-exchange arbitrage", page_icon="⇄", layout="wide")
    streamlit.html(PAGE_CSS)
    pages = [
        streamlit.Page(show_trading, title="Trading", default=True),
        streamlit.Page(show_backtests, title="Backtests", url_path="backtests"),
    ]
    streamlit.navigation(pages, position="top").run()


def show_trading() -> None:
    show_live_panel()
    show_settings()


main()
