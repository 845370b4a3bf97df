"""The page Market in a real Chromium, on quotes that came over Kafka, a fill, and the books of a decision."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import open_store
from store.server.documents import FILLS
from streams.message_format import quote_row
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.reservation_requests import opportunity
from tests.ui.pages.browser import NEWS_MS, PAINT_MS, Scheme, Watched, awaited, opened
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.samples import FX_MARKET, quote
from tests.ui.serving import Served
from tests.ui.trading import traded

pytestmark = pytest.mark.browser

SECONDS = 40
PATH = "market?base=BTC&buy=alpha BTC/USD&sell=beta BTC/EUR"


@pytest.fixture(scope="module")
def quoted(served_dashboard: Served) -> Served:
    """Quotes of the last forty seconds, and an arbitrage whose fills are as new."""
    awaited(quote_and_trade(served_dashboard.session))
    return served_dashboard


@pytest.fixture
def market(chromium: Browser, quoted: Served) -> Iterator[Watched]:
    with opened(chromium, quoted, path=PATH) as watched:
        yield watched


async def quote_and_trade(session: Session) -> None:
    # behind the quotes that every test begins with
    first = wall_now() + MICROSECONDS
    writer = TopicWriter(session.services.kafka)
    for second in range(SECONDS):
        at = first + second * MICROSECONDS
        books = (
            (FX_MARKET, "1.1", "1.1001"),
            (USD_MARKET, str(70_000 + second), str(70_002 + second)),
            (EUR_MARKET, "63800", "63801"),
        )
        for book in books:
            writer.write(TICKS, quote_row(quote(*book, at)), partition=0)
    await writer.flush()
    await writer.close()
    async with await open_store(session) as store:
        await traded(store, opportunity("of-now", 7), "0.5")
        ours = {"arbitrage_id": "of-now"}
        await store._database[FILLS].update_many(ours, {"$set": {"filled_at": first + 20 * MICROSECONDS}})


SAME_RANGE = "([one, other]) => one.dataset.range === other.dataset.range"


def chart(page: Page, name: str) -> Locator:
    return page.locator(f'[data-chart="{name}"]')


def test_candles_of_a_market_and_of_the_spread_are_drawn_over_two_lengths_with_marks(market: Watched) -> None:
    page = market.page
    for name in ("buy 1s", "buy 1m", "spread 1s", "spread 1m"):
        expect(chart(page, name).get_by_text(re.compile(r"\d+ candles since"))).to_be_visible(timeout=PAINT_MS)
        expect(chart(page, name).locator("canvas").first).to_be_visible()
    said = chart(page, "buy 1s").locator('[data-part="chart-said"]')
    expect(said).to_contain_text("close 70,040.00 USD", timeout=NEWS_MS)
    expect(said).to_contain_text("1 bought", timeout=NEWS_MS)
    # sold at 63,800 EUR × 1.1 = 70,180 USD, bought at 70,041 USD
    expect(chart(page, "spread 1s").locator('[data-part="chart-said"]')).to_contain_text("close 19.85 bps")
    assert market.complaints == []
    assert market.hosts == {"127.0.0.1"}


def test_what_a_canvas_shows_stands_in_a_table_and_in_a_name(market: Watched) -> None:
    page = market.page
    expect(chart(page, "buy 1s").get_by_role("img")).to_have_accessible_name(
        re.compile("BTC/USD on .*close 70,040.00 USD"), timeout=PAINT_MS
    )
    chart(page, "buy 1s").get_by_text("as a table").click()
    rows = chart(page, "buy 1s").get_by_role("region").get_by_role("row")
    expect(rows).to_have_count(21)
    expect(rows.nth(1)).to_contain_text("70,040.00")


def test_charts_of_one_length_share_what_they_show_by_keyboard_too(market: Watched) -> None:
    page = market.page
    box = chart(page, "buy 1s").locator(".candles")
    other = chart(page, "spread 1s").locator(".candles")
    for one in (box, other):
        expect(one).to_have_attribute("data-range", re.compile(r"^\d"), timeout=PAINT_MS)
    before = box.get_attribute("data-range")
    box.press("+")
    expect(box).not_to_have_attribute("data-range", str(before), timeout=NEWS_MS)
    # both move on with each second
    page.wait_for_function(SAME_RANGE, arg=[box.element_handle(), other.element_handle()], timeout=NEWS_MS)
    assert market.complaints == []


def test_our_size_is_walked_through_both_books(market: Watched) -> None:
    page = market.page
    asks, bids = (page.locator(f'[data-book="{side}"]') for side in ("asks", "bids"))
    expect(asks.locator("tbody tr")).to_have_count(2, timeout=PAINT_MS)
    page.get_by_label("Our size").fill("1.5")
    expect(asks.locator('[data-part="book-walk"]')).to_contain_text("Buying 1.5000 BTC: mean", timeout=NEWS_MS)
    expect(bids.locator('[data-part="book-walk"]')).to_contain_text("Selling 1.5000 BTC: mean")
    page.get_by_label("Our size").fill("3")
    expect(asks.locator('[data-part="book-walk"]')).to_contain_text("Only 2.0000 of it is offered", timeout=NEWS_MS)
    page.get_by_label("Our size").fill("much")
    expect(page.locator('[data-part="market-said"]')).to_contain_text("Our size, amount: 'much' is not a number")
    expect(page.get_by_label("Our size")).to_have_attribute("aria-invalid", "true")


def test_books_are_shown_as_they_were_at_a_decision(market: Watched) -> None:
    page = market.page
    expect(page.get_by_label("Books as of").locator("option")).to_have_count(3, timeout=PAINT_MS)
    page.get_by_label("Books as of").select_option("of-now")
    asks = page.locator('[data-book="asks"]')
    expect(asks.locator('[data-part="book-note"]')).to_contain_text("as it was at the decision", timeout=NEWS_MS)
    expect(asks.locator("tbody tr")).to_have_count(1)
    expect(asks.locator("tbody")).to_contain_text("5.0000")
    expect(page.locator('[data-book="bids"] tbody')).to_contain_text("101.00")
    expect(page).to_have_url(re.compile("at=of-now"))
    page.get_by_label("Books as of").select_option("")
    expect(asks.locator("tbody tr")).to_have_count(2, timeout=NEWS_MS)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark"), (390, "light")])
def test_it_fits_and_no_rule_of_accessibility_is_broken(
    chromium: Browser, quoted: Served, width: int, scheme: Scheme
) -> None:
    with opened(chromium, quoted, width, scheme, path=PATH) as watched:
        page = watched.page
        expect(chart(page, "spread 1m").get_by_text(re.compile("candles since"))).to_be_visible(timeout=PAINT_MS)
        chart(page, "buy 1s").get_by_text("as a table").click()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert grave_violations(page) == []
        assert watched.complaints == []
