"""The page Bots & thresholds: kill switch, assets, bots, limits, settings, history, preview and people."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason
from ui.page_parts.page_sign_in import render_signing_in
from ui.panels.bot_actions import render_bot_actions
from ui.panels.difference_actions import render_difference_actions
from ui.panels.preview import render_preview
from ui.panels.settings_form import render_settings
from ui.panels.settings_history import render_history


def render_bots() -> None:
    """Draw the page; the kill switch is always first."""
    streamlit.header("Bots & thresholds", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    own_component("kill_switch")(key="kill_switch")
    render_signing_in(dashboard)
    own_component("asset_form")(key="asset_form")
    render_bot_actions(dashboard)
    render_difference_actions(dashboard)
    own_component("limits_view")(key="limits_view")
    render_settings(dashboard)
    render_history(dashboard)
    render_preview()
    own_component("people_view")(key="people_view")
