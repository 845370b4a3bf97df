"""The settings, each with its range, as a form that says what is not saved yet, and what somebody else changed."""

import streamlit

from market.settings import Settings
from ui.dashboard import Dashboard
from ui.pages.acting import keep_outcome, show_outcome
from ui.pages.settings_bounds import bounds_of
from ui.pages.settings_changes import (
    WHOLE,
    as_entered,
    change_lines,
    changed_fields,
    problems_of,
    widget_key,
)
from ui.pages.settings_fields import COLUMNS, FEE_UNIT, SettingField, unit_of
from ui.pages.settings_merge import carried_changes, clashing_fields, conflict_words
from ui.pages.settings_saving import save_form

SHOWN = "shown_settings"
DRAFT = "settings_draft"
"""What is not saved yet, by field: widgets forget what was typed when their page is left."""
PLACE = "settings_bar"
CSS = """
<style>
[data-testid="stLayoutWrapper"]:has(> .st-key-settings_bar) { position: sticky; top: 52px; z-index: 40; }
.st-key-settings_bar { background: light-dark(#ffffff, #0e1117); }
.st-key-settings_bar [role="alert"] * { color: light-dark(#14181f, #f4f6f9); }
@media (max-width: 640px) { [data-testid="stLayoutWrapper"]:has(> .st-key-settings_bar) { top: 84px; } }
</style>
"""
Wrong = dict[str, str]


def show_settings(dashboard: Dashboard) -> None:
    """A fragment of its own: what is typed draws nothing else of the page anew."""
    streamlit.subheader("Thresholds and limits", anchor=False)
    streamlit.html(CSS)
    streamlit.fragment(_show)(dashboard)


def _show(dashboard: Dashboard) -> None:
    # the bar stays in view as far as this container reaches
    with streamlit.container(key="settings_area"):
        _show_area(dashboard)


def _show_area(dashboard: Dashboard) -> None:
    newest = dashboard.hub.settings
    if newest is None:
        streamlit.info("Waiting for the first settings; they appear once the system has started.")
        streamlit.button("Look again")
        return
    shown = _shown(newest)
    changes = streamlit.session_state[DRAFT] = _changes(shown)
    session = dashboard.session
    wrong = problems_of(shown, changes, session.exchanges, session.settlement_currency) if changes else {}
    with streamlit.container(border=True, key=PLACE):
        _show_bar(dashboard, shown, changes, wrong)
        if clashes := clashing_fields(shown, newest, changes):
            _show_conflict(dashboard, shown, newest, clashes)
        else:
            show_outcome(PLACE)
    columns = streamlit.columns(len(COLUMNS), gap="large")
    for column, groups in zip(columns, COLUMNS, strict=True):
        with column:
            for group in groups:
                streamlit.markdown(f"**{group.title}**")
                for field in group.fields:
                    _show_field(shown, field, wrong, session.settlement_currency)
    with columns[-1]:
        streamlit.markdown("**Exchanges**")
        _show_exchanges(shown, session.exchanges, wrong)


def _shown(newest: Settings) -> Settings:
    """The version that the form was filled from; the newest unless others changed there what was changed here."""
    state = streamlit.session_state
    shown: Settings = state.setdefault(SHOWN, newest)
    state.setdefault(DRAFT, {})
    if newest.version > shown.version and not clashing_fields(shown, newest, _changes(shown)):
        _rebase(shown, newest)
        shown = newest
    return shown


def _changes(shown: Settings) -> dict[str, object]:
    state = streamlit.session_state
    typed = {str(name): value for name, value in state.items() if str(name).startswith("setting.")}
    return changed_fields(shown, as_entered(shown, state[DRAFT]) | typed)


def _show_bar(dashboard: Dashboard, shown: Settings, changes: dict[str, object], wrong: Wrong) -> None:
    lines = change_lines(shown, changes)
    with streamlit.container(horizontal=True, vertical_alignment="center", gap="small"):
        if lines:
            count = "1 unsaved change" if len(lines) == 1 else f"{len(lines)} unsaved changes"
            streamlit.markdown(
                f":orange[**● {count}**] to version {shown.version}: {'; '.join(lines)}", width="stretch"
            )
        else:
            streamlit.markdown(f"Version {shown.version}, no unsaved changes.", width="stretch")
        streamlit.button("Discard", key="discard", disabled=not changes, on_click=_fill_from, args=(shown,))
        streamlit.button("Save settings", key="save", type="primary", on_click=_save, args=(dashboard, shown))
    if WHOLE in wrong:
        streamlit.error(wrong[WHOLE])


