"""The live panel as a Streamlit component: the page's frame is Streamlit, what moves comes over our own WebSocket."""

from pathlib import Path

import streamlit

FOLDER = Path(__file__).parents[1]

LOADER = """
const panel = import(new URL("/assets/panel.js", window.location.origin).href);

export default function (component) {
  const parent = component.parentElement;
  let isGone = false;
  panel.then((module) => { if (!isGone) module.mount(parent); });
  return () => {
    isGone = true;
    panel.then((module) => module.unmount(parent));
  };
}
"""


def show_live_panel() -> None:
    """Draw the panel where the script is; it goes on by itself between script runs."""
    css = (FOLDER / "vendor/uplot/uPlot.min.css").read_text() + (FOLDER / "assets/panel.css").read_text()
    html = (FOLDER / "assets/panel.html").read_text()
    mount = streamlit.components.v2.component("live_panel", html=html, css=css, js=LOADER)
    mount(key="live")
