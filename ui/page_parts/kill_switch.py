"""The kill switch, at the top of its page in the same place always: drawn and sent by the browser alone, so that no
script has to run, or to end, before trading is halted."""

from ui.page_parts.own_component import own_component

CSS = ("assets/theme.css", "assets/steering.css")


def render_kill_switch() -> None:
    """It follows what others switch by the tab's own feed, and asks REST, which asks who may."""
    own_component("kill_switch", "assets/steering.html", CSS, "kill_switch.js")(key="kill_switch")
