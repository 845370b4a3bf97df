"""Our own parts of a page: HTML, CSS and a script of `ui/assets`, mounted as a Streamlit component."""

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


def own_component(name: str, html: str, css: tuple[str, ...], script: str) -> ComponentRenderer:
    """`html` and `css` are files below `ui/`; `script` is a module of `ui/assets` with mount(component) and unmount."""
    return streamlit.components.v2.component(
        name,
        html=(FOLDER / html).read_text(),
        css="".join((FOLDER / file).read_text() for file in css),
        js=LOADER.format(script=script),
    )
