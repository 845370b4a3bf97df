"""The lists of Live in Chromium: what is open is seen, what is not traded is folded away, and every sum says what it
lacks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import open_store
from store.server.documents import ARBITRAGES
from tests.store.reservation_requests import opportunity, reserved
from tests.ui.pages.browser import NEWS_MS, PAINT_MS, Scheme, Watched, awaited, opened
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from tests.ui.trading import made_worst, traded

pytestmark = pytest.mark.browser

HOLD = """async () => {
  const { liveFeed } = await import("/assets/live_feed.js");
  liveFeed.take = () => {};
  const { ledger } = liveFeed.model;
  const position = (currency, change, value) => ({ currency, is_base: false, opening: "1", now: "2", change, value });
  const exposures = [["XRP", "5", "3"], ["USD", "-100", "-100"], ["BTC", "0.4", "27840.5"], ["EUR", "1", null]]
    .map((one) => position(...one));
  const balance = (exchange, currency) => ({ exchange, currency, free: "1", held: "0", total: "1" });
  const balances = ["USD", "XRP", "DOGE"]
    .flatMap((currency) => ["alpha", "beta"].map((exchange) => balance(exchange, currency)));
  liveFeed.model.ledger = { ...ledger, balances, inventory: { ...ledger.inventory, exposures } };
  window.value = (currency, value) => {
    exposures.find((one) => one.currency === currency).value = value;
    liveFeed.notify("ledger");
  };
  liveFeed.notify("ledger");
}"""


async def open_one(session: Session) -> None:
    """One that a third order closed, one that is open, and many later ones, as other pairs would have them."""
    async with await open_store(session) as store:
        await traded(store, opportunity("ended", 900), "0.01")
        arbitrages = store._database[ARBITRAGES]
        ended = await arbitrages.find_one({"_id": "ended"})
        assert ended is not None
        await made_worst(store, "ended")
        await reserved(store, opportunity("still-open", 901), "0.01")
        now = wall_now()
        for number in range(25):
            name = f"later-{number}"
            await arbitrages.insert_one(ended | {"_id": name, "arbitrage_id": name, "at": now + number})


@pytest.fixture(scope="module", params=[(1280, "dark"), (390, "light")])
def held(request: pytest.FixtureRequest, chromium: Browser, served_dashboard: Served) -> Iterator[Watched]:
    """Live with a ledger of the test's."""
    width: int
    scheme: Scheme
    width, scheme = request.param
    with opened(chromium, served_dashboard, width, scheme) as watched:
        expect(watched.part("exposures")).to_contain_text("USD", timeout=NEWS_MS)
        watched.page.evaluate(HOLD)
        yield watched


def test_what_is_not_traded_is_folded_away_in_both_lists_at_once(held: Watched) -> None:
    positions, balances = held.part("exposures"), held.part("balances")
    expect(positions).not_to_contain_text("XRP")
    expect(balances).not_to_contain_text("DOGE")
    expect(held.part("untraded-positions")).to_have_text("Show 1 more currency, not traded")
    expect(held.part("untraded-balances")).to_have_text("Show 2 more currencies, not traded")
    held.part("untraded-positions").press("Enter")
    expect(positions).to_contain_text("XRP")
    expect(balances).to_contain_text("DOGE")
    expect(held.part("untraded-balances")).to_have_attribute("aria-expanded", "true")
    held.part("untraded-balances").click()
    expect(positions).not_to_contain_text("XRP")


def test_a_sum_without_a_price_is_no_sum_and_says_whose(held: Watched) -> None:
    whole = held.part("exposures").locator("tr.sum")
    expect(whole).to_contain_text("no sum")
    expect(held.part("positions-worth")).to_have_text("No sum: EUR has changed and has no price now.")
    held.page.evaluate("value('EUR', '1.1')")
    expect(whole).to_contain_text("+$27,741.60")
    expect(held.part("positions-worth")).to_contain_text("Not the P&L")
    held.page.evaluate("value('EUR', null)")
    # what all exchanges together have of a currency
    expect(held.part("balances").locator("tr.sum")).to_contain_text("All")
    assert held.page.evaluate("document.documentElement.scrollWidth") == held.page.viewport_size["width"]  # type: ignore[index]
    assert held.complaints == []


def test_what_is_open_is_counted_as_the_list_shows_it_however_many_came_later(
    chromium: Browser, served_dashboard: Served
) -> None:
    awaited(open_one(served_dashboard.session))
    with opened(chromium, served_dashboard) as watched:
        expect(watched.part("figure-open")).to_have_text("1", timeout=NEWS_MS)
        first = watched.page.locator("[data-trade]").first
        expect(first).to_have_attribute("data-trade", "still-open")
        expect(first).to_contain_text("reserved")
        expect(watched.page.locator("[data-trade]")).to_have_count(20)
        watched.part("filter").fill("third order")
        expect(watched.page.locator("[data-trade]")).to_have_count(1)
        expect(watched.page.locator("[data-trade]")).to_contain_text("closed by a third order")


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_parts_of_live_are_chosen_moved_saved_and_shared(
    chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, width, scheme) as watched:
        page, layout = watched.page, watched.part("layout")
        layout.get_by_text("Layout", exact=True).click()
        layout.get_by_label("Moving average signals", exact=True).uncheck()
        layout.get_by_label("Figures", exact=True).uncheck()
        for _ in range(3):
            layout.get_by_role("button", name="Move Trades up").press("Enter")
        assert grave_violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") == width
        chosen = ["trades", "prices", "spreads", "assets", "state", "more"]
        assert shown(watched) == chosen
        layout.get_by_label("Name of the layout").fill("desk")
        layout.get_by_role("button", name="Save").click()
        layout.get_by_role("button", name="As it comes").click()
        assert len(shown(watched)) == 8
        assert "layout=" not in page.url
        layout.get_by_label("Dense rows").check()
        expect(watched.part("panel")).to_have_attribute("data-dense", "")
        layout.get_by_role("button", name="Wall").click()
        expect(page.locator(":root[data-wall]")).to_be_attached()
        page.keyboard.press("Escape")
        expect(page.locator(":root[data-wall]")).not_to_be_attached()
        layout.get_by_label("Saved layouts").select_option("desk")
        assert shown(watched) == chosen
        address = page.url.partition("/?")[2]
        page.goto(page.url.partition("?")[0])
        expect(page.locator('[data-part="panel"][data-known="yes"]')).to_be_visible(timeout=PAINT_MS)
        assert shown(watched) == chosen
        assert watched.complaints == []
    # somebody else, by the link
    with opened(chromium, served_dashboard, width, scheme, path=f"?{address}") as watched:
        expect(watched.part("trades")).to_be_visible(timeout=PAINT_MS)
        assert shown(watched) == chosen


def shown(watched: Watched) -> list[str]:
    found: list[str] = watched.page.locator("[data-block]:not([hidden])").evaluate_all(
        "blocks => blocks.map((block) => block.dataset.block)"
    )
    return found
