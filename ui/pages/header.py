"""The head of every page: paper or real money, whether the page is live, whether trading is on, UTC or local time."""

import streamlit

from ui.page_parts.own_component import own_component
from ui.page_parts.page_frame import mode_now
from ui.page_parts.page_times import IS_LOCAL

KEY = "page_header"


def render_header() -> None:
    """Draw the head above a page; its live parts come over the tab's one WebSocket."""
    mount = own_component("page_header")
    with streamlit.container(key="page_head"):
        mount(
            key=KEY,
            data={"mode": mode_now(), "is_local": bool(streamlit.session_state.get(IS_LOCAL))},
            on_zone_change=_take_zone,
        )


def _take_zone() -> None:
    """Store the zone that the browser remembers and sends; Python then renders every time in it."""
    streamlit.session_state[IS_LOCAL] = streamlit.session_state[KEY]["zone"] == "local"
