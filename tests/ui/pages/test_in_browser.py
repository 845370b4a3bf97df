"""The page in a real Chromium: what a user sees, by itself, from this host alone."""

import signal
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.pages.browser import NEWS_MS, PAINT_MS, Scheme, Watched, opened, trade
from tests.ui.serving import Served, served, served_again
from wording import number_format as figures
from wording.labels import REASONS, STATES

pytestmark = pytest.mark.browser

AMOUNTS = ("0", "-0.00000006", "0.005", "0.015", "-19.177542829999993", "1234567.125", "-0.5", "12.345", "99.995")
MICROSECONDS_SHOWN = (
    -5,
    0,
    40,
    400,
    9_960,
    12_400,
    999_400,
    999_600,
    3_440_000,
    119_960_000,
    300_000_000,
    7_560_000_000,
)

GREY = "getComputedStyle(document.querySelector('.st-key-live')).filter"


def test_nobody_can_miss_that_it_is_paper(wide: Watched) -> None:
    badge = wide.part("paper-badge")
    expect(badge).to_be_in_viewport()
    expect(badge).to_contain_text("Paper trading")
    expect(badge).to_contain_text("no real money")
    expect(wide.part("state")).to_have_text("live", timeout=NEWS_MS)
    expect(wide.part("trading")).to_have_text("trading on")


def test_everything_that_is_known_is_shown(wide: Watched) -> None:
    expect(wide.page.locator(".chart canvas")).to_have_count(2, timeout=NEWS_MS)
    expect(wide.page.locator('[data-market="alpha BTC/USD"] .figure')).to_have_text("$70,001.00")
    expect(wide.page.locator('[data-market="beta BTC/EUR"]')).to_contain_text("eu")
    expect(wide.page.locator(".spreads .cell")).to_have_count(2)
    expect(wide.page.locator('[data-trade="the-first-trade"]')).to_contain_text("closed")
    expect(wide.part("figure-net")).to_have_text("+$1.00")
    expect(wide.part("balances")).to_contain_text("EUR")
    expect(wide.part("profit")).to_contain_text("Slippage")
    expect(wide.part("profit-lines")).to_contain_text("not split")
    wide.part("more").locator("summary").click()
    wide.page.get_by_role("button", name="Asset").click()
    expect(wide.part("profit-lines")).to_contain_text("BTC")
    expect(wide.part("exposures")).to_contain_text("USD")
    expect(wide.part("exposures").locator("tr.sum")).to_contain_text("All")
    expect(wide.part("drifts")).to_contain_text("beta EUR")
    expect(wide.part("plan")).to_contain_text("Transfer terms unknown")
    expect(wide.part("feeds")).to_contain_text("live")
    expect(wide.part("rejections")).to_have_text("No opportunities rejected yet.")
    expect(wide.part("opportunities")).to_have_text("Waiting for the first opportunity…")


def test_the_browser_takes_base_and_quote_from_the_market_and_not_from_its_symbol(wide: Watched) -> None:
    script = """async () => {
      const { setSteps, baseOf, quoteOf } = await import("/assets/market_digits.js?apart");
      const known = { exchange: "alpha", symbol: "MATIC/USDT:USDT", base: "POL", quote_currency: "USD" };
      setSteps([{ ...known, tick_size: "0.01", lot_step: "0.1" }]);
      return ["alpha", "gone"].map((name) => [baseOf(name, known.symbol), quoteOf(name, known.symbol)]);
    }"""
    assert wide.page.evaluate(script) == [["POL", "USD"], ["MATIC", "USDT"]]


