"""The HTML file that Streamlit's script starts from, with our title, icon and style, and where the server is.

Below a page's path Streamlit's script would look for its server in two places, and the first is none: two requests that
fail on each visit, which the browser writes down as errors. A style that came with the first run of the script would
push about what stands there by then.
"""

from pathlib import Path

import streamlit

from ui.page_parts.page_frame import PAGE_CSS

ICON = "/assets/icon.svg"
PATHS = ("/", "/live", "/opportunities", "/trades", "/bots", "/backtests", "/health")
"""Of the pages that `ui/script/app.py` names."""
STREAMLIT = Path(streamlit.__file__).parent / "static/index.html"
SERVER = '<script>window.__streamlit = { BACKEND_BASE_URL: window.location.origin + "/" };</script>'
OURS = {
    "<title>Streamlit</title>": f"<title>Cross-exchange arbitrage</title>{SERVER}{PAGE_CSS}",
    'href="./favicon.png"': f'href="{ICON}"',
}


def page_shell() -> str:
    """HTML. What Streamlit writes otherwise than in the release we know stays as it is: it works without us, too."""
    html = STREAMLIT.read_text()
    for theirs, ours in OURS.items():
        html = html.replace(theirs, ours)
    return html
