"""A page in a real Chromium, watched: what it complains of and whom it asks. The fixtures are in `conftest.py`."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect

from market.prices.feed_state import FeedState
from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import open_store
from streams.message_format import quote_row
from streams.topic_admin import ensure_topics
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.market.samples import EUR_MARKET, USD_MARKET
from tests.services import empty_topics
from tests.store.reservation_requests import open_books, opportunity
from tests.ui.samples import FX_MARKET, SETTINGS, quote
from tests.ui.serving import Served
from tests.ui.trading import traded

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

PAGES = {
    "Live": "",
    "Market": "market",
    "Opportunities": "opportunities",
    "Trades & P&L": "trades",
    "Bots & thresholds": "bots",
    "Backtests": "backtests",
    "Apps": "apps",
    "Signals": "signals",
    "Health": "health",
}
"""Titles and paths, in the order of the links at the top."""

OTHER_MARKET = replace(USD_MARKET, symbol="ETH/USD", base="ETH")
"""So that there is an asset to switch to."""

AT_REST = '[data-testid="stApp"][data-test-script-state="notRunning"]'
"""Streamlit's script is done."""

Scheme = Literal["dark", "light"]
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

    def go(self, title: str) -> None:
        """To another page, as a user does: by its link at the top."""
        self.page.get_by_role("link", name=title).first.click()

    def live_sockets(self) -> int:
        """How many WebSockets to our own stream were ever opened."""
        return len([address for address in self.addresses if urlsplit(address).path == "/ws/live"])

    def _note_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.complaints.append(f"{message.text} {message.location.get('url', '')}".strip())

    def _note_request(self, request: Request) -> None:
        self._note_address(request.url)

    def _note_address(self, address: str) -> None:
        self.addresses.append(address)
        if not address.startswith(("data:", "blob:")):
            self.hosts.add(urlsplit(address).hostname or "")


@contextmanager
def opened(
    chromium: Browser,
    served_at: Served,
    width: int = 1280,
    scheme: Scheme = "dark",
    path: str = "",
    zone: str = "UTC",
    prepare: Callable[[Page], None] | None = None,
) -> Iterator[Watched]:
    """Return the page below `path` ("" is Live), once its header is live; `zone` is the browser's own. `prepare` is
    called before anything is asked for."""
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, timezone_id=zone, locale="en-GB"
    )
    watched = Watched(context.new_page()).watch()
    if prepare is not None:
        prepare(watched.page)
    watched.page.goto(f"http://{served_at.address}/{path}", timeout=PAINT_MS)
    expect(watched.page.locator('[data-part="header"][data-known="yes"]')).to_be_visible(timeout=PAINT_MS)
    if not path:
        expect(watched.page.locator('[data-part="panel"][data-known="yes"]')).to_be_visible(timeout=PAINT_MS)
    yield watched
    context.close()


def awaited(work: Coroutine[Any, Any, Answer]) -> Answer:
    """In a thread of its own: Playwright's loop runs in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result(60)


def trade(session: Session, identity: str, sequence: int) -> None:
    """One whole arbitrage into the store that the page follows."""

    async def work() -> None:
        async with await open_store(session) as store:
            await traded(store, opportunity(identity, sequence), "0.01")

    awaited(work())


async def prepare(session: Session) -> None:
    """Books, feeds, one trade, and a quote of each market; nothing of what others put on the broker is left."""
    empty_topics(session.services.kafka)
    await ensure_topics(session.services.kafka, 1)
    async with await open_store(session) as store:
        await open_books(store, SETTINGS)
        # heard of in an hour: nobody reports it again, and silent it would be down
        heard = wall_now() + 3_600 * MICROSECONDS
        await store.save_feed_states([FeedState("alpha", "us", "BTC/USD", "live", wall_now(), heard, quotes=3)])
        await traded(store, opportunity("the-first-trade", 1), "0.01")
    writer = TopicWriter(session.services.kafka)
    now = wall_now()
    books = (
        (FX_MARKET, "1.1", "1.1001"),
        (USD_MARKET, "70000", "70002"),
        (EUR_MARKET, "63600", "63601"),
        (OTHER_MARKET, "3500", "3501"),
    )
    for book in books:
        writer.write(TICKS, quote_row(quote(*book, now)), partition=0)
    await writer.flush()
    await writer.close()
