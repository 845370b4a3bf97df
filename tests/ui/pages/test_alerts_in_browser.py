"""Alerts on the page Health in a real Chromium: one is acknowledged, muted and counted again."""

import re

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.ui.pages.browser import NEWS_MS, PAINT_MS, opened
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from ui.auth.api_keys import ensure_api_key

pytestmark = pytest.mark.browser

LOOKED_MS = 30_000
SIGN_IN = """key => fetch("/api/sign-in", {
  method: "POST", body: JSON.stringify({ key }), headers: { "Content-Type": "application/json" },
})"""
WHAT = re.compile("Trading is halted")


def test_an_alert_is_acknowledged_and_muted_by_an_operator(chromium: Browser, served_dashboard: Served) -> None:
    key = ensure_api_key(served_dashboard.session.home).read_text().strip()
    address = f"http://{served_dashboard.address}"
    halted = httpx.put(f"{address}/api/trading-state", headers={"X-API-Key": key}, json={"state": "halted"})
    assert halted.status_code == 200
    with opened(chromium, served_dashboard, path="health") as watched:
        page = watched.page
        alert = page.get_by_role("list", name="Open alerts").get_by_role("listitem").filter(has_text=WHAT)
        expect(alert).to_contain_text("not acknowledged", timeout=PAINT_MS + LOOKED_MS)
        alert.get_by_role("button", name="Acknowledge").click()
        expect(page.locator('[data-part="alert-said"]')).to_contain_text("sign in", timeout=NEWS_MS)
        assert grave_violations(page) == []
        # as a page that somebody signed in on
        page.evaluate(
            SIGN_IN,
            key,
        )
        alert.get_by_role("button", name="Acknowledge").click()
        expect(alert).to_contain_text("acknowledged by owner", timeout=NEWS_MS)
        alert.get_by_role("combobox").select_option("1 hour")
        expect(alert).to_contain_text("muted by owner until", timeout=NEWS_MS)
        alert.get_by_role("button", name="Unmute").click()
        expect(alert.get_by_role("combobox")).to_be_visible(timeout=NEWS_MS)
