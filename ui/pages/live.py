"""The page Live: everything that moves."""

from ui.page_parts.own_component import own_component
from ui.panels.regions import render_region_line


def render_live() -> None:
    render_region_line()
    own_component("live_panel")(key="live")
