"""The page Live: everything that moves, and the streams of apps that the browser shows there."""

from ui.page_parts.own_component import own_component
from ui.panels.regions import render_region_line


def render_live() -> None:
    render_region_line()
    own_component("live_panel")(key="live")
    own_component("app_pins")(key="app_pins")
