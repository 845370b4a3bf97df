"""The page Live: everything that moves."""

from ui.page_parts.live_panel import render_live_panel
from ui.panels.regions import render_region_line


def render_live() -> None:
    render_region_line()
    render_live_panel()
