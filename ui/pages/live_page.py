"""The page Live: everything that moves."""

from ui.page_parts.live_panel import show_live_panel


def show_live() -> None:
    show_live_panel()
