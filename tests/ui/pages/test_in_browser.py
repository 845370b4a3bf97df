"""The page in a real Chromium: what a user sees, by itself, from this host alone."""

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Playwright, Request, expect, sync_playwright

from market.clock import wall_now
from market.feeds import FeedState
from market.session import Session
from store.trades import open_store
from streams.admin import ensure_topics
from streams.topics import TICKS
from streams.wire import quote_row
from streams.writer import TopicWriter
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.store.wishes import open_books, opportunity
from tests.ui.samples import FX_MARKET, SETTINGS, quote, session_of
from tests.ui.serving import Served, served, served_again
from tests.ui.trading import traded

pytestmark = pytest.mark.browser

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PAINT_MS = 60_000
"""A cold browser on a busy machine."""
NEWS_MS = 15_000

Answer = TypeVar("Answer")


@dataclass
class Watched:
    """A page, and all it complained of and asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    addresses: list[str] = field(default_factory=list)

    def watch(self) -> "Watched":
        self.page.on("console", self._note_console)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._note_request)
        self.page.on("websocket", lambda socket: self._note_address(socket.url))
        return self

    def part(self, name: str) -> Any:
        return self.page.locator(f'[data-part="{name}"]')

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _note_request(self, request: Request) -> None:
        self._note_address(request.url)

    def _note_address(self, address: str) -> None:
        self.addresses.append(address)
        if not address.startswith(("data:", "blob:")):
            self.hosts.add(urlsplit(address).hostname or "")


def awaited(work: Coroutine[Any, Any, Answer]) -> Answer:
    """In a thread of its own: Playwright's loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result(60)


def trade(session: Session, identity: str, sequence: int) -> None:
    async def work() -> None:
        async with await open_store(session) as store:
            await traded(store, opportunity(identity, sequence), "0.01")

    awaited(work())


async def prepare(session: Session) -> None:
    """Books, feeds, one trade, and a quote of each market."""
    await ensure_topics(session.kafka, 1)
    async with await open_store(session) as store:
        await open_books(store, SETTINGS)
        await store.save_feed_state(FeedState("alpha", "us", "BTC/USD", "live", wall_now(), wall_now(), quotes=3))
        await traded(store, opportunity("the-first-trade", 1), "0.01")
    writer = TopicWriter(session.kafka)
    now = wall_now()
    for book in ((FX_MARKET, "1.1", "1.1001"), (USD_MARKET, "70000", "70002"), (EUR_MARKET, "63600", "63601")):
        writer.write(TICKS, quote_row(quote(*book, now)), partition=0)
    await writer.flush()
    await writer.close()


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory, mongodb_uri: str, kafka_address: str) -> Iterator[Served]:
    session = session_of(tmp_path_factory.mktemp("page"), mongodb_uri, f"test_{uuid4().hex}", kafka_address)
    awaited(prepare(session))
    with served(session) as running:
        yield running


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(f"there is no {CHROMIUM}; install Debian's chromium to run these")
    playwright: Playwright
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(chromium: Browser, served_at: Served, width: int = 1280, scheme: str = "dark") -> Iterator[Watched]:
    """The page, once it has shown its first data."""
    context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]  # a Literal
    watched = Watched(context.new_page()).watch()
    watched.page.goto(f"http://{served_at.address}/", timeout=PAINT_MS)
    expect(watched.page.locator('[data-part="panel"][data-known="yes"]')).to_be_visible(timeout=PAINT_MS)
    yield watched
    context.close()


@pytest.fixture(scope="module")
def wide(chromium: Browser, dashboard: Served) -> Iterator[Watched]:
    """One page for all tests that only look."""
    with opened(chromium, dashboard) as watched:
        yield watched


def test_nobody_can_miss_that_it_is_paper(wide: Watched) -> None:
    badge = wide.part("paper-badge")
    expect(badge).to_be_in_viewport()
    expect(badge).to_contain_text("Paper trading")
    expect(badge).to_contain_text("no real money")
    expect(wide.part("state")).to_have_text("live", timeout=NEWS_MS)
    expect(wide.part("trading")).to_have_text("trading on")


def test_everything_that_is_known_is_shown(wide: Watched) -> None:
    expect(wide.page.locator(".chart canvas")).to_have_count(2, timeout=NEWS_MS)
    expect(wide.page.locator('[data-market="alpha BTC/USD"] .figure')).to_have_text("$70,001.00")
    expect(wide.page.locator('[data-market="beta BTC/EUR"]')).to_contain_text("eu")
    expect(wide.page.locator(".spreads .cell")).to_have_count(2)
    expect(wide.page.locator('[data-trade="the-first-trade"]')).to_contain_text("closed")
    expect(wide.part("figure-net")).to_have_text("+$1.00")
    expect(wide.part("balances")).to_contain_text("EUR")
    expect(wide.part("profit")).to_contain_text("Depth slippage")
    expect(wide.part("profit-lines")).to_contain_text("not split")
    wide.page.get_by_role("button", name="Asset").click()
    expect(wide.part("profit-lines")).to_contain_text("BTC")
    expect(wide.part("exposures")).to_contain_text("USD")
    expect(wide.part("drifts")).to_contain_text("beta EUR")
    expect(wide.part("plan")).to_contain_text("Terms unknown")
    expect(wide.part("feeds")).to_contain_text("live")
    expect(wide.part("refusals")).to_have_text("No opportunity was refused yet.")
    expect(wide.part("opportunities")).to_have_text("Waiting for the first opportunity…")


