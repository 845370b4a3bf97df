"""The live panel as a Streamlit component: the page's frame is Streamlit, what moves comes over our own WebSocket."""

from ui.page_parts.own_component import own_component

CSS = ("vendor/uplot/uPlot.min.css", "assets/theme.css", "assets/panel.css")


def render_live_panel() -> None:
    """Draw the panel where the script is; it goes on by itself between script runs."""
    own_component("live_panel", "assets/panel.html", CSS, "panel.js")(key="live")
