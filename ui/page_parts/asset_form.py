"""Where an operator takes an asset off the session and back while it runs: drawn and sent by the browser alone."""

from ui.page_parts.own_component import own_component

CSS = ("assets/theme.css", "assets/steering.css")


def render_asset_form() -> None:
    """It asks REST, which asks who may; where the settings list no assets that are off, nothing is shown."""
    own_component("asset_form", "assets/steering.html", CSS, "asset_form.js")(key="asset_form")