def test_a_new_trade_appears_by_itself_and_the_filter_keeps_working(wide: Watched, dashboard: Served) -> None:
    trade(dashboard.session, "the-second-trade", 2)
    expect(wide.page.locator('[data-trade="the-second-trade"]')).to_be_visible(timeout=NEWS_MS)
    wide.part("filter").fill("alpha third")
    expect(wide.part("trades")).to_have_text("No trade matches the filter.")
    trade(dashboard.session, "the-third-trade", 3)
    expect(wide.page.locator('[data-trade="the-third-trade"]')).to_be_visible(timeout=NEWS_MS)
    trade(dashboard.session, "the-fourth-trade", 4)
    expect(wide.part("figure-net")).to_have_text("+$4.00", timeout=NEWS_MS)
    expect(wide.page.locator("[data-trade]")).to_have_count(1)
    wide.part("filter").fill("")
    expect(wide.page.locator("[data-trade]")).to_have_count(4)
    newest_first = wide.page.locator("[data-trade]").evaluate_all("rows => rows.map(row => row.dataset.trade)")
    assert newest_first[0] == "the-fourth-trade"


def test_settings_change_through_the_form(wide: Watched, dashboard: Served) -> None:
    key = (dashboard.session.home / "api_key").read_text().strip()
    assert key not in wide.page.content()
    wide.page.get_by_role("link", name="Bots & thresholds").click()
    wide.page.get_by_role("textbox", name="API key").fill(key)
    threshold = wide.page.get_by_label("Trade at or above (bps net)")
    threshold.fill("12.5")
    threshold.press("Tab")
    wide.page.get_by_role("button", name="Save settings").click()
    expect(wide.page.get_by_text("Saved as version 2.")).to_be_visible(timeout=PAINT_MS)
    assert wide.page.request.get(f"http://{dashboard.address}/api/settings").json()["min_net_bps"] == 12.5
    assert not any(key in address for address in wide.addresses)
    assert key not in dashboard.log


def test_after_all_that_one_socket_served_it_no_other_host_was_asked_and_nothing_complained(wide: Watched) -> None:
    assert len([address for address in wide.addresses if address.endswith("/ws/live")]) == 1
    assert wide.hosts == {"127.0.0.1"}
    assert wide.complaints == []


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_both_themes_are_readable_on_a_phone_without_scrolling_sideways(
    chromium: Browser, dashboard: Served, scheme: str
) -> None:
    with opened(chromium, dashboard, 390, scheme) as watched:
        expect(watched.part("paper-badge")).to_be_in_viewport()
        expect(watched.page.locator("[data-trade]").first.locator("td").last).to_be_visible()
        assert watched.page.evaluate("document.documentElement.scrollWidth") == 390
        colours = watched.part("panel").evaluate(
            "node => [getComputedStyle(node).color, getComputedStyle(node.querySelector('.card')).backgroundColor]"
        )
        light = [sum(map(int, colour.removeprefix("rgb(").removesuffix(")").split(",")[:3])) for colour in colours]
        assert abs(light[0] - light[1]) > 450, colours
        assert (light[0] < light[1]) == (scheme == "light")
        assert watched.complaints == []


def test_the_documentation_opens_without_another_host(chromium: Browser, dashboard: Served) -> None:
    context = chromium.new_context()
    watched = Watched(context.new_page()).watch()
    watched.page.goto(f"http://{dashboard.address}/docs", timeout=PAINT_MS)
    expect(watched.page.get_by_text("/api/settings").first).to_be_visible(timeout=PAINT_MS)
    assert (watched.hosts, watched.complaints) == ({"127.0.0.1"}, [])
    context.close()


def test_silent_it_is_stale_killed_and_back_it_reconnects_and_misses_no_trade(
    chromium: Browser, dashboard: Served, tmp_path: Path
) -> None:
    with served(replace(dashboard.session, home=tmp_path)) as first, opened(chromium, first) as watched:
        first.process.send_signal(signal.SIGSTOP)  # its sockets stay open: only silence tells
        expect(watched.part("state")).to_have_text("stale", timeout=NEWS_MS)
        first.process.send_signal(signal.SIGCONT)
        expect(watched.part("state")).to_have_text("live", timeout=NEWS_MS)
        first.kill()
        expect(watched.part("state")).to_have_text("reconnecting…", timeout=NEWS_MS)
        trade(dashboard.session, "while-it-was-away", 5)
        with served_again(first.session):
            expect(watched.part("state")).to_have_text("live", timeout=NEWS_MS)
            expect(watched.page.locator('[data-trade="while-it-was-away"]')).to_be_visible(timeout=NEWS_MS)
