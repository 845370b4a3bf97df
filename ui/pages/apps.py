"""The page Apps: write stream apps, try, publish, watch and ask them."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import dashboard_or_reason
from ui.page_parts.page_sign_in import render_signing_in


def render_apps() -> None:
    """Draw the page. All of it but the frame is a script of its own, which talks to REST."""
    streamlit.header("Apps", anchor=False)
    dashboard = dashboard_or_reason()
    if dashboard is None:
        return
    render_signing_in(dashboard)
    own_component("apps_page")(key="apps_page")
