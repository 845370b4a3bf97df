"""The page of one arbitrage in a real Chromium: all of it under one address."""

import re
from decimal import Decimal

import httpx
import pytest
from playwright.sync_api import Browser, expect

from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.unwinding import advancing
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from streams.message_format import quote_row
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.market.samples import MARKETS, USD_MARKET
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, opportunity, reserved
from tests.ui.pages.browser import NEWS_MS, PAINT_MS, Scheme, awaited, opened
from tests.ui.pages.test_alerts_in_browser import SIGN_IN
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.samples import quote
from tests.ui.serving import Served
from ui.auth.api_keys import ensure_api_key

pytestmark = pytest.mark.browser

ID = "the-first-trade"
OPEN = "an-open-leg"
ADVANCE = advancing(MARKETS)


def test_an_arbitrage_has_an_address_with_all_that_is_known_of_it(chromium: Browser, served_dashboard: Served) -> None:
    with opened(chromium, served_dashboard, path=f"arbitrage/{ID}") as watched:
        page = watched.page
        expect(page).to_have_url(re.compile(f"/arbitrage\\?id={ID}$"))
        expect(page.locator('[data-part="arbitrage-title"]')).to_have_text(f"Arbitrage {ID}", timeout=PAINT_MS)
        steps = page.get_by_role("table", name="Timeline")
        expect(steps.get_by_role("cell", name="reserved", exact=True)).to_have_count(2)
        expect(steps.get_by_role("row").nth(1)).to_contain_text(re.compile(r"\d\d:\d\d:\d\d\.\d{3} UTC"))
        expect(page.get_by_role("table", name="Fills").get_by_role("row")).to_have_count(3)
        expect(page.get_by_role("table", name="Legs").get_by_role("row")).to_have_count(3)
        sentence = page.get_by_role("img", name=re.compile("Attribution: Theoretical gross .*Net"))
        expect(sentence).to_be_visible()
        checks = page.get_by_role("table", name="Checks")
        threshold = checks.get_by_role("row", name=re.compile("Below the threshold"))
        expect(threshold).to_contain_text(re.compile(r"50\.00 bps.*5\.00 bps.*passed"))
        expect(page.locator('[data-book="asks"] tbody')).to_contain_text("100.00")
        page.get_by_text("All settings of version 1").click()
        expect(page.get_by_role("table", name="Settings of version 1")).to_contain_text("max_notional")
        page.get_by_text("Lines of the logs that name it").click()
        expect(page.get_by_text(re.compile("lines in .* logs of this machine"))).to_be_visible(timeout=NEWS_MS)
        assert watched.complaints == []
        assert watched.hosts == {"127.0.0.1"}


def test_it_is_reached_from_a_row_of_a_list_and_leads_to_its_books(chromium: Browser, served_dashboard: Served) -> None:
    with opened(chromium, served_dashboard) as watched:
        page = watched.page
        page.locator(f'[data-trade="{ID}"] a.open').click(timeout=PAINT_MS)
        page.get_by_role("link", name="Market and books").click(timeout=PAINT_MS)
        note = page.locator('[data-book="asks"] [data-part="book-note"]')
        expect(note).to_contain_text("as it was at the decision", timeout=PAINT_MS)


def test_an_id_that_there_is_not_is_said(chromium: Browser, served_dashboard: Served) -> None:
    with opened(chromium, served_dashboard, path="arbitrage?id=nowhere") as watched:
        page = watched.page
        said = page.locator('[data-part="arbitrage-said"]')
        expect(said).to_have_text("There is no arbitrage nowhere.", timeout=PAINT_MS)
        page.get_by_label("Arbitrage id").last.fill(ID)
        page.keyboard.press("Enter")
        expect(page.locator('[data-part="arbitrage-title"]')).to_have_text(f"Arbitrage {ID}", timeout=NEWS_MS)
        expect(page).to_have_url(re.compile(f"id={ID}"))


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (1280, "light"), (390, "dark"), (390, "light")])
def test_it_fits_and_no_rule_of_accessibility_is_broken(
    chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, width, scheme, path=f"arbitrage?id={ID}") as watched:
        page = watched.page
        expect(page.get_by_role("table", name="Checks")).to_be_visible(timeout=PAINT_MS)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert grave_violations(page) == []
        assert watched.complaints == []


@pytest.fixture
def open_leg(served_dashboard: Served) -> None:
    """Bought on alpha; its unwinding order on beta is under way. Alpha has a fresh price."""
    session = served_dashboard.session

    async def work() -> None:
        async with await open_store(session) as store:
            await bought_alone(store, OPEN)
        await price_in_an_hour(session)

    awaited(work())


async def price_in_an_hour(session: Session) -> None:
    """Alpha's: it stays fresh however slow the machine is."""
    writer = TopicWriter(session.services.kafka)
    heard = wall_now() + 3_600 * MICROSECONDS
    writer.write(TICKS, quote_row(quote(USD_MARKET, "80", "81", heard)), partition=0)
    await writer.flush()
    await writer.close()


async def bought_alone(store: MongoTradeStore, identity: str) -> None:
    await reserved(store, opportunity(identity, 9), "2")
    buy, sell = await granted(store, identity, "buy"), await granted(store, identity, "sell")
    await finish_leg(store, identity, "sell", filled(sell, Decimal(0)), ADVANCE, UNFENCED)
    held = await finish_leg(store, identity, "buy", filled(buy), ADVANCE, UNFENCED)
    assert held.state == "single_leg"


@pytest.mark.usefixtures("open_leg")
def test_an_open_leg_is_closed_after_a_confirmation(chromium: Browser, served_dashboard: Served) -> None:
    key = ensure_api_key(served_dashboard.session.home).read_text().strip()
    with opened(chromium, served_dashboard, path=f"arbitrage?id={OPEN}") as watched:
        page = watched.page
        words = page.locator('[data-part="close-words"]')
        said = "once no order of it is under way: would sell up to 2.*BTC on .*at .*80.*78.4"
        expect(words).to_contain_text(re.compile(said), timeout=PAINT_MS)
        page.get_by_role("button", name="Close now…").click()
        assert grave_violations(page) == []
        page.evaluate(SIGN_IN, key)
        page.get_by_role("button", name="Close it now").click()
        ordered = page.locator('[data-part="close-said"]')
        expect(ordered).to_contain_text("it is sent once no order is under way", timeout=NEWS_MS)
    audited = httpx.get(
        f"http://{served_dashboard.address}/api/audit?action=arbitrage.close", headers={"X-API-Key": key}
    )
    (entry,) = audited.raise_for_status().json()["items"]
    assert (entry["target"], entry["outcome"], entry["after"]["side"]) == (OPEN, "done", "sell")
