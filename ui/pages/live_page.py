"""The page Live: everything that moves."""

from ui.page_parts.live_panel import render_live_panel


def render_live() -> None:
    render_live_panel()
