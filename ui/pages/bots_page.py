"""The page Bots & thresholds: what steers the bots."""

import streamlit

from ui.page_parts.kill_switch import show_kill_switch
from ui.page_parts.page_frame import dashboard_or_reason
from ui.page_parts.page_sign_in import show_signing_in
from ui.panels.bot_actions import show_bot_actions
from ui.panels.preview_panel import show_preview
from ui.panels.settings_form import show_settings
from ui.panels.settings_history import show_history


def show_bots() -> None:
    """The kill switch stands first, whatever else there is to say."""
    streamlit.header("Bots & thresholds", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    show_kill_switch()
    show_signing_in(dashboard)
    show_bot_actions(dashboard)
    show_settings(dashboard)
    show_history(dashboard)
    show_preview()