def test_the_browser_writes_figures_and_names_as_python_does(wide: Watched) -> None:
    script = """async (cases) => {
      const [format, gaps] = await Promise.all([import("/assets/format.js"), import("/assets/gaps.js")]);
      return cases.map(([name, ...given]) => (format[name] ?? gaps[name])(...given));
    }"""
    money = [("money", amount, currency) for amount in AMOUNTS for currency in ("USD", "JPY", "CHF")]
    numbers = [("number", amount, digits) for amount in AMOUNTS for digits in (0, 2, 8)]
    durations = [("duration", microseconds) for microseconds in MICROSECONDS_SHOWN]
    offsets = [("offset", microseconds) for microseconds in (-300, 0, 400, 12_400, -2_000_000)]
    names = [*(("reasonName", name) for name in REASONS), *(("stateName", name) for name in STATES)]
    shown = wide.page.evaluate(script, [list(case) for case in (*money, *numbers, *durations, *offsets, *names)])
    assert shown == [
        *(figures.money(amount, currency) for _, amount, currency in money),
        *(figures.number(amount, Decimal(1).scaleb(-digits)) for _, amount, digits in numbers),
        *(figures.duration(microseconds / 1_000_000) for _, microseconds in durations),
        *(figures.offset_ms(microseconds) for _, microseconds in offsets),
        *((STATES if kind == "stateName" else REASONS)[name] for kind, name in names),
    ]
    # what nobody heard is no line: half a minute without a quote
    drawn = wide.page.evaluate(script, [["withGaps", [[1, 2, 32, 33], [5, 6, 7, 8], [5, 5, 6, 7]]]])
    assert drawn == [[[1, 2, 17, 32, 33], [5, 6, None, 7, 8], [5, 5, None, 6, 7]]]


def test_a_new_trade_appears_by_itself_and_the_filter_keeps_working(wide: Watched, served_dashboard: Served) -> None:
    trade(served_dashboard.session, "the-second-trade", 2)
    expect(wide.page.locator('[data-trade="the-second-trade"]')).to_be_visible(timeout=NEWS_MS)
    wide.part("filter").fill("alpha third")
    expect(wide.part("trades")).to_have_text("No trade matches the filter.")
    trade(served_dashboard.session, "the-third-trade", 3)
    expect(wide.page.locator('[data-trade="the-third-trade"]')).to_be_visible(timeout=NEWS_MS)
    trade(served_dashboard.session, "the-fourth-trade", 4)
    expect(wide.part("figure-net")).to_have_text("+$4.00", timeout=NEWS_MS)
    expect(wide.page.locator("[data-trade]")).to_have_count(1)
    wide.part("filter").fill("")
    expect(wide.page.locator("[data-trade]")).to_have_count(4)
    newest_first = wide.page.locator("[data-trade]").evaluate_all("rows => rows.map(row => row.dataset.trade)")
    assert newest_first[0] == "the-fourth-trade"


def test_filter_and_asset_outlive_a_change_of_page(wide: Watched) -> None:
    assets = wide.part("assets")
    assets.get_by_role("button", name="ETH").click()
    expect(wide.page.locator("[data-market]")).to_have_count(1)
    expect(wide.page.locator('[data-market="alpha ETH/USD"] .figure')).to_have_text("$3,500.50")
    wide.part("filter").fill("third")
    wide.go("Health")
    expect(wide.part("panel")).to_have_count(0)
    wide.go("Live")
    expect(assets.get_by_role("button", name="ETH")).to_have_attribute("aria-pressed", "true")
    expect(wide.page.locator("[data-market]")).to_have_count(1)
    expect(wide.part("filter")).to_have_value("third")
    expect(wide.page.locator("[data-trade]")).to_have_count(1)
    wide.part("filter").fill("")
    assets.get_by_role("button", name="BTC").click()
    expect(wide.page.locator("[data-market]")).to_have_count(2)


