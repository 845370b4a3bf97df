"""Shared by all pages: title and style, and access to the running dashboard."""

from pathlib import Path

import streamlit

from session.session import Session
from ui.errors import UiError
from ui.page_parts.page_sign_in import render_signing_in, signed_in
from ui.services.dashboard import Dashboard, running

ICON = Path(__file__).parents[1] / "assets/icon.svg"

PAGE_CSS = """
<style>
:root { --navigation: 3.75rem; }
.stMain [data-testid="stMainBlockContainer"] { padding: var(--navigation) 1.5rem 3rem; max-width: 1680px; }
/* what scrolls goes below the navigation and out of sight, and the head stays under it */
[data-testid="stHeader"], [data-testid="stToolbar"] { height: var(--navigation); min-height: 0; }
[data-testid="stHeader"] { background: light-dark(#f6f7f9, #0d1117); }
[data-testid="stLayoutWrapper"]:has(> .st-key-page_head) { position: sticky; top: var(--navigation); z-index: 50; }
/* Streamlit's own, with a button "Stop" that stops nothing but the drawing of a page */
[data-testid="stStatusWidget"] { display: none !important; }
.st-key-page_head { min-height: 51px; }
/* what looks again by itself is never out of date while a script runs: Streamlit would dim it every few seconds */
.st-key-page_head, .st-key-page_header, .st-key-live, [data-stale="true"] {
  opacity: 1 !important; transition: none !important; }
/* what was green when the connection was lost need not be so now */
:root:is([data-feed="stale"], [data-feed="reconnecting"])
  .stMain [data-testid="stElementContainer"]:not(.st-key-page_header) { filter: grayscale(1); }
[data-testid="stHeading"] :is(h2, h3)[id] { scroll-margin-top: calc(var(--navigation) + var(--head, 3.5rem) + 8px); }
[data-testid="stMain"] [data-testid="stHeading"] h2 { font-size: 1.5rem; padding: 0.5rem 0 0.75rem; }
[data-testid="stMain"] [data-testid="stHeading"] h3 { font-size: 1.1rem; padding: 0.4rem 0 0.35rem; }
/* Streamlit's own are too faint to be read by everybody */
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p {
  color: light-dark(#565c64, #a3a9b3); opacity: 1 !important; }
[data-testid^="stBaseButton-primary"]:enabled, [data-testid^="stBaseButton-primary"]:enabled p {
  color: light-dark(#fff, #06101f); }
/* on a wall nobody clicks: the links give their room away, the button that halts stays */
:root[data-wall] { --navigation: 2.75rem; }
:root[data-wall] [data-testid="stHeader"] :is(a, button) { visibility: hidden; }
:root[data-wall] .stMain [data-testid="stMainBlockContainer"] { zoom: 1.25; max-width: none; }
@media (max-width: 640px) {
  :root { --navigation: 2.75rem; }
  .st-key-page_head { min-height: 84px; }
  .stMain [data-testid="stMainBlockContainer"] { padding: var(--navigation) 0.75rem 5rem; }
}
</style>
"""


MODE_TITLES: dict[str, str] = {
    "paper": "Paper trading",
    "public": "Paper on live prices",
    "replay": "Paper trading · replay",
    "sandbox": "Sandbox trading",
    "live": "LIVE TRADING",
}
"""By `session.session.Mode`, for the tab's title."""
UNKNOWN_MODE = "unknown"
"""Without a server the mode is unknown, and is not assumed to be paper."""


def style_page() -> None:
    """Set title, icon and style of every page."""
    # collapsed: otherwise Streamlit shows a sidebar until it learns that the links are at the top
    streamlit.set_page_config(
        page_title=tab_title(_session_now()), page_icon=ICON, layout="wide", initial_sidebar_state="collapsed"
    )
    streamlit.html(PAGE_CSS)


def tab_title(session: Session | None) -> str:
    """Return the tab's title, with the region if there is one: each region has its own pages, and a browser may show
    them side by side."""
    mode = "Not connected" if session is None else MODE_TITLES[session.mode]
    region = "" if session is None or session.place.region is None else f"{session.place.region} · "
    return f"{region}{mode} · cross-exchange arbitrage"


def mode_now() -> str:
    """Return the mode of the running session, or UNKNOWN_MODE."""
    session = _session_now()
    return UNKNOWN_MODE if session is None else session.mode


def _session_now() -> Session | None:
    try:
        return running().session
    except UiError:
        return None


def dashboard_or_reason() -> Dashboard | None:
    """Return the dashboard of this process. If there is none, or the user may not read, the page says why; returns
    None."""
    try:
        dashboard = running()
    except UiError as reason:
        streamlit.error(str(reason))
        return None
    if signed_in(dashboard) is None:
        streamlit.info("Reading needs an API key here.")
        render_signing_in(dashboard)
        return None
    return dashboard
