"""The kill switch, at the top of its page in the same place always: halting needs a second, deliberate click."""

from functools import partial

import streamlit

from market.settings import Settings, TradingState
from ui.dashboard import Dashboard
from ui.pages.acting import acted, keep_outcome, show_outcome
from ui.tuning import SettingsMissingError, switch_trading

IS_SURE = "is_sure"
PLACE = "kill_switch"
LOOK_AGAIN_SECONDS = 2.0
STATES: dict[TradingState, str] = {
    "running": ":green[**Trading is on.**]",
    "reducing": ":orange[**Nothing new is begun.**] Single legs are still unwound.",
    "halted": ":red[**Trading is halted.**] Nothing is sent any more; orders in flight are watched to their end.",
}
SAID: dict[TradingState, str] = {
    "running": "Trading is on again.",
    "reducing": "From now on nothing new is begun.",
    "halted": "Trading is halted.",
}
CSS = """
<style>
.st-key-halt button:not(:disabled) { background: #b3202e; border-color: #b3202e; color: #fff; }
.st-key-halt button:not(:disabled):hover { background: #8f1822; border-color: #8f1822; }
.st-key-halt button:disabled { background: transparent; border-color: light-dark(#8a919c, #6b7280);
  color: light-dark(#4d5563, #a9b1bd); }
.st-key-kill_switch { min-height: 5.5rem; }
</style>
"""


def show_kill_switch(dashboard: Dashboard) -> None:
    """A fragment of its own: it follows what others switch. Nothing before the first settings."""
    streamlit.fragment(_show, run_every=LOOK_AGAIN_SECONDS)(dashboard)


def _show(dashboard: Dashboard) -> None:
    settings = dashboard.hub.settings
    if settings is None:
        return
    streamlit.html(CSS)
    with streamlit.container(border=True, key=PLACE):
        streamlit.markdown(STATES[settings.trading_state])
        with streamlit.container(horizontal=True, vertical_alignment="center", gap="small"):
            _show_buttons(dashboard, settings)
        show_outcome(PLACE)


def _show_buttons(dashboard: Dashboard, settings: Settings) -> None:
    """All of them always, so that none is where another was a moment ago."""
    state = settings.trading_state
    is_sure = streamlit.checkbox("I want to halt trading", key=IS_SURE, disabled=state == "halted")
    switch = partial(_switch, dashboard)
    streamlit.button(
        "Halt trading",
        key="halt",
        type="primary",
        disabled=state == "halted" or not is_sure,
        on_click=switch,
        args=("halted",),
    )
    streamlit.button(
        "Begin nothing new", key="reduce", disabled=state == "reducing", on_click=switch, args=("reducing",)
    )
    streamlit.button("Resume trading", key="resume", disabled=state == "running", on_click=switch, args=("running",))


def _switch(dashboard: Dashboard, state: TradingState) -> None:
    """Runs before the script does."""
    streamlit.session_state[IS_SURE] = False
    try:
        outcome = acted(
            dashboard,
            ("trading.switch", "trading_state"),
            lambda caller: switch_trading(dashboard, state, caller),
            lambda _: SAID[state],
        )
    except SettingsMissingError:
        return
    keep_outcome(PLACE, outcome)
