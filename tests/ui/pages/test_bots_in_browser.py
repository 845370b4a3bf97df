"""The page Bots & thresholds in Chromium: what is saved there is in force, and two clicks halt trading."""

import pytest
from playwright.sync_api import expect

from tests.ui.pages.browser import PAINT_MS, Watched, awaited
from tests.ui.serving import Served
from tests.ui.told import told

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def steering(wide: Watched, served_dashboard: Served) -> Watched:
    """The page, by somebody who signed in."""
    awaited(told(served_dashboard.session))
    key = (served_dashboard.session.home / "api_key").read_text().strip()
    wide.go("Bots & thresholds")
    wide.page.get_by_role("textbox", name="API key").fill(key)
    wide.page.get_by_role("button", name="Sign in").click()
    expect(wide.page.get_by_text("Signed in as owner")).to_be_visible(timeout=PAINT_MS)
    assert key not in wide.page.content()
    return wide


def test_a_threshold_is_changed_and_read_back_through_rest(steering: Watched, served_dashboard: Served) -> None:
    threshold = steering.page.get_by_label("Trade at or above (bps net)")
    threshold.fill("20000")
    threshold.press("Tab")
    expect(steering.page.get_by_text("Out of range: it may be −1,000 to 10,000 bps.")).to_be_visible(timeout=PAINT_MS)
    threshold.fill("12.5")
    threshold.press("Tab")
    expect(steering.page.get_by_text("● 1 unsaved change")).to_be_visible(timeout=PAINT_MS)
    steering.page.get_by_role("button", name="Save settings").click()
    expect(steering.page.get_by_text("Saved as version 2.")).to_be_visible(timeout=PAINT_MS)
    settings = steering.page.request.get(f"http://{served_dashboard.address}/api/settings").json()
    assert (settings["min_net_bps"], settings["version"]) == (12.5, 2)
    assert not any(name in address for address in steering.addresses for name in ("api_key", "X-API-Key"))


def test_trading_is_halted_from_the_keyboard_once_it_was_confirmed(steering: Watched, served_dashboard: Served) -> None:
    halt = steering.page.get_by_role("button", name="Halt trading")
    expect(halt).to_be_disabled()
    sure = steering.page.get_by_role("checkbox", name="I want to halt trading")
    sure.focus()
    steering.page.keyboard.press("Space")
    expect(halt).to_be_enabled(timeout=PAINT_MS)
    halt.focus()
    steering.page.keyboard.press("Enter")
    expect(steering.page.get_by_text("Nothing is sent any more").first).to_be_visible(timeout=PAINT_MS)
    risk = steering.page.request.get(f"http://{served_dashboard.address}/api/settings").json()
    assert risk["trading_state"] == "halted"