def _show_conflict(dashboard: Dashboard, shown: Settings, newest: Settings, clashes: tuple[str, ...]) -> None:
    """Somebody else changed the same: said until it is decided, once where the attempt to save has just said it."""
    if not show_outcome(PLACE):
        words = conflict_words(dashboard, shown, newest, clashes)
        streamlit.error(f"{words[:1].upper()}{words[1:]} Nothing of yours is saved yet.")
    with streamlit.container(horizontal=True, gap="small"):
        streamlit.button("Keep my changes, on top of those", key="rebase", on_click=_rebase, args=(shown, newest))
        streamlit.button("Drop my changes", key="drop", on_click=_fill_from, args=(newest,))


def _show_field(shown: Settings, field: SettingField, wrong: Wrong, currency: str) -> None:
    """The range stands below each number, and in its place what is wrong with what was typed."""
    value, key = getattr(shown, field.name), widget_key(field.name, shown)
    _fill(key, str(value) if field.step is None else value, shown)
    with streamlit.container(gap=None):
        if field.choices:
            streamlit.selectbox(field.label, field.choices, key=key)
            return
        if field.step is None:
            streamlit.text_input(field.label, key=key)
        else:
            streamlit.number_input(field.label, step=type(value)(field.step), key=key)
        _say_range(wrong.get(field.name), bounds_of(field.name).words(unit_of(field, currency)))


def _show_exchanges(shown: Settings, exchanges: tuple[str, ...], wrong: Wrong) -> None:
    key = widget_key("enabled_exchanges", shown)
    offered = tuple(dict.fromkeys((*exchanges, *shown.enabled_exchanges)))
    _fill(key, [exchange for exchange in offered if exchange in shown.enabled_exchanges], shown)
    # a draft on top of another version may have one that neither offers
    offered = tuple(dict.fromkeys((*offered, *streamlit.session_state[key])))
    streamlit.multiselect(
        "Exchanges traded",
        offered,
        key=key,
        format_func=lambda one: one if one in exchanges else f"{one} (not in this session)",
    )
    _say_range(wrong.get("enabled_exchanges"), "")
    words = bounds_of("taker_fees").words(FEE_UNIT)
    for exchange, fee in shown.taker_fees.items():
        name = f"taker_fees.{exchange}"
        _fill(widget_key(name, shown), str(fee), shown)
        with streamlit.container(gap=None):
            streamlit.text_input(f"Taker fee on {exchange} (fraction)", key=widget_key(name, shown))
            _say_range(wrong.get(name), words)


def _fill(key: str, value: object, shown: Settings) -> None:
    """A widget that is new to this visit of the page: with what was typed before, else with the setting."""
    state = streamlit.session_state
    if key not in state:
        state[key] = as_entered(shown, state[DRAFT]).get(key, value)


def _say_range(problem: str | None, words: str) -> None:
    if problem is not None:
        streamlit.markdown(f":red[{problem}]")
    elif words:
        streamlit.caption(words)


def _save(dashboard: Dashboard, shown: Settings) -> None:
    """Runs before the script does, so it sees the form as it was sent."""
    outcome = save_form(dashboard, shown, _changes(shown))
    keep_outcome(PLACE, outcome)
    if outcome.result is not None:
        _fill_from(outcome.result)


def _rebase(shown: Settings, newest: Settings) -> None:
    """What was typed stays."""
    state = streamlit.session_state
    state[DRAFT] = carried_changes(shown, newest, _changes(shown))
    state[SHOWN] = newest


def _fill_from(settings: Settings) -> None:
    """Whatever was typed goes."""
    state = streamlit.session_state
    state[SHOWN], state[DRAFT] = settings, {}
    for key in [str(key) for key in state if str(key).startswith("setting.")]:
        del state[key]
