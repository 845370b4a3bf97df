"""The page Bots & thresholds: what steers the bots."""

import streamlit

from ui.pages.settings_form import show_settings


def show_bots() -> None:
    streamlit.header("Bots & thresholds", anchor=False)
    show_settings()
