"""The settings form in Chromium: whatever is redrawn, lost or changed by others in the middle of an edit, the touched
fields are what is sent, and nothing else is."""

import re
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Request, Route, expect

from tests.ui.pages.browser import AT_REST, NEWS_MS, PAINT_MS, Scheme, Watched, opened
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from ui.auth.api_keys import ensure_api_key

pytestmark = pytest.mark.browser

PAGE = "Bots & thresholds"
TYPED = {
    "min_net_bps": "12.5",
    "emit_net_bps": "1.25",
    "min_share_above_10s": "0.25",
    "max_quote_age_ms": "2500",
    "opportunity_lifetime_ms": "1500",
    "max_slippage_bps": "7.5",
    "quarantine_deviations": "9.5",
    "quarantine_floor_bps": "160",
    "quarantine_ceiling_bps": "550",
    "max_notional": "1234.56",
    "max_total_notional": "12000",
    "max_exchange_notional": "5500",
    "max_asset_notional": "11000",
    "max_daily_loss": "900",
    "max_exposure": "4500",
    "max_currency_drift": "90000",
    "max_open_arbitrages": "12",
    "cool_down_ms": "1250",
    "place_value_share": "0.75",
    "rebalancing_bps": "2.5",
    "breaker_failures": "17",
    "breaker_window_ms": "61000",
    "breaker_pause_ms": "31000",
    "single_leg_limit_bps": "55",
    "flatten_limit_bps": "210",
    "reconcile_ms": "16000",
    "order_final_ms": "11000",
    "ma_notional": "150",
    "ma_interval_ms": "5500",
    "taker_fees.alpha": "0.0011",
    "taker_fees.beta": "0.0013",
    "asset_thresholds.BTC": "13.5",
    "asset_thresholds.ETH": "14.5",
    "exchange_limits.alpha": "5100",
    "exchange_limits.beta": "5200",
    "asset_limits.BTC": "9100",
    "asset_limits.ETH": "9200",
}
"""Another number for every number of the form, of at least two characters: redraws come between them."""
CHOSEN = {"single_leg_policy": "reverse", "ma_trading": "off"}
MONEY = {"max_notional", "max_total_notional", "max_exchange_notional", "max_asset_notional", "max_daily_loss"}
MONEY |= {"max_exposure", "max_currency_drift", "ma_notional"}


class Steering:
    """The page by somebody who signed in, and the service behind it as another program has it."""

    def __init__(self, watched: Watched, dashboard: Served) -> None:
        self.watched, self.page, self.dashboard = watched, watched.page, dashboard
        self.address = f"http://{dashboard.address}"
        self.key = ensure_api_key(dashboard.session.home).read_text().strip()
        self.patches: list[Any] = []
        self.page.on("request", self._note)

    def _note(self, request: Request) -> None:
        if request.method == "PATCH":
            self.patches.append(request.post_data_json)

    def sign_in(self) -> None:
        self.page.get_by_role("textbox", name="API key").fill(self.key)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_text("Signed in as owner")).to_be_visible(timeout=PAINT_MS)

    def field(self, name: str) -> Locator:
        return self.page.locator(f'[data-setting="{name}"]').locator("input, select").first

    def open_topics(self) -> None:
        """Unfold all settings; the tab remembers it."""
        folded = self.page.locator("details.topic:not([open]) > summary")
        while folded.count():
            folded.first.click()

    def type(self, name: str, text: str) -> None:
        self.field(name).fill(text)
        self.page.keyboard.press("Tab")

    def said(self) -> Locator:
        said: Locator = self.watched.part("settings-said")
        return said

    def unsaved(self) -> Locator:
        unsaved: Locator = self.watched.part("unsaved")
        return unsaved

    def save(self) -> None:
        self.page.get_by_role("button", name="Save settings").click()

    def saved(self, field: str, words: str) -> None:
        """Check that the server's own answer says so."""
        expect(self.said()).to_contain_text("Saved as version", timeout=NEWS_MS)
        expect(self.said().locator(f'[data-change="{field}"]')).to_contain_text(words)

    def settings(self) -> dict[str, Any]:
        found: dict[str, Any] = self.page.request.get(f"{self.address}/api/settings").json()
        return found

    def elsewhere(self, who: str, **changes: object) -> None:
        """Another program changes settings, by whom the history is to name."""
        headers = {"X-API-Key": self.key, "X-Changed-By": who}
        body = {"version": self.settings()["version"], **changes}
        answer = self.page.request.patch(f"{self.address}/api/settings", data=body, headers=headers)
        assert answer.status == 200, answer.text()

    def shown_version(self) -> None:
        """Wait until the form has heard of the newest version."""
        form = self.page.locator(f'[data-part="settings-form"][data-version="{self.settings()["version"]}"]')
        expect(form).to_be_visible(timeout=NEWS_MS)


