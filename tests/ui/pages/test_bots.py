"""The page Bots & thresholds as a script (no browser): it steers the bots as REST does."""

from decimal import Decimal

import pytest
from streamlit.testing.v1 import AppTest

from market.processes import Order
from market.settings import Settings, TradingState
from tests.ui.samples import SETTINGS
from tests.ui.told import process_named, told
from tests.ui.waiting import until
from ui.dashboard import Dashboard
from ui.keys import ensure_api_key
from ui.pages.settings_fields import COLUMNS

SECONDS = 30
SCRIPT = "from ui.pages.bots import show_bots; show_bots()"


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=SECONDS).run()


def settings_now(dashboard: Dashboard) -> Settings:
    settings = dashboard.answer(dashboard.reader.settings())
    assert settings is not None
    return settings


def changed_elsewhere(dashboard: Dashboard, **changes: object) -> Settings:
    current = settings_now(dashboard)
    changed = current.model_copy(update=changes)
    saved = dashboard.answer(dashboard.reader.change_settings(changed, current.version, "somebody else"))
    dashboard.loop.call_soon_threadsafe(dashboard.hub.note_settings, saved)
    dashboard.answer(until_shown(dashboard, saved))
    return saved


async def until_shown(dashboard: Dashboard, settings: Settings) -> None:
    await until(lambda: dashboard.hub.settings == settings)


def signed_in(dashboard: Dashboard) -> AppTest:
    app = page()
    app.text_input(key="typed_key").input(ensure_api_key(dashboard.session.home).read_text().strip())
    return click(app, "Sign in")


def click(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def save(app: AppTest) -> AppTest:
    return click(app, "Save settings")


def said(app: AppTest) -> list[str]:
    """All that stands on the page in words."""
    return [one.value for one in (*app.markdown, *app.caption)]


def html(app: AppTest) -> str:
    return "\n".join(one.proto.body for one in app.get("html"))


def test_without_a_server_the_page_says_so() -> None:
    app = page()
    assert not app.exception
    assert [error.value for error in app.error] == ["The dashboard's server is not running."]


def test_the_page_shows_the_settings_with_their_ranges(dashboard: Dashboard) -> None:
    app = page()
    assert not app.exception
    assert app.number_input(key="setting.min_net_bps.1").value == SETTINGS.min_net_bps
    assert app.multiselect(key="setting.enabled_exchanges.1").value == ["alpha", "beta"]
    assert dashboard.session.exchanges == ("alpha", "beta", "fx")
    shown = said(app)
    assert {"−1,000 to 10,000 bps", "above 0, up to 10,000,000 USD", "0 to 0.1 of the notional"} <= set(shown)
    assert "Version 1, no unsaved changes." in shown


def test_a_saved_change_is_in_force_with_who_and_version(dashboard: Dashboard) -> None:
    app = signed_in(dashboard)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5).run()
    app.text_input(key="setting.taker_fees.beta.1").set_value("0.0015").run()
    unsaved = ":orange[**● 2 unsaved changes**] to version 1: min_net_bps 5.0 → 7.5; taker_fees.beta 0.0012 → 0.0015"
    assert unsaved in said(app)
    save(app)
    assert [success.value for success in app.success] == ["Saved as version 2."]
    now = settings_now(dashboard)
    assert (now.version, now.min_net_bps, str(now.taker_fees["beta"])) == (2, 7.5, "0.0015")
    assert app.number_input(key="setting.min_net_bps.2").value == 7.5
    newest = dashboard.answer(dashboard.reader.settings_history(None, 1)).items[0]
    assert newest.who == "owner"


def test_without_a_key_nothing_changes_and_the_input_stays(dashboard: Dashboard) -> None:
    app = page()
    app.number_input(key="setting.min_net_bps.1").set_value(7.5)
    save(app)
    assert [error.value for error in app.error] == ["Not done: sign in with an operator's API key first."]
    assert app.number_input(key="setting.min_net_bps.1").value == 7.5
    assert settings_now(dashboard) == SETTINGS


