"""The page Signals in Chromium: levels of what apps watch, and what is found among them."""

import json
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.pages.app_answers import AT
from tests.ui.pages.browser import NEWS_MS, PAINT_MS, opened
from tests.ui.serving import Served

pytestmark = pytest.mark.browser


def signal(entity: str, level: str, reason: str, value: float | None) -> dict[str, Any]:
    return {"app": "exchange-signals", "signal": "delay", "since": AT} | {
        "entity": entity, "level": level, "reason": reason, "value": value}  # fmt: skip


def serve(page: Page) -> None:
    signals = [signal("kraken", "warning", "three times its <b>mean</b>", 950.5), signal("bitstamp", "none", "", None)]
    body = json.dumps({"apps": ["exchange-signals"], "signals": signals})
    page.route("**/api/signals", lambda route: route.fulfill(body=body, content_type="application/json"))


def test_signals_are_shown_the_worst_first_and_found(chromium: Browser, served_dashboard: Served) -> None:
    with opened(chromium, served_dashboard, path="signals", prepare=serve) as watched:
        rows = watched.page.locator("[data-signal]")
        expect(rows).to_have_count(2, timeout=PAINT_MS)
        expect(rows.first).to_contain_text("three times its <b>mean</b>")
        expect(rows.first).to_contain_text("950.5")
        watched.page.get_by_label("Find signals").fill("bitstamp none")
        expect(rows).to_have_count(1, timeout=NEWS_MS)
        expect(watched.part("signals-said")).to_have_text("1 of 2, of exchange-signals.")
        assert watched.complaints == []