@pytest.fixture(scope="module")
def steering(chromium: Browser, served_dashboard: Served) -> Iterator[Steering]:
    with opened(chromium, served_dashboard, path="bots", zone="Asia/Tokyo") as watched:
        made = Steering(watched, served_dashboard)
        made.sign_in()
        # the form is drawn by a script of its own, which may come later
        expect(made.page.locator("[data-setting]").first).to_be_visible(timeout=PAINT_MS)
        yield made


def test_six_settings_are_in_view_and_all_others_folded_by_topic(steering: Steering) -> None:
    page, names = (
        steering.page,
        [one.get_attribute("data-setting") for one in steering.page.locator("[data-setting]").all()],
    )
    shown = [str(name) for name in names if steering.field(str(name)).is_visible()]
    assert shown == [
        *("min_net_bps", "max_notional", "max_open_arbitrages"),
        *("max_slippage_bps", "max_total_notional", "max_daily_loss"),
    ]
    # the unit stands behind the number, and the name has none
    first = page.locator('[data-setting="min_net_bps"]')
    expect(first.locator("label")).to_have_text("Minimum net spread to trade")
    expect(first.locator(".unit")).to_have_text("bps")
    topic = page.locator("details.topic").first
    topic.locator("summary").press("Enter")
    expect(steering.field("max_quote_age_ms")).to_be_visible()
    page.reload()
    # the tab remembers what is unfolded
    expect(steering.field("max_quote_age_ms")).to_be_visible(timeout=PAINT_MS)
    steering.type("max_quote_age_ms", "-5")
    topic.locator("summary").click()
    expect(topic.locator("summary")).to_contain_text("● 1 unsaved, 1 not valid")
    steering.save()
    # what is wrong is unfolded
    expect(steering.field("max_quote_age_ms")).to_be_focused()
    page.get_by_role("button", name="Discard").click()
    steering.open_topics()


def test_a_change_says_before_it_is_saved_what_it_would_have_done(steering: Steering) -> None:
    tried = steering.watched.part("what-if")
    steering.field("min_net_bps").fill("75")
    expect(tried).to_contain_text(
        re.compile(r"Minimum net spread to trade: 1 trade refused, whose net was .\$1.00"), timeout=NEWS_MS
    )
    steering.field("max_notional").fill("10")
    expect(tried).to_contain_text("All together: 1 trade refused", timeout=NEWS_MS)
    steering.page.get_by_role("button", name="Discard").click()
    expect(tried).to_be_empty()
    assert steering.patches == []


def test_an_operator_sees_who_is_signed_in_and_ends_a_sign_in(steering: Steering) -> None:
    page, people = steering.page, steering.watched.part("people")
    browsers = people.get_by_role("table", name="Browsers signed in")
    expect(browsers).to_contain_text("owner (you)", timeout=NEWS_MS)
    httpx.post(f"{steering.address}/api/sign-in", json={"key": steering.key}, headers={"User-Agent": "Tablet/1.0"})
    other = browsers.get_by_role("row").filter(has_text="Tablet")
    expect(other).to_be_visible(timeout=2 * NEWS_MS)
    assert grave_violations(page) == []
    for _ in range(2):
        other.get_by_role("button", name="End the sign-in of owner").click()
    expect(other).to_have_count(0, timeout=NEWS_MS)
    expect(browsers).to_contain_text("owner (you)")


