"""The page Bots & thresholds as a script (no browser): its form changes settings as REST does."""

import pytest
from streamlit.testing.v1 import AppTest

from market.settings import Settings
from tests.ui.samples import SETTINGS
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


def enter_key(app: AppTest, dashboard: Dashboard) -> AppTest:
    key = ensure_api_key(dashboard.session.home).read_text().strip()
    return app.text_input(key="api_key").input(key).run()


def save(app: AppTest) -> AppTest:
    button = next(button for button in app.button if button.label == "Save settings")
    return button.click().run()


def test_without_a_server_the_page_says_so() -> None:
    app = page()
    assert not app.exception
    assert [error.value for error in app.error] == ["The dashboard's server is not running."]


def test_the_page_shows_the_settings(dashboard: Dashboard) -> None:
    app = page()
    assert not app.exception
    assert app.number_input(key="setting.min_net_bps.1").value == SETTINGS.min_net_bps
    assert app.multiselect(key="setting.enabled_exchanges.1").value == ["alpha", "beta"]
    assert dashboard.session.exchanges == ("alpha", "beta", "fx")


def test_a_saved_change_is_in_force_with_who_and_version(dashboard: Dashboard) -> None:
    app = enter_key(page(), dashboard)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5)
    app.text_input(key="setting.taker_fees.beta.1").set_value("0.0015")
    save(app)
    assert [success.value for success in app.success] == ["Saved as version 2."]
    now = settings_now(dashboard)
    assert (now.version, now.min_net_bps, str(now.taker_fees["beta"])) == (2, 7.5, "0.0015")
    assert app.number_input(key="setting.min_net_bps.2").value == 7.5
    newest = dashboard.answer(dashboard.reader.settings_history(None, 1)).items[0]
    assert newest.who == "dashboard"


@pytest.mark.parametrize("key", ["", "wrong"])
def test_without_the_key_nothing_changes_and_the_input_stays(dashboard: Dashboard, key: str) -> None:
    app = page()
    app.text_input(key="api_key").input(key)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5)
    save(app)
    assert [error.value for error in app.error] == ["Not changed: the API key is missing or wrong."]
    assert app.number_input(key="setting.min_net_bps.1").value == 7.5
    assert settings_now(dashboard) == SETTINGS


def test_what_is_out_of_range_is_said_in_words(dashboard: Dashboard) -> None:
    app = enter_key(page(), dashboard)
    app.text_input(key="setting.max_notional.1").set_value("a lot")
    save(app)
    (error,) = app.error
    assert error.value.startswith("Not changed. max_notional: ")
    assert settings_now(dashboard) == SETTINGS


def test_saving_without_a_change_says_so(dashboard: Dashboard) -> None:
    app = save(enter_key(page(), dashboard))
    assert [success.value for success in app.success] == ["Nothing was changed."]
    assert settings_now(dashboard).version == 1


def test_a_change_made_elsewhere_meanwhile_is_not_overwritten(dashboard: Dashboard) -> None:
    app = enter_key(page(), dashboard)
    changed_elsewhere(dashboard, max_notional=SETTINGS.max_notional * 2)
    app.number_input(key="setting.min_net_bps.1").set_value(7.5)
    save(app)
    (error,) = app.error
    assert error.value.startswith("Not changed: somebody changed the settings to version 2")
    next(button for button in app.button if button.label == "Fill the form with those").click().run()
    app.number_input(key="setting.min_net_bps.2").set_value(7.5)
    save(app)
    now = settings_now(dashboard)
    assert (now.version, now.min_net_bps, now.max_notional) == (3, 7.5, SETTINGS.max_notional * 2)


def test_the_history_says_who_changed_what(dashboard: Dashboard) -> None:
    changed_elsewhere(dashboard, min_net_bps=8.0)
    app = page()
    app.toggle(key="history").set_value(True).run()
    newest, first = app.code[0].value.splitlines()
    assert newest.endswith("UTC · version 2 by somebody else: min_net_bps 5.0 → 8.0")
    assert first.endswith("UTC · version 1 by start: as shipped")


def click(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def test_the_kill_switch_needs_a_second_click_and_holds_whatever_else_changed(dashboard: Dashboard) -> None:
    app = enter_key(page(), dashboard)
    halt = next(button for button in app.button if button.label == "Halt trading")
    assert halt.disabled
    changed_elsewhere(dashboard, min_net_bps=8.0)
    app.checkbox(key="is_sure").check().run()
    click(app, "Halt trading")
    now = settings_now(dashboard)
    assert (now.trading_state, now.min_net_bps) == ("halted", 8.0)
    assert not any(button.label == "Halt trading" for button in app.button)
    for label, state in (("Begin nothing new", "reducing"), ("Resume trading", "running")):
        click(app, label)
        assert settings_now(dashboard).trading_state == state


def test_every_setting_stands_in_the_form(dashboard: Dashboard) -> None:
    fields = {field.name for groups in COLUMNS for group in groups for field in group.fields}
    elsewhere = {"version", "trading_state", "enabled_exchanges", "taker_fees"}
    assert fields | elsewhere == set(Settings.model_fields)
    shown = {element.key for kind in ("number_input", "text_input", "selectbox") for element in page().get(kind)}
    assert {f"setting.{name}.1" for name in fields} <= shown
