"""The form under the panel: the settings as they were when it was drawn, and what the user makes of them."""

from typing import Literal

import streamlit

from market.settings import Settings, TradingState
from ui.dashboard import Dashboard, running
from ui.errors import UiError
from ui.keys import KEY_FILE
from ui.pages.settings_changes import Outcome, history_lines, save_form, save_switch, widget_key
from ui.pages.settings_fields import COLUMNS, SettingField

SHOWN = "shown_settings"
OUTCOME = "outcome"
API_KEY = "api_key"
IS_SURE = "is_sure"
HISTORY = "history"
STATES: dict[TradingState, str] = {
    "running": "**Trading is on.**",
    "reducing": ":orange[**Nothing new is begun.**] Single legs are still unwound.",
    "halted": ":red[**Trading is halted.**] Nothing is sent any more; orders in flight are watched to their end.",
}


def show_settings() -> None:
    """Everything below the panel; without settings, the reason why there are none."""
    streamlit.subheader("Settings", anchor=False)
    try:
        dashboard = running()
    except UiError as reason:
        streamlit.error(str(reason))
        return
    newest = dashboard.hub.settings
    if newest is None:
        streamlit.info("Waiting for the first settings; they appear once the system has started.")
        streamlit.button("Look again")
        return
    shown: Settings = streamlit.session_state.setdefault(SHOWN, newest)
    _show_outcome()
    streamlit.text_input(
        "API key",
        type="password",
        key=API_KEY,
        autocomplete="off",
        placeholder="needed to change anything below",
        help=f"It lies in the file {KEY_FILE} in the data folder. It stays in this tab and is never stored.",
        width=420,
    )
    _show_switch(dashboard, newest)
    if newest.version > shown.version:
        _offer_newest(newest)
    _show_form(dashboard, shown)
    if streamlit.toggle("Show who changed what", key=HISTORY):
        streamlit.code("\n".join(history_lines(dashboard)), language=None)


def _show_outcome() -> None:
    outcome: Outcome | None = streamlit.session_state.pop(OUTCOME, None)
    if outcome is not None:
        (streamlit.success if outcome.is_good else streamlit.error)(outcome.words)


def _show_switch(dashboard: Dashboard, settings: Settings) -> None:
    """The kill switch: halting needs a second, deliberate click; it holds whatever else was changed meanwhile."""
    state = settings.trading_state
    with streamlit.container(border=True):
        streamlit.markdown(STATES[state])
        columns = streamlit.columns(3)
        with columns[0]:
            if state != "halted":
                is_sure = streamlit.checkbox("I want to halt trading", key=IS_SURE)
                _switch_button(dashboard, "Halt trading", "halted", is_disabled=not is_sure)
        with columns[1]:
            if state != "reducing":
                _switch_button(dashboard, "Begin nothing new", "reducing")
        with columns[2]:
            if state != "running":
                _switch_button(dashboard, "Resume trading", "running")


def _switch_button(dashboard: Dashboard, label: str, state: TradingState, *, is_disabled: bool = False) -> None:
    kind: Literal["primary", "secondary"] = "primary" if state != "reducing" else "secondary"
    streamlit.button(label, type=kind, disabled=is_disabled, on_click=_switch, args=(dashboard, state))


def _offer_newest(newest: Settings) -> None:
    streamlit.warning(f"The settings were changed to version {newest.version} since this form was filled.")
    if streamlit.button("Fill the form with those"):
        streamlit.session_state[SHOWN] = newest
        streamlit.rerun()


def _show_form(dashboard: Dashboard, shown: Settings) -> None:
    with streamlit.form("settings", border=True):
        streamlit.caption(f"Version {shown.version}. Every change is kept: who, when, before and after.")
        columns = streamlit.columns(len(COLUMNS), gap="large")
        for column, groups in zip(columns, COLUMNS, strict=True):
            with column:
                for group in groups:
                    streamlit.markdown(f"**{group.title}**")
                    for field in group.fields:
                        _show_field(shown, field)
        with columns[-1]:
            streamlit.markdown("**Exchanges**")
            _show_exchanges(shown, dashboard.session.exchanges)
        streamlit.form_submit_button("Save settings", type="primary", on_click=_save, args=(dashboard, shown))


def _show_field(shown: Settings, field: SettingField) -> None:
    """Limits are not set on the widgets: they are checked in one place, and explained, when the form is sent."""
    value, key = getattr(shown, field.name), widget_key(field.name, shown)
    if field.choices:
        streamlit.selectbox(field.label, field.choices, field.choices.index(value), key=key)
    elif field.step is None:
        streamlit.text_input(field.label, str(value), key=key)
    else:
        streamlit.number_input(field.label, value=value, step=type(value)(field.step), key=key)


def _show_exchanges(shown: Settings, exchanges: tuple[str, ...]) -> None:
    enabled = [exchange for exchange in exchanges if exchange in shown.enabled_exchanges]
    streamlit.multiselect("Exchanges traded", exchanges, enabled, key=widget_key("enabled_exchanges", shown))
    for exchange, fee in shown.taker_fees.items():
        key = widget_key(f"taker_fees.{exchange}", shown)
        streamlit.text_input(f"Taker fee on {exchange} (fraction)", str(fee), key=key)


def _save(dashboard: Dashboard, shown: Settings) -> None:
    """Runs before the script does, so it sees the form as it was sent."""
    state = streamlit.session_state
    entered = {str(name): value for name, value in state.items()}
    outcome = save_form(dashboard, shown, entered, str(state.get(API_KEY, "")))
    state[OUTCOME] = outcome
    if outcome.settings is not None:
        state[SHOWN] = outcome.settings


def _switch(dashboard: Dashboard, trading_state: TradingState) -> None:
    state = streamlit.session_state
    state[OUTCOME] = save_switch(dashboard, trading_state, str(state.get(API_KEY, "")))
    state[IS_SURE] = False
