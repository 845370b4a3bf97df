"""Pages in a real Chromium: their first visit, lists of a long session, a grid that changes sixty times a second, and
what five pages keep.

`python -m benchmarks.visits [--assets N] [--arbitrages N] [--stay SECONDS]`. A real mongod, broker and dashboard
process, with generated quotes of N assets on five exchanges, and copies of one trade; or `--address`, of a session that
runs, for first visits alone. The weight is what went over the line, in and out of the browser's own cache nothing.
"""

import argparse
import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
from playwright.async_api import Browser, CDPSession, Page, async_playwright

from benchmarks.earlier_sessions import fill_database
from benchmarks.generated_ticks import GeneratedTicks, markets
from benchmarks.live_pages import MANY_ASSETS
from runtime.clock import SystemClock, steady_now, wall_now
from session.session import Session
from store.server.client import connect, database_of
from streams.message_format import quote_row
from streams.topic_writer import TopicWriter
from streams.topics import TICKS
from tests.services import embedded_kafka, embedded_mongodb
from tests.ui.pages.browser import ARGUMENTS, AT_REST, CHROMIUM, PAGES, PAINT_MS, prepare
from tests.ui.pages.screenshots import SHIFTS
from tests.ui.samples import session_of
from tests.ui.serving import served

TABLE = '[data-testid="stHtml"] table'
FIGURES = {
    "Live": '[data-part="panel"][data-known="yes"]',
    "Market": "[data-chart] canvas",
    "Opportunities": TABLE,
    "Trades & P&L": TABLE,
    "Bots & thresholds": "[data-setting]",
    "Backtests": '[data-part="recordings-said"]',
    "Apps": '[data-part="app-list"]',
    "Signals": "table",
    "Health": TABLE,
}
"""Page → what it is visited for."""
SETTLED_MS = 3_500
SPAN_MS = 5_000
A_SECOND = 60
GRID = """async ({ millisecond, aSecond }) => {
  const { liveFeed } = await import("/assets/live_feed.js");
  const rows = [...liveFeed.model.assets.values()];
  const [frames, began] = [[], performance.now()];
  let sent = 0;
  const timer = setInterval(() => {
    const wanted = Math.floor(((performance.now() - began) * aSecond) / 1000);
    if (sent >= wanted) return;
    sent = wanted;
    const moved = (price) => ({ ...price, bid: price.bid * (1 + sent / 1e7), ask: price.ask * (1 + sent / 1e7) });
    liveFeed.take({ type: "assets", assets: rows.map((row) => ({ ...row, prices: row.prices.map(moved) })) });
  }, 1);
  await new Promise((done) => {
    const look = (now) => {
      frames.push(now);
      if (now - began < millisecond) requestAnimationFrame(look);
      else done();
    };
    requestAnimationFrame(look);
  });
  clearInterval(timer);
  const gaps = frames.slice(1).map((at, i) => at - frames[i]).sort((one, other) => one - other);
  const late = gaps.filter((gap) => gap > 25).length;
  return { rows: rows.length, sent, frames: frames.length, p50: gaps[gaps.length >> 1], longest: gaps.at(-1), late };
}"""
CONTENT = """performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1"""


@dataclass(slots=True)
class Weight:
    """What a page asked for."""

    requests: int = 0
    received: float = 0.0

    async def watch(self, page: Page) -> CDPSession:
        session = await page.context.new_cdp_session(page)
        await session.send("Network.enable")
        session.on("Network.responseReceived", self._count)
        session.on("Network.loadingFinished", self._weigh)
        return session

    def _count(self, _: Any) -> None:
        self.requests += 1

    def _weigh(self, told: Any) -> None:
        self.received += told["encodedDataLength"]


async def visit(browser: Browser, address: str, title: str, width: int = 1280) -> str:
    """Open it in a browser that has seen nothing yet. Return a line of the table."""
    context = await browser.new_context(viewport={"width": width, "height": 900})
    page, weight = await context.new_page(), Weight()
    await weight.watch(page)
    await page.add_init_script(SHIFTS)
    began = steady_now()
    await page.goto(f"{address}/{PAGES[title]}", timeout=PAINT_MS, wait_until="commit")
    await page.locator(FIGURES[title]).first.wait_for(timeout=PAINT_MS)
    figures = (steady_now() - began) / 1_000
    before = weight.requests
    await page.locator(AT_REST).wait_for(state="attached", timeout=PAINT_MS)
    await page.wait_for_timeout(SETTLED_MS)
    loading = await page.evaluate("window.layoutShift")
    await page.evaluate("window.layoutShift = 0")
    await page.wait_for_timeout(SETTLED_MS)
    content, standing = await page.evaluate(CONTENT), await page.evaluate("window.layoutShift")
    moved = await page.evaluate("window.moved")
    await context.close()
    times = f"{content:9.0f}{figures:9.0f}{loading:9.3f}{standing:9.3f}"
    return "\n    ".join((f"{title:20}{times}{before:7}{weight.requests:7}{weight.received / 1_000:9.0f}", *moved))


