"""The HTML file that Streamlit's script starts from, with our title, icon and style, and where the server is.

Below a page's path Streamlit's script would look for its server in two places, and the first is none: two requests that
fail on each visit, which the browser writes down as errors. A style that came with the first run of the script would
push about what stands there by then.

The scripts of our own parts are named here as well: the browser loads them beside Streamlit's own. Else it would ask
for them once Streamlit has drawn the part, and then for the imports of each, one level after the other.
"""

from pathlib import Path

import streamlit

from ui.http.page_files import module_chain
from ui.page_parts.page_frame import PAGE_CSS

ICON = "/assets/icon.svg"
PATHS = {
    "/": ("header.js", "panel.js"),
    "/opportunities": ("header.js",),
    "/trades": ("header.js",),
    "/bots": ("header.js", "signing_in.js", "kill_switch.js", "asset_form.js", "settings_form.js"),
    "/backtests": ("header.js",),
    "/health": ("header.js",),
}
"""Of the pages that `ui/script/app.py` names: the scripts of our parts on each (`own_component`)."""
PLOT = '<script defer src="/vendor/uplot/uPlot.iife.min.js"></script>'
"""For the charts of Live; `charts.js` loads it where a visit began on another page."""
STREAMLIT = Path(streamlit.__file__).parent / "static/index.html"
SERVER = '<script>window.__streamlit = { BACKEND_BASE_URL: window.location.origin + "/" };</script>'
OURS = {
    "<title>Streamlit</title>": f"<title>Cross-exchange arbitrage</title>{SERVER}{PAGE_CSS}",
    'href="./favicon.png"': f'href="{ICON}"',
}


def page_shell(path: str = "/") -> str:
    """HTML of the page at `path`, one of PATHS. What Streamlit writes otherwise than in the release we know stays as it
    is: it works without us, too."""
    html = STREAMLIT.read_text()
    for theirs, ours in OURS.items():
        html = html.replace(theirs, ours)
    return html.replace("</head>", f"{early_scripts(PATHS[path])}</head>")


def early_scripts(scripts: tuple[str, ...]) -> str:
    """Return the links by which a browser loads these scripts and all that they import at once."""
    links = "".join(f'<link rel="modulepreload" href="/assets/{name}">' for name in module_chain(scripts))
    return links + (PLOT if "panel.js" in scripts else "")