@pytest.mark.parametrize(
    ("entered", "words"),
    [
        ("a lot", ":red[Type a number: above 0, up to 10,000,000 USD.]"),
        ("0", ":red[Out of range: it may be above 0, up to 10,000,000 USD.]"),
    ],
)
def test_what_is_wrong_is_said_at_the_field_and_not_saved(dashboard: Dashboard, entered: str, words: str) -> None:
    app = signed_in(dashboard)
    app.text_input(key="setting.max_notional.1").set_value(entered).run()
    assert words in said(app)
    save(app)
    assert [error.value for error in app.error] == ["Not saved: see what is said at the fields."]
    assert settings_now(dashboard) == SETTINGS


def test_values_that_do_not_go_together_are_said_above_all(dashboard: Dashboard) -> None:
    app = signed_in(dashboard)
    app.number_input(key="setting.emit_net_bps.1").set_value(9.0).run()
    why = '"Trade at or above (bps net)" must not be below "Show at or above (bps net)".'
    assert [error.value for error in app.error] == [why]
    assert f"Not saved: {why}" in [error.value for error in save(app).error]


def test_saving_without_a_change_says_so_and_discarding_brings_back_what_was(dashboard: Dashboard) -> None:
    app = save(signed_in(dashboard))
    assert [success.value for success in app.success] == ["Nothing was changed."]
    app.number_input(key="setting.min_net_bps.1").set_value(7.5).run()
    click(app, "Discard")
    assert app.number_input(key="setting.min_net_bps.1").value == SETTINGS.min_net_bps
    assert settings_now(dashboard).version == 1


def test_a_change_of_the_same_made_elsewhere_is_explained_and_not_overwritten(dashboard: Dashboard) -> None:
    app = signed_in(dashboard)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5).run()
    changed_elsewhere(dashboard, min_net_bps=8.0, max_notional=SETTINGS.max_notional * 2)
    words = (
        "omebody else changed min_net_bps 5.0 → 8.0 (version 2) while you changed version 1. What you typed is kept."
    )
    save(app)
    assert [error.value for error in app.error] == [f"Not saved: s{words} Choose below what becomes of it."]
    assert settings_now(dashboard).min_net_bps == 8.0
    assert [error.value for error in app.run().error] == [f"S{words} Nothing of yours is saved yet."]
    assert app.number_input(key="setting.min_net_bps.1").value == 7.5
    click(app, "Keep my changes, on top of those")
    assert not app.error
    assert app.number_input(key="setting.min_net_bps.2").value == 7.5
    save(app)
    now = settings_now(dashboard)
    assert (now.version, now.min_net_bps, now.max_notional) == (3, 7.5, SETTINGS.max_notional * 2)


@pytest.mark.parametrize("is_seen_before", [False, True])
def test_what_others_changed_elsewhere_is_no_conflict(dashboard: Dashboard, *, is_seen_before: bool) -> None:
    app = signed_in(dashboard)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5).run()
    app.text_input(key="setting.taker_fees.beta.1").set_value("0.0015").run()
    changed_elsewhere(dashboard, trading_state="halted", taker_fees=SETTINGS.taker_fees | {"alpha": Decimal("0.002")})
    if is_seen_before:
        app.run()
        assert app.number_input(key="setting.min_net_bps.2").value == 7.5
        assert not app.error
    save(app)
    assert [success.value for success in app.success] == ["Saved as version 3."]
    now = settings_now(dashboard)
    assert (now.trading_state, now.min_net_bps) == ("halted", 7.5)
    assert now.taker_fees == {"alpha": Decimal("0.002"), "beta": Decimal("0.0015")}


def test_exchanges_of_sessions_before_are_no_change_of_ours(dashboard: Dashboard) -> None:
    """Older data have them, this session does not."""
    changed_elsewhere(
        dashboard,
        enabled_exchanges=("delta", *SETTINGS.enabled_exchanges),
        taker_fees=SETTINGS.taker_fees | {"delta": Decimal("0.001")},
    )
    app = signed_in(dashboard)
    assert "Version 2, no unsaved changes." in said(app)
    assert "delta (not in this session)" in app.multiselect(key="setting.enabled_exchanges.2").options
    app.number_input(key="setting.min_net_bps.2").set_value(7.5).run()
    assert ":orange[**● 1 unsaved change**] to version 2: min_net_bps 5.0 → 7.5" in said(app)
    save(app)
    assert [success.value for success in app.success] == ["Saved as version 3."]
    assert set(settings_now(dashboard).enabled_exchanges) == {"alpha", "beta", "delta"}


