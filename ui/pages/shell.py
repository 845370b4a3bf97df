"""The HTML file that Streamlit's script starts from, with our title, icon and style, and the address of the server.

Below a page's path Streamlit's script would look for its server in two places, and the first does not exist: two
requests that fail on each visit, which the browser reports as errors. A style that came only with the first run of the
script would shift what is already drawn.

The button that halts trading stands in the file itself, with its style and script: it is there with the first paint and
needs neither Streamlit's script nor any other file. So do links at the bottom, for narrow pages, where Streamlit folds
its own away.

The scripts of our own parts are named here as well: the browser loads them beside Streamlit's own. Otherwise it would
ask for them once Streamlit has drawn the part, and then for the imports of each, one level after the other.
"""

from html import escape
from pathlib import Path

import streamlit

from ui.http.page_files import ASSETS, module_chain
from ui.page_parts.page_frame import PAGE_CSS

ICON = "/assets/icon.svg"
PATHS = {
    "/": ("header.js", "panel.js", "app_pins_view.js"),
    "/market": ("header.js", "market_page.js"),
    "/arbitrage": ("header.js", "signing_in.js", "arbitrage_page.js"),
    "/opportunities": ("header.js",),
    "/trades": ("header.js", "table_clicks.js"),
    "/bots": (
        "header.js",
        "signing_in.js",
        "kill_switch.js",
        "asset_form.js",
        "limits_view.js",
        "settings_form.js",
        "people_view.js",
    ),
    "/backtests": ("header.js", "signing_in.js", "recordings_view.js", "sweep_view.js", "comparison_view.js"),
    "/apps": ("header.js", "signing_in.js", "apps_page.js"),
    "/signals": ("header.js", "app_signals_view.js"),
    "/health": ("header.js", "alerts_view.js", "alert_rules_view.js"),
}
"""Page of `ui/script/app.py` → the scripts of our parts on it (`own_component`)."""
ON_PHONES = {"/": "Live", "/market": "Market", "/trades": "Trades", "/bots": "Bots", "/health": "Health"}
PLOT = '<script defer src="/vendor/uplot/uPlot.iife.min.js"></script>'
"""For the charts of Live; `charts.js` loads it if a visit began on another page."""
EDITOR = '<link rel="modulepreload" href="/vendor/codemirror/codemirror.js">'
"""For the texts of Apps."""
CANDLES = '<link rel="modulepreload" href="/vendor/lightweight-charts/lightweight-charts.standalone.production.mjs">'
"""For the charts of Market."""
STREAMLIT = Path(streamlit.__file__).parent / "static/index.html"
SERVER = '<script>window.__streamlit = { BACKEND_BASE_URL: window.location.origin + "/" };</script>'
ROOT = '<div id="root"></div>'
OURS = {
    "<title>Streamlit</title>": f"<title>Cross-exchange arbitrage</title>{SERVER}{PAGE_CSS}",
    'href="./favicon.png"': f'href="{ICON}"',
}


def page_shell(path: str = "/") -> str:
    """Return the HTML of the page at `path`, one of PATHS. Parts that an unknown release of Streamlit writes
    differently stay as they are: the page works without our changes, too."""
    html = STREAMLIT.read_text()
    for theirs, ours in OURS.items():
        html = html.replace(theirs, ours)
    html = html.replace(ROOT, f"{halt_button()}{bottom_links(path)}{ROOT}")
    return html.replace("</head>", f"{early_scripts(PATHS[path])}</head>")


def halt_button() -> str:
    """Return the button, its dialog, style and script."""
    html, css, script = ((ASSETS / f"halt.{kind}").read_text() for kind in ("html", "css", "js"))
    return f"{html}<style>{css}</style><script>{script}</script>"


def bottom_links(path: str) -> str:
    """Return the links, with their style and script."""
    here = {True: ' aria-current="page"', False: ""}
    links = "".join(f'<a href="{to}"{here[to == path]}>{escape(name)}</a>' for to, name in ON_PHONES.items())
    style = f"<style>{(ASSETS / 'bottom.css').read_text()}</style>"
    script = '<script type="module" src="/assets/bottom_links.js"></script>'
    return f'{style}<nav id="bottom" aria-label="Main pages">{links}</nav>{script}'


def early_scripts(scripts: tuple[str, ...]) -> str:
    """Return the links by which a browser loads these scripts and all that they import at once."""
    links = "".join(f'<link rel="modulepreload" href="/assets/{name}">' for name in module_chain(scripts))
    own = {"panel.js": PLOT, "apps_page.js": EDITOR, "market_page.js": CANDLES}
    return links + "".join(link for script, link in own.items() if script in scripts)