def test_local_times_hold_on_every_page_and_are_remembered(chromium: Browser, served_dashboard: Served) -> None:
    with opened(chromium, served_dashboard, zone="Asia/Tokyo") as watched:
        first = watched.page.locator("[data-trade]").last.locator(".time")
        in_utc = first.get_attribute("title") or ""
        assert in_utc.endswith("UTC")
        watched.page.get_by_role("button", name="Local").click()
        expect(first).not_to_have_attribute("title", in_utc)
        in_tokyo = first.get_attribute("title") or ""
        apart = datetime.fromisoformat(in_tokyo.removesuffix(" local")) - datetime.fromisoformat(
            in_utc.removesuffix(" UTC")
        )
        assert apart == timedelta(hours=9)
        watched.go("Trades & P&L")
        expect(watched.page.get_by_text("JST").first).to_be_visible(timeout=PAINT_MS)
        watched.page.reload()
        local = watched.page.get_by_role("button", name="Local")
        expect(local).to_have_attribute("aria-pressed", "true", timeout=PAINT_MS)
        expect(watched.page.get_by_text("JST").first).to_be_visible(timeout=PAINT_MS)


def test_after_all_that_one_socket_served_it_no_other_host_was_asked_and_nothing_complained(wide: Watched) -> None:
    assert wide.live_sockets() == 1
    assert wide.hosts == {"127.0.0.1"}
    assert wide.complaints == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_both_themes_are_readable_on_a_phone_without_scrolling_sideways(
    chromium: Browser, served_dashboard: Served, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, 390, scheme) as watched:
        expect(watched.part("paper-badge")).to_be_in_viewport()
        cells = watched.page.locator("[data-trade]").first.locator("td")
        expect(cells.nth(0).locator(".milliseconds")).to_be_hidden()
        # what counts stands first, and is not scrolled away to the side
        cells.nth(0).scroll_into_view_if_needed()
        for place, words in enumerate(("", "closed", "$")):
            expect(cells.nth(place)).to_be_in_viewport()
            expect(cells.nth(place)).to_contain_text(words)
        assert watched.page.evaluate("document.documentElement.scrollWidth") == 390
        colours = watched.part("panel").evaluate(
            "node => [getComputedStyle(node).color, getComputedStyle(node.querySelector('.card')).backgroundColor]"
        )
        light = [sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")[:3])) for colour in colours]
        assert abs(light[0] - light[1]) > 450, colours
        assert (light[0] < light[1]) == (scheme == "light")
        assert watched.complaints == []


def test_the_documentation_opens_without_another_host(chromium: Browser, served_dashboard: Served) -> None:
    context = chromium.new_context()
    watched = Watched(context.new_page()).watch()
    watched.page.goto(f"http://{served_dashboard.address}/docs", timeout=PAINT_MS)
    group = watched.page.get_by_role("heading", name="settings", exact=False)
    group.get_by_role("button").click(timeout=PAINT_MS)
    expect(watched.page.get_by_text("/api/settings").first).to_be_visible(timeout=PAINT_MS)
    assert (watched.hosts, watched.complaints) == ({"127.0.0.1"}, [])
    context.close()


def test_silent_it_is_stale_killed_and_back_it_reconnects_and_misses_no_trade(
    chromium: Browser, served_dashboard: Served, tmp_path: Path
) -> None:
    with served(replace(served_dashboard.session, home=tmp_path)) as first, opened(chromium, first) as watched:
        first.process.send_signal(signal.SIGSTOP)  # its sockets stay open: only silence tells
        expect(watched.part("state")).to_have_text("stale", timeout=NEWS_MS)
        # nothing stays green, or claims what may have changed
        expect(watched.part("trading")).to_have_text("was trading on")
        expect(watched.part("trading")).to_have_class("pill unknown")
        assert watched.page.evaluate(GREY) == "grayscale(1)"
        first.process.send_signal(signal.SIGCONT)
        expect(watched.part("state")).to_have_text("live", timeout=NEWS_MS)
        expect(watched.part("trading")).to_have_text("trading on")
        assert watched.page.evaluate(GREY) == "none"
        first.kill()
        expect(watched.part("state")).to_have_text("reconnecting…", timeout=NEWS_MS)
        trade(served_dashboard.session, "while-it-was-away", 5)
        with served_again(first.session):
            expect(watched.part("state")).to_have_text("live", timeout=NEWS_MS)
            expect(watched.page.locator('[data-trade="while-it-was-away"]')).to_be_visible(timeout=NEWS_MS)