def test_one_may_drop_ones_own_instead(dashboard: Dashboard) -> None:
    app = signed_in(dashboard)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5).run()
    changed_elsewhere(dashboard, min_net_bps=8.0)
    click(app.run(), "Drop my changes")
    assert app.number_input(key="setting.min_net_bps.2").value == 8.0
    assert not app.error


def test_a_form_without_changes_follows_what_others_save(dashboard: Dashboard) -> None:
    app = page()
    changed_elsewhere(dashboard, min_net_bps=8.0)
    app.run()
    assert app.number_input(key="setting.min_net_bps.2").value == 8.0
    assert not app.error


def test_the_history_says_who_changed_what(dashboard: Dashboard) -> None:
    changed_elsewhere(dashboard, min_net_bps=8.0)
    shown = html(page())
    assert "<td>somebody else</td><td>min_net_bps 5.0 → 8.0</td>" in shown
    assert "<td>start</td><td>as shipped</td>" in shown


def test_the_kill_switch_needs_a_second_click_and_holds_whatever_else_changed(dashboard: Dashboard) -> None:
    app = signed_in(dashboard)
    halt = next(button for button in app.button if button.label == "Halt trading")
    assert halt.disabled
    changed_elsewhere(dashboard, min_net_bps=8.0)
    app.checkbox(key="is_sure").check().run()
    click(app, "Halt trading")
    now = settings_now(dashboard)
    assert (now.trading_state, now.min_net_bps) == ("halted", 8.0)
    labels = ("Halt trading", "Begin nothing new", "Resume trading")
    assert [button.disabled for button in app.button if button.label in labels] == [True, False, False]
    states: list[tuple[str, TradingState]] = [("Begin nothing new", "reducing"), ("Resume trading", "running")]
    for label, state in states:
        click(app, label)
        assert settings_now(dashboard).trading_state == state


def test_the_kill_switch_does_nothing_for_nobody(dashboard: Dashboard) -> None:
    app = page()
    app.checkbox(key="is_sure").check().run()
    click(app, "Halt trading")
    assert [error.value for error in app.error] == ["Not done: sign in with an operator's API key first."]
    assert settings_now(dashboard).trading_state == "running"


def test_every_setting_stands_in_the_form(dashboard: Dashboard) -> None:
    fields = {field.name for groups in COLUMNS for group in groups for field in group.fields}
    elsewhere = {"version", "trading_state", "enabled_exchanges", "taker_fees"}
    assert fields | elsewhere == set(Settings.model_fields)
    shown = {element.key for kind in ("number_input", "text_input", "selectbox") for element in page().get(kind)}
    labels = [field.label for groups in COLUMNS for group in groups for field in group.fields]
    assert not [label for label in labels if label.startswith("...")], "each label stands on its own"
    assert {f"setting.{name}.1" for name in fields} <= shown


def test_each_bot_is_shown_and_stopped_and_started(dashboard: Dashboard) -> None:
    dashboard.answer(told(dashboard.session))
    app = signed_in(dashboard)
    shown = html(app)
    assert 'aria-label="bot-alpha"' in shown
    assert "Standby" in shown
    assert "stopped by erika" in shown
    click(app, "Yes, stop bot-alpha")
    assert [success.value for success in app.success] == ["bot-alpha stops."]
    order = dashboard.answer(process_named(dashboard.session, "bot-alpha")).order
    assert (order.wanted, order.by) == ("stopped", "owner")
    assert "Stopped by owner at " in html(app)
    assert "<td>process.stop</td><td>bot-alpha</td>" in html(app.run())
    click(app, "Start bot-alpha")
    assert dashboard.answer(process_named(dashboard.session, "bot-alpha")).order.wanted == "running"


def test_a_feed_is_stopped_too_and_nothing_without_a_key(dashboard: Dashboard) -> None:
    dashboard.answer(told(dashboard.session))
    app = page()
    click(app, "Yes, stop feed-alpha")
    assert [error.value for error in app.error] == ["Not done: sign in with an operator's API key first."]
    assert dashboard.answer(process_named(dashboard.session, "feed-alpha")).order == Order()


def test_without_a_supervisor_there_are_no_bots(dashboard: Dashboard) -> None:
    app = page()
    assert dashboard.session.exchanges
    assert [info.value for info in app.info] == ["No supervisor has told of any bot yet."]