async def walk(page: Page) -> None:
    """Go from page to page by its links, and time each until its figures stand."""
    for title in (*list(PAGES)[1:], "Live"):
        began = steady_now()
        await page.get_by_role("link", name=title, exact=True).first.click()
        await page.locator(FIGURES[title]).first.wait_for(timeout=PAINT_MS)
        say(f"to {title}", (steady_now() - began) / 1_000)
        if title == "Trades & P&L":
            await sort_trades(page)


async def sort_trades(page: Page) -> None:
    for wanted, name in (("smallest", "Net"), ("largest", "Net ↑")):
        began = steady_now()
        await page.get_by_role("button", name=name, exact=True).click()
        await page.get_by_role("region", name=f"Arbitrages, by net, {wanted} first").wait_for(timeout=PAINT_MS)
        say(f"  by net, {wanted} first", (steady_now() - began) / 1_000)


def say(what: str, milliseconds: float) -> None:
    print(f"{what:32}{milliseconds:9.0f} ms")


async def stay(browser: Browser, address: str, seconds: float) -> None:
    """Leave five pages open, and compare what they hold after a third of the time and at its end."""
    titles = ("Live", "Market", "Opportunities", "Trades & P&L", "Health")
    pages = [await browser.new_page() for _ in titles]
    for page, title in zip(pages, titles, strict=True):
        await page.goto(f"{address}/{PAGES[title]}", timeout=PAINT_MS)
    sessions = [await page.context.new_cdp_session(page) for page in pages]
    held: list[list[tuple[float, float]]] = []
    for wait in (seconds / 3, seconds * 2 / 3):
        await SystemClock().sleep(wait)
        held.append([await kept(one) for one in sessions])
    for title, (nodes, heap), (nodes_after, heap_after) in zip(titles, *held, strict=True):
        print(f"{title:20}nodes {nodes:6.0f} → {nodes_after:6.0f}  heap {heap:5.1f} → {heap_after:5.1f} MB")


async def kept(session: CDPSession) -> tuple[float, float]:
    await session.send("HeapProfiler.collectGarbage")
    await session.send("Performance.enable")
    found = {one["name"]: one["value"] for one in (await session.send("Performance.getMetrics"))["metrics"]}
    return found["Nodes"], found["JSHeapUsedSize"] / 1e6


async def keep_quoting(session: Session, assets: tuple[str, ...], rate: float) -> None:
    ticks, writer = GeneratedTicks(1, assets), TopicWriter(session.services.kafka)
    while True:
        now = wall_now()
        for one in (*ticks.rates(now), *(ticks.next(now) for _ in range(round(rate / 10)))):
            writer.write(TICKS, quote_row(one), partition=0)
        await writer.flush()
        await SystemClock().sleep(0.1)


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


async def visits(browser: Browser, address: str) -> None:
    print(f"load {psutil.getloadavg()[0]:.1f}")
    print(f"{'first visit':20}{'content':>9}{'figures':>9}{'shift':>9}{'then':>9}{'files':>7}{'in all':>7}{'kB':>9}")
    for title in PAGES:
        print(await visit(browser, address, title))
        sys.stdout.flush()


async def measure(session: Session, address: str, assets: tuple[str, ...], given: argparse.Namespace) -> None:
    quoting = asyncio.create_task(keep_quoting(session, assets, given.quotes))
    async with chromium() as browser:
        await visits(browser, address)
        page = await browser.new_page()
        await page.goto(f"{address}/", timeout=PAINT_MS)
        await page.locator(FIGURES["Live"]).wait_for(timeout=PAINT_MS)
        await walk(page)
        print("grid", await page.evaluate(GRID, {"millisecond": SPAN_MS, "aSecond": A_SECOND}))
        await page.close()
        if given.stay:
            await stay(browser, address, given.stay)
    quoting.cancel()
    await asyncio.gather(quoting, return_exceptions=True)


async def filled(session: Session, arbitrages: int) -> None:
    await prepare(session)
    if arbitrages:
        client = connect(session.services.mongodb)
        await fill_database(database_of(client, session.services.database), arbitrages)
        client.close()


def main(given: argparse.Namespace) -> None:
    assets = MANY_ASSETS[: given.assets]
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as mongodb,
        embedded_kafka(Path(folder)) as kafka,
    ):
        known = session_of(Path(folder), mongodb.address, "benchmark", kafka.address)
        session = replace(known, session_id="benchmark", markets=(*known.markets, *markets(assets)))
        asyncio.run(filled(session, given.arbitrages))
        with served(session) as dashboard:
            asyncio.run(measure(session, f"http://{dashboard.address}", assets, given))


async def only_visits(address: str) -> None:
    async with chromium() as browser:
        await visits(browser, address)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--address", help="of a session that runs")
    parser.add_argument("--assets", type=int, default=50, help="on five exchanges each")
    parser.add_argument("--arbitrages", type=int, default=0)
    parser.add_argument("--quotes", type=float, default=300.0, help="a second")
    parser.add_argument("--stay", type=float, default=0.0, help="seconds that five pages stay open")
    chosen = parser.parse_args()
    if chosen.address:
        asyncio.run(only_visits(chosen.address.rstrip("/")))
    else:
        main(chosen)
