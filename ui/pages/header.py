"""The head of every page: paper or real money, whether the page is live, whether trading is on, UTC or local time."""

import streamlit

from ui.dashboard import running
from ui.errors import UiError
from ui.pages.own_component import own_component
from ui.pages.times import IS_LOCAL

KEY = "page_header"
CSS = ("assets/theme.css", "assets/header.css")
UNKNOWN_MODE = "unknown"
"""Without a server nobody can say that it is play money."""


def show_header() -> None:
    """Drawn above every page; what moves in it comes over the tab's one WebSocket."""
    mount = own_component("page_header", "assets/header.html", CSS, "header.js")
    with streamlit.container(key="page_head"):
        mount(
            key=KEY,
            data={"mode": mode_now(), "is_local": bool(streamlit.session_state.get(IS_LOCAL))},
            on_zone_change=_take_zone,
        )


def mode_now() -> str:
    """Of the running session (`market.session.Mode`), or UNKNOWN_MODE."""
    try:
        return running().session.mode
    except UiError:
        return UNKNOWN_MODE


def _take_zone() -> None:
    """The browser remembers the choice and tells it; every time that Python draws follows."""
    streamlit.session_state[IS_LOCAL] = streamlit.session_state[KEY]["zone"] == "local"
