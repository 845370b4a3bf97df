"""Every page in a real Chromium: it opens without a fault, asks no other host, and axe-core finds nothing grave."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.ui.pages.browser import AT_REST, PAGES, PAINT_MS, Scheme, Watched, opened
from tests.ui.serving import Served

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "vendor/axe-core/axe.min.js"
GRAVE = {"serious", "critical"}
RUN_AXE = """() => axe.run(document, { resultTypes: ["violations"] }).then((found) => found.violations.map((one) => ({
  rule: one.id, impact: one.impact, places: one.nodes.map((node) => `${node.target.flat()} ${node.failureSummary}`),
})))"""


@pytest.fixture(scope="module", params=["dark", "light"])
def themed(request: pytest.FixtureRequest, chromium: Browser, served_dashboard: Served) -> Iterator[Watched]:
    """One page for all tests of a theme."""
    scheme: Scheme = request.param
    with opened(chromium, served_dashboard, scheme=scheme) as watched:
        yield watched


@pytest.mark.parametrize("title", PAGES)
def test_it_opens_with_the_head_and_no_grave_violation_of_accessibility(themed: Watched, title: str) -> None:
    themed.go(title)
    expect(heading(themed.page, title)).to_be_attached(timeout=PAINT_MS)
    expect(themed.page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    expect(themed.page.locator('[data-testid="stException"]')).to_have_count(0)
    expect(themed.part("paper-badge")).to_be_in_viewport()
    expect(themed.part("state")).to_have_text("live")
    assert grave_violations(themed.page) == []


def test_after_all_that_one_socket_served_it_no_other_host_was_asked_and_nothing_complained(themed: Watched) -> None:
    assert themed.live_sockets() == 1
    assert themed.hosts == {"127.0.0.1"}
    assert themed.complaints == []


def test_straight_to_a_page_nothing_is_looked_for_in_vain_and_the_tab_has_an_icon(
    chromium: Browser, served_dashboard: Served
) -> None:
    with opened(chromium, served_dashboard, path="health") as watched:
        expect(heading(watched.page, "Health")).to_be_attached(timeout=PAINT_MS)
        expect(watched.page).to_have_title(re.compile("Paper trading"))
        expect(watched.page.locator('link[rel~="icon"]')).to_have_attribute("href", re.compile(r"^data:image/svg"))
        assert watched.complaints == []


def heading(page: Page, title: str) -> Any:
    """Live has its heading for those alone who do not see that it is Live."""
    return page.get_by_role("heading", name=title, exact=True)


def grave_violations(page: Page) -> list[str]:
    """One line for each place, with the rule that it breaks."""
    if not page.evaluate("'axe' in window"):
        # by the debugger: the page lets no script run that it did not bring itself
        page.evaluate(AXE.read_text())
    found: list[dict[str, Any]] = page.evaluate(RUN_AXE)
    return [f"{one['rule']}: {place}" for one in found if one["impact"] in GRAVE for place in one["places"]]
