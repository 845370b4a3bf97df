"""Our own parts of a page: HTML, CSS and a script of `ui/assets`, mounted as a Streamlit component."""

from dataclasses import dataclass
from pathlib import Path

import streamlit
from streamlit.components.v2.types import ComponentRenderer

FOLDER = Path(__file__).parents[1]

LOADER = """
const part = import(new URL("/assets/{script}", window.location.origin).href);

export default function (component) {{
  let isGone = false;
  part.then((module) => {{ if (!isGone) module.mount(component); }});
  return () => {{
    isGone = true;
    part.then((module) => module.unmount(component.parentElement));
  }};
}}
"""


@dataclass(frozen=True, slots=True)
class Files:
    """Files below `ui/`; `script` is a module of `ui/assets` with mount(component) and unmount."""

    html: str
    css: tuple[str, ...]
    script: str


STEERING_HTML = "assets/steering.html"
STEERING_CSS = ("assets/theme.css", "assets/steering.css")
APPS_CSS = ("vendor/uplot/uPlot.min.css", *STEERING_CSS, "assets/apps.css")
MARKET_CSS = (*STEERING_CSS, "assets/market.css")

COMPONENTS = {
    "page_header": Files("assets/header.html", ("assets/theme.css", "assets/header.css"), "header.js"),
    # Streamlit draws the page's frame; live data comes over our own WebSocket, also between script runs
    "live_panel": Files(
        "assets/panel.html", ("vendor/uplot/uPlot.min.css", "assets/theme.css", "assets/panel.css"), "panel.js"
    ),
    # drawn and sent by the browser alone, so that no script has to run, or to end, before trading is halted
    "kill_switch": Files(STEERING_HTML, STEERING_CSS, "kill_switch.js"),
    "asset_form": Files(STEERING_HTML, STEERING_CSS, "asset_form.js"),
    "settings_form": Files(STEERING_HTML, STEERING_CSS, "settings_form.js"),
    "signing_in": Files(STEERING_HTML, STEERING_CSS, "signing_in.js"),
    "table_clicks": Files(STEERING_HTML, STEERING_CSS, "table_clicks.js"),
    "apps_page": Files(STEERING_HTML, APPS_CSS, "apps_page.js"),
    "market_page": Files(STEERING_HTML, MARKET_CSS, "market_page.js"),
    "arbitrage_page": Files(STEERING_HTML, (*MARKET_CSS, "assets/arbitrage.css"), "arbitrage_page.js"),
    "alerts_view": Files(STEERING_HTML, (*STEERING_CSS, "assets/alerts.css"), "alerts_view.js"),
    "alert_rules": Files(STEERING_HTML, (*STEERING_CSS, "assets/alerts.css"), "alert_rules_view.js"),
    "limits_view": Files(STEERING_HTML, (*STEERING_CSS, "assets/alerts.css"), "limits_view.js"),
    "people_view": Files(STEERING_HTML, (*MARKET_CSS, "assets/alerts.css"), "people_view.js"),
    "recordings_view": Files(STEERING_HTML, (*MARKET_CSS, "assets/alerts.css"), "recordings_view.js"),
    "comparison_view": Files(STEERING_HTML, MARKET_CSS, "comparison_view.js"),
    "sweep_view": Files(STEERING_HTML, (*MARKET_CSS, "assets/alerts.css"), "sweep_view.js"),
    "app_signals_view": Files(STEERING_HTML, (*STEERING_CSS, "assets/apps.css"), "app_signals_view.js"),
    "app_pins": Files(STEERING_HTML, APPS_CSS, "app_pins_view.js"),
}
"""Those that steer make changes through REST, which checks the user's rights."""


def own_component(name: str) -> ComponentRenderer:
    """Return the function that mounts a component of COMPONENTS."""
    files = COMPONENTS[name]
    return streamlit.components.v2.component(
        name,
        html=(FOLDER / files.html).read_text(),
        css="".join((FOLDER / file).read_text() for file in files.css),
        js=LOADER.format(script=files.script),
    )
