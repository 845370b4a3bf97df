"""Alert rules on the page Health in a real Chromium: one is made, previewed, fires and is removed."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.pages.browser import NEWS_MS, PAINT_MS, Scheme, opened
from tests.ui.pages.test_alerts_in_browser import LOOKED_MS, SIGN_IN
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from ui.auth.api_keys import ensure_api_key

pytestmark = pytest.mark.browser


def open_form(page: Page) -> None:
    """Open it; it appears once the server has looked at its metrics."""
    page.get_by_role("button", name="New rule…").click(timeout=PAINT_MS)
    form = page.get_by_role("form", name="Alert rule")
    expect(form.get_by_label("Metric").locator("option").first).to_be_attached(timeout=LOOKED_MS)


def test_a_rule_is_previewed_kept_fires_and_is_removed(chromium: Browser, served_dashboard: Served) -> None:
    key = ensure_api_key(served_dashboard.session.home).read_text().strip()
    with opened(chromium, served_dashboard, path="health") as watched:
        page = watched.page
        open_form(page)
        form = page.get_by_role("form", name="Alert rule")
        form.get_by_label("Metric").select_option("arbitrage_balance_free")
        form.get_by_label("Name").fill("short of dollars")
        form.get_by_label("Exchange").select_option("alpha")
        form.get_by_label("Currency").select_option("USD")
        form.get_by_label("Is", exact=True).select_option("below")
        expect(page.locator('[data-part="rule-preview"]')).to_contain_text("Type a number", timeout=NEWS_MS)
        form.get_by_label("Threshold").fill("1000000")
        expect(page.locator('[data-part="rule-preview"]')).to_contain_text(
            re.compile("It would have fired once since .*1 series; below 1,000,000"), timeout=NEWS_MS
        )
        assert grave_violations(page) == []
        form.get_by_role("button", name="Keep this rule").click()
        expect(page.locator('[data-part="rule-said"]')).to_contain_text("sign in", timeout=NEWS_MS)
        page.evaluate(SIGN_IN, key)
        form.get_by_role("button", name="Keep this rule").click()
        rule = page.get_by_role("list", name="Alert rules").get_by_role("listitem")
        expect(rule).to_contain_text("short of dollars: fires", timeout=NEWS_MS)
        alert = page.get_by_role("list", name="Open alerts").get_by_role("listitem").filter(has_text="short of dollars")
        expect(alert).to_contain_text("arbitrage_balance_free of alpha USD", timeout=LOOKED_MS)
        expect(page).to_have_title(re.compile(r"^\(\d+\) Paper trading"), timeout=LOOKED_MS)
        rule.get_by_role("button", name="Change short of dollars").click()
        expect(form.get_by_label("Threshold")).to_have_value("1000000", timeout=NEWS_MS)
        form.get_by_label("Threshold").fill("1")
        form.get_by_role("button", name="Keep this rule").click()
        expect(rule).to_contain_text("short of dollars: quiet", timeout=NEWS_MS)
        rule.get_by_role("button", name="Remove short of dollars").click()
        rule.get_by_role("button", name="Remove short of dollars").click()
        expect(rule).to_contain_text("No rules of your own yet", timeout=NEWS_MS)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (1280, "light"), (390, "dark"), (390, "light")])
def test_the_form_fits_and_no_rule_of_accessibility_is_broken(
    chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, width, scheme, path="health") as watched:
        page = watched.page
        open_form(page)
        page.get_by_label("Threshold").fill("5")
        expect(page.locator('[data-part="rule-preview"]')).to_contain_text("since", timeout=NEWS_MS)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert grave_violations(page) == []
        assert watched.complaints == []
