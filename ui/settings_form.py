"""The form under the panel: the settings as they were when it was drawn, and what the user makes of them."""

import streamlit

from market.settings import Settings
from ui.dashboard import Dashboard, running
from ui.errors import UiError
from ui.keys import KEY_FILE
from ui.settings_changes import POLICIES, Outcome, history_lines, save_form, save_switch, widget_key

SHOWN = "shown_settings"
OUTCOME = "outcome"
API_KEY = "api_key"
IS_SURE = "is_sure"
HISTORY = "history"

THRESHOLDS = (
    ("min_net_bps", "Trade at or above (bps net)", 0.5),
    ("emit_net_bps", "Show at or above (bps net)", 0.5),
    ("min_share_above_10s", "Least share of the last 10 s above it (0: off)", 0.05),
    ("max_quote_age_ms", "Oldest usable quote (ms)", 100),
    ("opportunity_lifetime_ms", "Lifetime of an opportunity (ms)", 100),
)
LIMITS = (
    ("max_open_arbitrages", "Open arbitrages at most", 1),
    ("cool_down_ms", "Pause of a pair after trading it (ms)", 50),
    ("max_slippage_bps", "Slippage allowed (bps)", 0.5),
    ("single_leg_limit_bps", "Single leg: furthest price (bps)", 5.0),
    ("quarantine_deviations", "Disbelieve beyond so many deviations (0: off)", 0.5),
    ("quarantine_floor_bps", "... but never up to (bps net)", 10.0),
    ("quarantine_ceiling_bps", "Disbelieve above (bps net; 0: off)", 50.0),
)


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
    """The kill switch: stopping needs a second, deliberate click; it holds whatever else was changed meanwhile."""
    with streamlit.container(border=True):
        if settings.trading_state == "running":
            streamlit.markdown("**Trading is on.** Stopping it opens no new arbitrage; open ones are finished.")
            is_sure = streamlit.checkbox("I want to stop trading", key=IS_SURE)
            streamlit.button(
                "Stop trading", type="primary", disabled=not is_sure, on_click=_switch, args=(dashboard, False)
            )
        else:
            streamlit.markdown(":red[**Trading is stopped.**] No new arbitrage is opened.")
            streamlit.button("Resume trading", type="primary", on_click=_switch, args=(dashboard, True))


def _offer_newest(newest: Settings) -> None:
    streamlit.warning(f"The settings were changed to version {newest.version} since this form was filled.")
    if streamlit.button("Fill the form with those"):
        streamlit.session_state[SHOWN] = newest
        streamlit.rerun()


def _show_form(dashboard: Dashboard, shown: Settings) -> None:
    with streamlit.form("settings", border=True):
        streamlit.caption(f"Version {shown.version}. Every change is kept: who, when, before and after.")
        thresholds, limits, legs = streamlit.columns(3, gap="large")
        with thresholds:
            _show_numbers(shown, THRESHOLDS)
        with limits:
            label = "Largest notional per arbitrage"
            streamlit.text_input(label, str(shown.max_notional), key=widget_key("max_notional", shown))
            _show_numbers(shown, LIMITS)
        with legs:
            _show_exchanges(shown, dashboard.session.exchanges)
        streamlit.form_submit_button("Save settings", type="primary", on_click=_save, args=(dashboard, shown))


def _show_numbers(shown: Settings, fields: tuple[tuple[str, str, float], ...]) -> None:
    """Limits are not set on the widgets: they are checked in one place, and explained, when the form is sent."""
    for name, label, step in fields:
        value = getattr(shown, name)
        streamlit.number_input(label, value=value, step=type(value)(step), key=widget_key(name, shown))


def _show_exchanges(shown: Settings, exchanges: tuple[str, ...]) -> None:
    policy = POLICIES.index(shown.single_leg_policy)
    streamlit.selectbox("Single leg: what to do", POLICIES, policy, key=widget_key("single_leg_policy", shown))
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


def _switch(dashboard: Dashboard, is_on: bool) -> None:
    state = streamlit.session_state
    state[OUTCOME] = save_switch(dashboard, is_on, str(state.get(API_KEY, "")))
    state[IS_SURE] = False
