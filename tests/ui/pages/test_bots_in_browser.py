"""The page Bots & thresholds in Chromium: who signed in and for how long, two acts that halt trading, and a head that
hides nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, WebSocketRoute, expect
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.ui.pages.browser import AT_REST, NEWS_MS, PAGES, PAINT_MS, Scheme, Watched, awaited, opened
from tests.ui.reported import reported
from tests.ui.serving import Served
from ui.auth.sign_ins import COOKIE

pytestmark = pytest.mark.browser

RUNNING = '[data-testid="stApp"][data-test-script-state="running"]'
BOTTOM = (
    """() => { const main = document.querySelector('[data-testid="stMain"]'); main.scrollTo(0, main.scrollHeight); }"""
)
COVERED = """names => names.filter((name) => {
  const links = [...document.querySelectorAll('[data-testid="stHeader"] a')];
  const box = links.find((link) => link.textContent.includes(name)).getBoundingClientRect();
  const shares = [0.1, 0.5, 0.9];
  const points = shares.flatMap((x) => shares.map((y) => [box.x + x * box.width, box.y + y * box.height]));
  return points.some((point) => !document.elementFromPoint(...point)?.closest("a")?.textContent.includes(name));
})"""
OVERLAP = """() => {
  const edge = (of) => document.querySelector(of).getBoundingClientRect();
  return edge('[data-testid="stHeader"]').bottom - edge('.st-key-page_head').top;
}"""


@dataclass(frozen=True, slots=True)
class Steering:
    """The page, the key of its owner and the service behind it."""

    watched: Watched
    key: str
    address: str

    @property
    def page(self) -> Page:
        return self.watched.page

    def sign_in(self) -> None:
        self.page.get_by_role("textbox", name="API key").fill(self.key)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_text("Signed in as owner")).to_be_visible(timeout=PAINT_MS)

    def trading_state(self) -> str:
        return str(self.page.request.get(f"{self.address}/api/settings").json()["trading_state"])


@pytest.fixture(scope="module")
def steering(chromium: Browser, served_dashboard: Served) -> Iterator[Steering]:
    awaited(reported(served_dashboard.session))
    key = (served_dashboard.session.home / "api_key").read_text().strip()
    with opened(chromium, served_dashboard, path="bots") as watched:
        expect(watched.page.get_by_text("Trading is on.")).to_be_visible(timeout=PAINT_MS)
        yield Steering(watched, key, f"http://{served_dashboard.address}")


def confirm(page: Page) -> None:
    """From the keyboard alone."""
    halt = page.get_by_role("button", name="Halt trading")
    expect(halt).to_be_disabled()
    page.get_by_role("checkbox", name="I want to halt trading").focus()
    page.keyboard.press("Space")
    expect(halt).to_be_enabled()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")


def test_nobody_halts_trading_without_a_key(steering: Steering) -> None:
    confirm(steering.page)
    words = "Not done: sign in with an operator's API key first."
    expect(steering.watched.part("kill-switch")).to_contain_text(words, timeout=NEWS_MS)
    assert steering.trading_state() == "running"
    steering.sign_in()
    expect(steering.watched.part("kill-switch")).not_to_contain_text("Not done")
    steering.page.get_by_role("button", name="Sign out").click()
    expect(steering.page.get_by_role("textbox", name="API key")).to_be_visible()


def test_who_signed_in_stays_so_over_a_reload_and_a_typed_address_in_all_tabs_until_the_sign_out(
    steering: Steering,
) -> None:
    page, signed_in = steering.page, "Signed in as owner"
    # a script that began before the sign-in, in the same browser
    other = page.context.new_page()
    other.goto(f"{steering.address}/backtests")
    expect(other.get_by_role("textbox", name="API key")).to_be_visible(timeout=PAINT_MS)
    steering.sign_in()
    expect(other.get_by_text(signed_in)).to_be_visible(timeout=PAINT_MS)
    # what Python draws is for the same person
    for_operators = page.get_by_role("region", name="Audit log")
    expect(for_operators).to_be_visible(timeout=PAINT_MS)
    page.reload()
    expect(page.get_by_text(signed_in)).to_be_visible(timeout=PAINT_MS)
    expect(for_operators).to_be_visible(timeout=PAINT_MS)
    page.goto(f"{steering.address}/backtests")
    expect(page.get_by_text(signed_in)).to_be_visible(timeout=PAINT_MS)
    cookie = next(one for one in page.context.cookies() if one["name"] == COOKIE)
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    content = page.content()
    assert not [secret for secret in (steering.key, cookie["value"]) if secret in content]
    other.get_by_role("button", name="Sign out").click()
    for tab in (other, page):
        expect(tab.get_by_role("textbox", name="API key")).to_be_visible(timeout=PAINT_MS)
    page.reload()
    expect(page.get_by_role("textbox", name="API key")).to_be_visible(timeout=PAINT_MS)
    other.close()
    page.goto(f"{steering.address}/bots")
    steering.sign_in()


class PagesSocket:
    """Streamlit's own, between its page and its server: `hold` keeps back what says that a script has ended, `cut` all
    that either says."""

    def __init__(self, page: Page) -> None:
        self.is_held = self.is_cut = False
        page.route_web_socket("**/_stcore/stream", self._take)

    def _take(self, socket: WebSocketRoute) -> None:
        server = socket.connect_to_server()
        socket.on_message(lambda message: None if self.is_cut else server.send(message))
        server.on_message(lambda message: None if self._is_kept_back(message) else socket.send(message))

    def _is_kept_back(self, message: str | bytes) -> bool:
        reported = ForwardMsg.FromString(message if isinstance(message, bytes) else message.encode())
        has_ended = reported.WhichOneof("type") == "script_finished" or (
            reported.WhichOneof("type") == "session_status_changed"
            and not reported.session_status_changed.script_is_running
        )
        return self.is_cut or (self.is_held and has_ended)


def test_trading_is_halted_at_once_once_it_was_confirmed_though_no_script_answers(steering: Steering) -> None:
    page = steering.page.context.new_page()
    socket = PagesSocket(page)
    page.goto(f"{steering.address}/bots")
    switch = page.locator('[data-part="kill-switch"]')
    expect(switch).to_contain_text("Trading is on.", timeout=PAINT_MS)
    expect(page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    socket.is_cut = True
    confirm(page)
    expect(switch).to_contain_text("No orders are sent", timeout=NEWS_MS)
    expect(switch).to_contain_text("Trading is halted (version 2).")
    assert steering.trading_state() == "halted"
    expect(page.get_by_role("checkbox", name="I want to halt trading")).not_to_be_checked()
    for name, state in (("Reduce-only", "reduce_only"), ("Resume trading", "running")):
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("button", name=name)).to_be_disabled(timeout=NEWS_MS)
        assert steering.trading_state() == state
    page.close()


def test_no_button_to_stop_and_no_running_man_while_a_script_runs(steering: Steering) -> None:
    page = steering.page.context.new_page()
    socket = PagesSocket(page)
    page.goto(f"{steering.address}/bots")
    expect(page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    socket.is_held = True
    page.get_by_role("link", name="Health").first.click()
    expect(page.locator(RUNNING)).to_be_attached(timeout=PAINT_MS)
    # Streamlit would show them a moment later: they are there, and nobody sees them
    expect(page.get_by_test_id("stStatusWidget")).to_be_attached(timeout=PAINT_MS)
    expect(page.get_by_test_id("stStatusWidget")).to_be_hidden()
    expect(page.get_by_role("button", name="Stop", exact=True)).to_have_count(0)
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_head_covers_no_navigation_once_scrolled(
    chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme
) -> None:
    with opened(chromium, served_dashboard, width, scheme, path="bots") as watched:
        page = watched.page
        expect(page.locator("[data-setting]").first).to_be_visible(timeout=PAINT_MS)
        expect(page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
        page.evaluate(BOTTOM)
        page.wait_for_function("document.querySelector('[data-testid=\"stMain\"]').scrollTop > 500")
        assert page.evaluate(OVERLAP) <= 0
        assert page.evaluate("document.documentElement.scrollWidth") == width
        expect(watched.part("paper-badge")).to_be_in_viewport()
        if width > 640:
            assert page.evaluate(COVERED, list(PAGES)) == []
        else:
            page.get_by_test_id("stExpandSidebarButton").click()
        watched.go("Health")
        expect(page.get_by_role("heading", name="Health", exact=True)).to_be_attached(timeout=PAINT_MS)


def test_after_all_that_nobody_else_was_asked_and_the_key_stands_in_no_address(steering: Steering) -> None:
    assert steering.watched.hosts == {"127.0.0.1"}
    assert not [one for one in steering.watched.addresses if steering.key in one or "X-API-Key" in one]
