"""Trades and backtests in a real Chromium: an arbitrage looked into, a file saved, a backtest asked for and ended."""

import csv

import pytest
from playwright.sync_api import Page, TimeoutError, expect

from session.session import Session
from store.mongo.store import open_store
from store.records.backtest_requests import TickSetSummary
from tests.ui.pages.browser import AT_REST, NEWS_MS, PAINT_MS, Watched, awaited
from tests.ui.serving import Served

pytestmark = pytest.mark.browser

OPEN_MS = 3_000
MOST_TRIES = 8
TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)


def test_an_arbitrage_is_looked_into_and_all_of_them_saved(wide: Watched) -> None:
    page = wide.page
    wide.go("Trades & P&L")
    listed = page.get_by_role("region", name="Arbitrages, newest first")
    expect(listed.get_by_role("row")).to_have_count(2, timeout=PAINT_MS)
    expect(page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    choose_first(page, "Details of one arbitrage")
    steps = page.get_by_role("region", name="Timeline")
    expect(steps.get_by_role("rowheader", name="reserved")).to_have_count(2, timeout=NEWS_MS)
    assert rows_saved(page, "Arbitrages as CSV") == ["the-first-trade"]
    assert wide.complaints == []
    assert wide.hosts == {"127.0.0.1"}


def test_a_backtest_is_asked_for_with_the_key_and_cancelled(wide: Watched, served_dashboard: Served) -> None:
    page, session = wide.page, served_dashboard.session
    awaited(reported(session))
    wide.go("Backtests")
    page.get_by_label("API key", exact=True).fill((session.home / "api_key").read_text().strip(), timeout=PAINT_MS)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("may change settings")).to_be_visible(timeout=NEWS_MS)
    page.get_by_role("button", name="Start backtest").click()
    expect(page.get_by_text("Queued and running")).to_be_visible(timeout=NEWS_MS)
    page.get_by_role("button", name="Cancel").click()
    results = page.get_by_role("region", name="Finished backtests, newest first")
    expect(results.get_by_text("cancelled before it began")).to_be_visible(timeout=NEWS_MS)
    assert wide.complaints == []


def choose_first(page: Page, label: str) -> None:
    """Open a list and click its first option, again if the page was just being drawn once more, which closes the
    list or replaces its options."""
    option = page.get_by_role("option").first
    for _ in range(MOST_TRIES):
        try:
            page.get_by_label(label).click(timeout=PAINT_MS)
            option.wait_for(timeout=OPEN_MS)
            option.click(timeout=OPEN_MS)
        except TimeoutError:
            continue
        return
    raise AssertionError(f"no option of {label!r} could be chosen in {MOST_TRIES} tries")


def rows_saved(page: Page, link: str) -> list[str]:
    """Ids in the file behind `link`."""
    with page.expect_download() as saving:
        page.get_by_role("link", name=link).click()
    with saving.value.path().open(newline="") as file:
        return [row["arbitrage_id"] for row in csv.DictReader(file)]


async def reported(session: Session) -> None:
    async with await open_store(session) as store:
        await store.backtests.report_tick_sets([TICK_SET])
