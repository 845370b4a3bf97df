"""The page Bots & thresholds as a script (no browser): it steers the bots as REST does."""

import json
from dataclasses import replace

from streamlit.testing.v1 import AppTest

from market.accounting.differences import DifferenceKind, StoredDifference
from market.decide.settings import Settings
from store.records.processes import ProcessOrder
from tests.ui.pages.tabs import sign_in
from tests.ui.reported import process_named, reported
from tests.ui.waiting import until
from ui.services.dashboard import Dashboard
from wording.labels import DIFFERENCES

SECONDS = 30
SCRIPT = "from ui.pages.bots import render_bots; render_bots()"


def page() -> AppTest:
    return AppTest.from_string(SCRIPT, default_timeout=SECONDS).run()


def settings_now(dashboard: Dashboard) -> Settings:
    settings = dashboard.answer(dashboard.reader.settings.current())
    assert settings is not None
    return settings


def changed_elsewhere(dashboard: Dashboard, **changes: object) -> Settings:
    current = settings_now(dashboard)
    changed = current.model_copy(update=changes)
    saved = dashboard.answer(dashboard.reader.settings.change(changed, current.version, "somebody else"))
    dashboard.loop.call_soon_threadsafe(dashboard.hub.apply_settings, saved)
    dashboard.answer(until_shown(dashboard, saved))
    return saved


async def until_shown(dashboard: Dashboard, settings: Settings) -> None:
    await until(lambda: dashboard.hub.settings == settings)


def signed_in(dashboard: Dashboard) -> AppTest:
    app = page()
    sign_in(app, dashboard)
    return app


def click(app: AppTest, label: str) -> AppTest:
    return next(button for button in app.button if button.label == label).click().run()


def html(app: AppTest) -> str:
    return "\n".join(one.proto.body for one in app.get("html"))


def test_without_a_server_the_page_says_so() -> None:
    app = page()
    assert not app.exception
    assert [error.value for error in app.error] == ["The dashboard's server is not running."]


def test_the_form_gets_every_field_with_its_range_and_no_value(dashboard: Dashboard) -> None:
    app = page()
    assert not app.exception
    reported = next(json.loads(one.proto.json) for one in app.get("bidi_component") if "topics" in one.proto.json)
    fields = {field["name"]: field for group in (reported["first"], *reported["topics"]) for field in group["fields"]}
    assert len(reported["first"]["fields"]) == 6
    elsewhere = {"version", "trading_state", "enabled_exchanges", "taker_fees", "market_rules", "close_now"}
    over_rest = {
        "enabled_assets",
        "disabled_assets",
        "asset_limits",
        "exchange_limits",
        "asset_thresholds",
        "pair_thresholds",
        "cycle_thresholds",
        "cycle_notionals",
    }
    assert fields.keys() | elsewhere | over_rest == set(Settings.model_fields)
    assert fields["min_net_bps"]["range"] == "−1,000 to 10,000 bps"
    assert (reported["threshold"]["range"], reported["threshold"]["unit"]) == (fields["min_net_bps"]["range"], "bps")
    assert fields["max_notional"]["range"] == "above 0, up to 10,000,000 USD"
    assert fields["single_leg_policy"]["choices"] == ["complete", "reverse", "hold"]
    assert reported["fee"]["range"] == "0 to 0.1 of the notional"
    assert reported["limit"]["unit"] == "USD"
    assert tuple(reported["bases"]) == dashboard.session.bases
    assert tuple(reported["exchanges"]) == dashboard.session.exchanges == ("alpha", "beta", "fx")
    changed_elsewhere(dashboard, min_net_bps=8.0)
    again = [json.loads(one.proto.json or "{}") for one in app.run().get("bidi_component")]
    assert reported in again, "nothing of a redraw reaches the form"


def test_the_history_says_who_changed_what(dashboard: Dashboard) -> None:
    changed_elsewhere(dashboard, min_net_bps=8.0)
    shown = html(page())
    assert "<td>somebody else</td><td>min_net_bps 5.0 → 8.0</td>" in shown
    assert "<td>start</td><td>defaults</td>" in shown


def test_each_bot_is_shown_and_stopped_and_started(dashboard: Dashboard) -> None:
    dashboard.answer(reported(dashboard.session))
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
    dashboard.answer(reported(dashboard.session))
    app = page()
    click(app, "Yes, stop feed-alpha")
    assert [error.value for error in app.error] == ["Not done: sign in with an operator's API key first."]
    assert dashboard.answer(process_named(dashboard.session, "feed-alpha")).order == ProcessOrder()


def test_without_a_supervisor_there_are_no_bots(dashboard: Dashboard) -> None:
    app = page()
    assert dashboard.session.exchanges
    assert [info.value for info in app.info] == ["No bot has been reported yet."]


def test_what_keeps_an_exchange_reduce_only_is_settled_here(dashboard: Dashboard) -> None:
    book = dashboard.reader.difference_book
    kinds: tuple[DifferenceKind, ...] = ("fill_foreign", "balance_unexplained")
    for number, kind in enumerate(kinds):
        found = StoredDifference(f"d{number}", kind, "alpha", "BTC", "10", "0", "reported", 1_000_000 + number)
        found = replace(found, cause="opportunity-7:buy" if number else "")
        dashboard.answer(book.store(found))
    app = signed_in(dashboard)
    said = [one.value for one in app.markdown if "reduce-only" in one.value]
    assert said == [
        "**alpha is reduce-only**: its account differs from our books. Acknowledge what you know of, such as a trade "
        "by hand, or adopt it as a deposit or withdrawal; then the exchange trades again."
    ]
    assert any("Fill foreign: BTC. Ours: 10; theirs: 0." in one.value for one in app.text)
    advice = [one.value for one in app.caption]
    assert DIFFERENCES["fill_foreign"] in advice
    assert any("may be the cause (opportunity-7:buy)" in one for one in advice)
    click(app, "Adopt as withdrawal")
    assert [one.settled for one in dashboard.answer(book.stored())] == ["withdrawal", None]
    click(app, "Acknowledge")
    assert [one.settled for one in dashboard.answer(book.stored())] == ["withdrawal", "acknowledged"]
    assert not any("reduce-only" in one.value for one in app.run().markdown)
    assert not app.exception
