"""The button "Halt…" of every page in Chromium: there with the first paint, in two acts, whatever Streamlit does."""

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from runtime.clock import wall_now
from tests.ui.pages.browser import NEWS_MS, PAGES, PAINT_MS, Scheme, opened
from tests.ui.pages.test_bots_in_browser import COVERED
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from ui.auth.api_keys import digest_of
from ui.auth.key_store import StoredKey, add_key

pytestmark = pytest.mark.browser

IN_FRONT = """() => {
  const box = document.querySelector('#halt [data-halt="open"]').getBoundingClientRect();
  return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)?.dataset.halt;
}"""


class Switch:
    """The service behind the pages, by REST."""

    def __init__(self, served: Served) -> None:
        self.address = f"http://{served.address}"
        self.home = served.session.home
        self.key = (self.home / "api_key").read_text().strip()

    @property
    def state(self) -> str:
        return str(httpx.get(f"{self.address}/api/settings").json()["trading_state"])

    def resume(self) -> None:
        headers = {"X-API-Key": self.key}
        httpx.put(f"{self.address}/api/trading-state", json={"state": "running"}, headers=headers).raise_for_status()

    def sign_in(self, context: BrowserContext, key: str) -> None:
        """As the pages do, before any is open."""
        context.request.post(f"{self.address}/api/sign-in", data={"key": key}, fail_on_status_code=True)


@pytest.fixture
def switch(served_dashboard: Served) -> Iterator[Switch]:
    made = Switch(served_dashboard)
    yield made
    made.resume()


@pytest.fixture
def context(chromium: Browser) -> Iterator[BrowserContext]:
    made = chromium.new_context(viewport={"width": 1280, "height": 900})
    yield made
    made.close()


def page_without_scripts(context: BrowserContext, address: str) -> Page:
    """Return a page for which neither Streamlit's files nor any of ours come."""
    page = context.new_page()
    for files in ("static", "assets", "vendor"):
        page.route(f"**/{files}/**", lambda route: route.abort())
    page.goto(address, wait_until="domcontentloaded", timeout=PAINT_MS)
    return page


@pytest.mark.parametrize("path", PAGES.values())
def test_before_any_script_has_come_two_acts_of_the_keyboard_halt_trading(
    context: BrowserContext, switch: Switch, path: str
) -> None:
    switch.sign_in(context, switch.key)
    page = page_without_scripts(context, f"{switch.address}/{path}")
    expect(page.get_by_role("button", name="Halt…")).to_be_in_viewport()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Halt…")).to_be_focused()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="Halt trading?")
    expect(dialog.get_by_role("button", name="Halt trading")).to_be_focused()
    assert switch.state == "running"
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("Trading is halted (version", timeout=NEWS_MS)
    assert switch.state == "halted"
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(page.get_by_role("button", name="Halt…")).to_be_focused()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light"), (1280, "light"), (390, "dark")])
def test_the_mouse_halts_in_two_clicks_and_the_head_says_so(
    chromium: Browser, served_dashboard: Served, switch: Switch, width: int, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, width, scheme) as watched:
        page = watched.page
        switch.sign_in(page.context, switch.key)
        assert page.evaluate(IN_FRONT) == "open"
        if width > 640:
            assert page.evaluate(COVERED, list(PAGES)) == []
        page.get_by_role("button", name="Halt…").click()
        assert grave_violations(page) == []
        page.get_by_role("dialog").get_by_role("button", name="Halt trading").click()
        expect(watched.part("trading")).to_have_text("trading halted", timeout=NEWS_MS)
        assert switch.state == "halted"
        page.get_by_role("button", name="Close").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert watched.complaints == []


def test_who_may_not_halt_is_told_why_in_one_sentence(context: BrowserContext, switch: Switch) -> None:
    page = context.new_page()
    page.goto(switch.address, timeout=PAINT_MS)
    page.get_by_role("button", name="Halt…").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Halt trading")
    confirm.click()
    said = page.get_by_role("dialog").get_by_role("status")
    expect(said).to_have_text("Not done: sign in with an operator's API key first.", timeout=NEWS_MS)
    add_key(switch.home, StoredKey("desk", "viewer", wall_now(), digest_of("a-viewer's-key")))
    switch.sign_in(context, "a-viewer's-key")
    confirm.click()
    expect(said).to_have_text("Not done: desk is a viewer and may not change anything.", timeout=NEWS_MS)
    assert switch.state == "running"


def test_what_nobody_answered_is_said_to_be_unknown(context: BrowserContext, switch: Switch) -> None:
    page = context.new_page()
    page.route("**/api/trading-state", lambda route: route.abort())
    page.goto(switch.address, timeout=PAINT_MS)
    page.get_by_role("button", name="Halt…").click()
    confirm = page.get_by_role("dialog").get_by_role("button", name="Halt trading")
    confirm.click()
    expect(page.get_by_role("dialog")).to_contain_text("No answer: trading may or may not be halted. Try again.")
    expect(confirm).to_be_enabled()
    page.get_by_role("button", name="Cancel").click()
    # another time nothing of it is left
    page.get_by_role("button", name="Halt…").click()
    expect(page.get_by_role("dialog").get_by_role("status")).to_be_empty()