def test_an_operator_makes_a_key_which_is_shown_once_and_ends_it(steering: Steering) -> None:
    page, people = steering.page, steering.watched.part("people")
    people.get_by_text("Make a key").first.click()
    people.get_by_label("Whose it is").fill("screen")
    people.get_by_role("button", name="Make a key").click()
    shown = people.get_by_label("Key of screen (viewer)")
    expect(shown).to_be_visible(timeout=NEWS_MS)
    headers = {"X-API-Key": shown.input_value()}
    assert httpx.get(f"{steering.address}/api/caller", headers=headers).json()["name"] == "screen"
    row = people.get_by_role("table", name="Keys", exact=True).get_by_role("row").filter(has_text="screen")
    expect(row).to_be_visible(timeout=NEWS_MS)
    assert grave_violations(page) == []
    people.get_by_role("button", name="Done").click()
    expect(shown).to_have_count(0)
    for _ in range(2):
        row.get_by_role("button", name="End the key of screen").click()
    expect(row).to_have_count(0, timeout=NEWS_MS)
    assert httpx.get(f"{steering.address}/api/caller", headers=headers).status_code == 401


class Redraws:
    """Each in turn, in the middle of an edit; True if the edited field was taken from view, so that it must be
    gone to again."""

    def __init__(self, steering: Steering) -> None:
        self.steering, self.page = steering, steering.page
        self.is_local = False

    def the_script_runs_again(self) -> bool:
        self.is_local = not self.is_local
        zone, shown = ("local", "JST") if self.is_local else ("utc", "UTC")
        # by no click of the mouse, which would leave the field
        self.page.locator(f'[data-zone="{zone}"]').evaluate("button => button.click()")
        expect(self.page.locator("td", has_text=shown).first).to_be_visible(timeout=PAINT_MS)
        return False

    def others_switch_trading(self) -> bool:
        state = "reduce_only" if self.steering.settings()["trading_state"] == "running" else "running"
        headers = {"X-API-Key": self.steering.key}
        self.page.request.put(f"{self.steering.address}/api/trading-state", data={"state": state}, headers=headers)
        self.steering.shown_version()
        return False

    def the_server_stands_still(self) -> bool:
        process = self.steering.dashboard.process
        process.send_signal(signal.SIGSTOP)
        expect(self.steering.watched.part("state")).to_have_text("stale", timeout=NEWS_MS)
        process.send_signal(signal.SIGCONT)
        expect(self.steering.watched.part("state")).to_have_text("live", timeout=NEWS_MS)
        return False

    def another_page_and_another_asset(self) -> bool:
        self.steering.watched.go("Live")
        self.steering.watched.part("assets").get_by_role("button", name="ETH").click(timeout=PAINT_MS)
        self.steering.watched.go(PAGE)
        expect(self.page.locator("[data-setting]").first).to_be_visible(timeout=PAINT_MS)
        return True

    def the_tab_is_loaded_again(self) -> bool:
        self.page.reload()
        expect(self.page.locator("[data-setting]").first).to_be_visible(timeout=PAINT_MS)
        expect(self.page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
        return True

    def of(self, number: int) -> bool:
        """Return the dear ones for a few fields, the others by turns for the rest."""
        dear = {
            3: self.the_server_stands_still,
            7: self.another_page_and_another_asset,
            12: self.the_tab_is_loaded_again,
        }
        cheap = (self.the_script_runs_again, self.others_switch_trading)
        return dear.get(number, cheap[number % 2])()


def test_whatever_is_redrawn_in_the_middle_of_each_edit_what_was_touched_is_sent_and_nothing_else(
    steering: Steering,
) -> None:
    redraws, before = Redraws(steering), steering.settings()
    assert {one.get_attribute("data-setting") for one in steering.page.locator("[data-setting]").all()} == {
        *TYPED,
        *CHOSEN,
        "enabled_exchanges",
    }
    for number, (name, text) in enumerate(TYPED.items()):
        field, half = steering.field(name), len(text) // 2
        field.focus()
        steering.page.keyboard.press("Control+A")
        steering.page.keyboard.type(text[:half])
        if redraws.of(number):
            expect(field).to_have_value(text[:half])
            field.focus()
            steering.page.keyboard.press("End")
        steering.page.keyboard.type(text[half:])
        expect(field).to_have_value(text)
        expect(steering.unsaved()).to_contain_text(f"● {number + 1} unsaved change")
    for name, choice in CHOSEN.items():
        steering.field(name).select_option(choice)
    steering.page.get_by_role("checkbox", name="beta").uncheck()
    redraws.the_script_runs_again()
    expect(steering.unsaved()).to_contain_text(f"● {len(TYPED) + len(CHOSEN) + 1} unsaved changes")
    steering.save()
    steering.saved("min_net_bps", "5 → 12.5")
    expect(steering.said().locator("[data-change]")).to_have_count(len(TYPED) + len(CHOSEN) + 1)
    expect(steering.unsaved()).to_contain_text("no unsaved changes")
    numbers = {name: float(text) for name, text in TYPED.items() if name not in MONEY and "." not in name}
    money = {name: text for name, text in TYPED.items() if name in MONEY}
    fees = {"alpha": "0.0011", "beta": "0.0013"}
    limits = {"exchange_limits": {"alpha": "5100", "beta": "5200"}, "asset_limits": {"BTC": "9100", "ETH": "9200"}}
    thresholds = {"asset_thresholds": {"BTC": 13.5, "ETH": 14.5}}
    sent = {**numbers, **money, **CHOSEN, "taker_fees": fees, "enabled_exchanges": ["alpha"], **limits, **thresholds}
    assert steering.patches == [sent]
    now = steering.settings()
    assert now == before | sent | {"version": now["version"], "trading_state": now["trading_state"]}


def test_one_edit_is_one_field_and_the_diff_is_the_servers(steering: Steering) -> None:
    steering.patches.clear()
    steering.type("taker_fees.beta", "0.0014")
    steering.save()
    steering.saved("taker_fees.beta", "0.0013 → 0.0014")
    expect(steering.said().locator("[data-change]")).to_have_count(1)
    assert steering.patches == [{"taker_fees": {"beta": "0.0014"}}]
    # typed and taken back is no change
    steering.type("max_notional", "7")
    steering.type("max_notional", "1234.560")
    expect(steering.unsaved()).to_contain_text("no unsaved changes")
    expect(steering.page.get_by_role("button", name="Save settings")).to_be_disabled()
    assert len(steering.patches) == 1


def test_an_empty_limit_takes_the_general_one_and_the_others_stay(steering: Steering) -> None:
    steering.patches.clear()
    steering.type("exchange_limits.alpha", "")
    expect(steering.field("exchange_limits.alpha")).to_have_attribute("placeholder", "as for all: 5500")
    steering.save()
    steering.saved("exchange_limits.alpha", "Maximum open notional on alpha: 5100 → none")
    assert steering.patches == [{"exchange_limits": {"beta": "5200"}}]
    assert steering.settings()["exchange_limits"] == {"beta": "5200"}


def add_pair(steering: Steering, buy: str, directions: str, sell: str) -> None:
    adder = steering.watched.part("pair-adder")
    adder.get_by_label("Buy on").select_option(buy)
    adder.get_by_label("Directions").select_option(directions)
    adder.get_by_label("Sell on").select_option(sell)
    adder.get_by_role("button", name="Add the pair").click()


def test_assets_and_pairs_have_thresholds_of_their_own(steering: Steering) -> None:
    steering.patches.clear()
    add_pair(steering, "alpha", ">", "alpha")
    expect(steering.watched.part("pair-adder").get_by_role("alert")).to_have_text("Choose two exchanges.")
    for sign, text in ((">", "20"), ("/", "30.5")):
        add_pair(steering, "beta", sign, "alpha")
        field = steering.field(f"pair_thresholds.beta{sign}alpha")
        expect(field).to_be_focused()
        expect(field).to_have_attribute("placeholder", "as for all: 12.5")
        field.fill(text)
    # the other way round it is the same pair
    add_pair(steering, "alpha", "/", "beta")
    expect(steering.field("pair_thresholds.beta/alpha")).to_be_focused()
    for text, words in (("10001", "Out of range: −1,000 to 10,000 bps."), ("1", '"Minimum net spread to show" (1.25)')):
        steering.type("asset_thresholds.ETH", text)
        expect(steering.page.locator('[data-setting="asset_thresholds.ETH"]')).to_contain_text(words)
    steering.type("asset_thresholds.ETH", "")
    steering.save()
    steering.saved("pair_thresholds.beta>alpha", "Minimum net spread, beta → alpha: none → 20")
    assert steering.patches == [
        {"asset_thresholds": {"BTC": 13.5}, "pair_thresholds": {"beta>alpha": 20, "beta/alpha": 30.5}}
    ]
    now = steering.settings()
    assert (now["asset_thresholds"], now["pair_thresholds"]) == ({"BTC": 13.5}, {"beta>alpha": 20, "beta/alpha": 30.5})


def test_an_entry_that_an_app_adds_takes_no_field_from_who_types(steering: Steering) -> None:
    field = steering.field("max_notional")
    field.focus()
    steering.page.keyboard.press("Control+A")
    steering.page.keyboard.type("14")
    steering.elsewhere("app calm", pair_thresholds={"alpha>beta": 21})
    steering.shown_version()
    steering.page.keyboard.type("00")
    expect(field).to_have_value("1400")
    expect(field).to_be_focused()
    steering.page.keyboard.press("Tab")
    expect(steering.field("pair_thresholds.alpha>beta")).to_have_value("21", timeout=NEWS_MS)
    expect(field).to_have_value("1400")
    steering.page.get_by_role("button", name="Discard").click()


def test_what_is_wrong_is_said_at_the_field_and_saved_by_nobody(steering: Steering) -> None:
    version = steering.settings()["version"]
    for text, words in (
        ("20000", "Out of range: −1,000 to 10,000 bps."),
        ("a lot", "Enter a number: −1,000 to 10,000 bps."),
        ("", "Enter a number: −1,000 to 10,000 bps."),
    ):
        steering.type("min_net_bps", text)
        expect(steering.page.locator('[data-setting="min_net_bps"]')).to_contain_text(words)
        expect(steering.unsaved()).to_contain_text("1 of them is not valid")
        steering.save()
        expect(steering.said()).to_have_text("Not saved: see the messages at the fields.")
    expect(steering.field("min_net_bps")).to_have_attribute("aria-invalid", "true")
    steering.type("min_net_bps", "12.5")
    # what the server alone rejects
    steering.type("max_open_arbitrages", "12.5")
    steering.save()
    expect(steering.page.locator('[data-setting="max_open_arbitrages"]')).to_contain_text(
        "ust be a whole number", timeout=NEWS_MS
    )
    steering.type("max_open_arbitrages", "12")
    steering.type("emit_net_bps", "99")
    steering.save()
    why = '"Minimum net spread to trade" must not be below "Minimum net spread to show".'
    expect(steering.page.get_by_text(why, exact=False)).to_be_visible(timeout=NEWS_MS)
    steering.page.get_by_role("button", name="Discard").click()
    expect(steering.field("emit_net_bps")).to_have_value("1.25")
    assert steering.settings()["version"] == version


def test_who_saved_at_the_same_moment_is_named_and_mine_goes_on_top(steering: Steering) -> None:
    def first_somebody_else(route: Route) -> None:
        steering.elsewhere("erika", max_daily_loss="800")
        route.continue_()

    steering.type("max_notional", "1500")
    steering.page.route("**/api/settings", first_somebody_else, times=1)
    steering.save()
    expect(steering.said()).to_contain_text("Not saved: erika changed the settings", timeout=NEWS_MS)
    expect(steering.said().locator('[data-change="max_daily_loss"]')).to_contain_text("900 → 800")
    expect(steering.field("max_notional")).to_have_value("1500")
    steering.save()
    steering.saved("max_notional", "1234.56 → 1500")
    now = steering.settings()
    assert (now["max_notional"], now["max_daily_loss"]) == ("1500", "800")


@pytest.mark.parametrize(
    ("decision", "mine", "theirs"),
    [("Keep my changes", "1600", "1550"), ("Discard my changes", "1700", "1650")],
)
def test_the_same_field_changed_by_others_waits_for_a_decision(
    steering: Steering, decision: str, mine: str, theirs: str
) -> None:
    is_kept = decision.startswith("Keep")
    steering.type("max_notional", mine)
    steering.elsewhere("erika", max_notional=theirs)
    clash = steering.watched.part("clash")
    expect(clash.locator('[data-change="max_notional"]')).to_contain_text(f"→ {theirs}", timeout=NEWS_MS)
    expect(steering.field("max_notional")).to_have_value(mine)
    version = steering.settings()["version"]
    steering.save()
    expect(steering.said()).to_contain_text("Not saved: choose")
    assert steering.settings()["version"] == version
    # also if the tab was loaded anew meanwhile
    steering.page.reload()
    clash.get_by_role("button", name=decision).click(timeout=PAINT_MS)
    expect(clash).to_be_hidden()
    expect(steering.field("max_notional")).to_have_value(mine if is_kept else theirs)
    if is_kept:
        steering.save()
        steering.saved("max_notional", f"{theirs} → {mine}")


def test_a_lost_answer_loses_no_edit_and_what_is_in_force_is_no_change_any_more(steering: Steering) -> None:
    steering.type("max_exposure", "4400")
    steering.page.route("**/api/settings", lambda route: route.abort(), times=1)
    steering.save()
    expect(steering.said()).to_contain_text("No answer", timeout=NEWS_MS)
    expect(steering.unsaved()).to_contain_text("● 1 unsaved change")

    def received_and_cut_off(route: Route) -> None:
        route.fetch()
        route.abort()

    steering.page.route("**/api/settings", received_and_cut_off, times=1)
    steering.save()
    expect(steering.said()).to_contain_text("may or may not have been made", timeout=NEWS_MS)
    expect(steering.unsaved()).to_contain_text("no unsaved changes", timeout=NEWS_MS)
    assert steering.settings()["max_exposure"] == "4400"


def test_signed_out_in_another_tab_the_edit_waits_for_who_signs_in(steering: Steering) -> None:
    before = steering.settings()["max_exposure"]
    steering.type("max_exposure", "4300")
    assert steering.page.request.post(f"{steering.address}/api/sign-out", headers={"Origin": steering.address}).ok
    steering.save()
    expect(steering.said()).to_contain_text("Not saved: sign in with an operator's API key first.", timeout=NEWS_MS)
    steering.page.reload()
    expect(steering.field("max_exposure")).to_have_value("4300", timeout=PAINT_MS)
    steering.sign_in()
    steering.save()
    steering.saved("max_exposure", f"{before} → 4300")


SAME = (
    """cases => import("/assets/settings_edits.js").then(({ same }) => cases.map(([one, other]) => same(one, other)))"""
)


def test_two_texts_are_the_same_number_only_where_every_digit_is(steering: Steering) -> None:
    alike: list[tuple[object, object]] = [
        ("1000", "1000.00"), ("1e3", "1000"), (" 007.50 ", 7.5), ("-0", 0), (".5", "0.5"), ("1E+3", 1000),
        (["b", "a"], ["a", "b"]), ("complete", "complete"),
    ]  # fmt: skip
    other: list[tuple[object, object]] = [
        ("1000.000000000000000001", "1000"), ("12345678901234567890", "12345678901234567891"), ("-1", "1"), ("", 0),
        ("1,000", "1000"), ("10", "1"), ("NaN", "nan"), (["a"], ["a", "b"]), ("1.2.3", "1.23"), (".", 0),
    ]  # fmt: skip
    assert steering.page.evaluate(SAME, [*alike, *other]) == [True] * len(alike) + [False] * len(other)


BEGUN_ANEW = """fresh => import("/assets/live_feed.js").then(({ liveFeed }) => {
  liveFeed.model.settings = fresh;
  liveFeed.notify("all");
})"""


def test_another_system_at_the_same_address_begins_its_versions_again(steering: Steering) -> None:
    fresh = steering.settings() | {"version": 1, "min_net_bps": 3.5}
    steering.page.route("**/api/settings", lambda route: route.fulfill(json=fresh), times=1)
    steering.page.evaluate(BEGUN_ANEW, fresh)
    expect(steering.page.locator('[data-part="settings-form"][data-version="1"]')).to_be_visible(timeout=NEWS_MS)
    expect(steering.field("min_net_bps")).to_have_value("3.5")
    steering.page.reload()
    expect(steering.field("min_net_bps")).to_have_value("12.5", timeout=PAINT_MS)


def test_after_all_that_nothing_complained_but_of_what_was_rejected(steering: Steering) -> None:
    assert steering.watched.hosts == {"127.0.0.1"}
    expected = ("Failed to load resource", "WebSocket connection")
    assert [one for one in steering.watched.complaints if not one.startswith(expected)] == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_thresholds_of_pairs_fit_a_phone_and_are_accessible(
    chromium: Browser, served_dashboard: Served, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, 390, scheme, path="bots") as watched:
        expect(watched.page.locator("[data-setting]").first).to_be_visible(timeout=PAINT_MS)
        steering = Steering(watched, served_dashboard)
        steering.open_topics()
        add_pair(steering, "alpha", "/", "beta")
        expect(steering.field("pair_thresholds.alpha/beta")).to_be_focused()
        assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert grave_violations(watched.page) == []
