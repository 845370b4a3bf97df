"""From the fill to the page: when a trade is in the DOM of a real Chromium, beside a floor measured in the same run.

`python -m benchmarks.dashboard [--count N] [--quotes N] [--pages N]`. A real mongod, broker and dashboard process, with
quotes at a paper session's rate. Each trade is written by the store's calls that bots make; all times count from the
moment before the last fill is handed to the store. The floor is a bare change stream in this process: it sees a
document as soon as it is there, and does nothing with it. A plain WebSocket client shows what the hub adds to that, and
the DOM what the browser adds (the time of the animation frame in which the row says "closed", by a MutationObserver on
the same clock).
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import quantiles

import orjson
import psutil
import websockets
from playwright.async_api import Page, async_playwright

from market.time_units import MICROSECONDS
from market.trade.leases import UNFENCED
from market.trade.order_results import result_of
from runtime.clock import SystemClock, wall_now
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from store.server.client import connect, database_of
from store.server.documents import ARBITRAGES
from tests.services import embedded_kafka, embedded_mongodb
from tests.store.reservation_requests import close, filled, granted, opportunity, reserved
from tests.ui.pages.browser import ARGUMENTS, CHROMIUM, prepare
from tests.ui.samples import session_of
from tests.ui.serving import Served, served
from tests.web.serving import taken_by, traffic

STAGES = {
    "stored": "store call answered",
    "floor": "bare change stream",
    "socket": "WebSocket client",
    "dom": "in the DOM",
}
PATIENCE_SECONDS = 10.0
WARM_UP = 5
SEED = 7
OBSERVE = """(body) => {
  window.closedAt = {};
  const look = () => {
    for (const row of body.querySelectorAll("tr[data-trade]")) {
      if (row.querySelector(".badge.closed")) window.closedAt[row.dataset.trade] ??= Date.now();
    }
  };
  new MutationObserver(look).observe(body, { attributes: true, childList: true, subtree: true });
  look();
}"""


@dataclass(slots=True)
class Measured:
    """Trade → stage → microseconds of wall time."""

    begun: dict[str, int] = field(default_factory=dict)
    seen: dict[str, dict[str, int]] = field(default_factory=lambda: {stage: {} for stage in STAGES})

    def note(self, stage: str, trade: str) -> None:
        self.seen[stage].setdefault(trade, wall_now())

    def milliseconds(self, stage: str, before: str | None = None) -> list[float]:
        """Return the times since the fill, or since the stage `before`, of the trades that reached the stage."""
        since = self.begun if before is None else self.seen[before]
        return [(at - since[trade]) / 1_000 for trade, at in self.seen[stage].items() if trade in self.begun]


async def watch_floor(session: Session, measured: Measured, ready: asyncio.Event) -> None:
    client = connect(session.services.mongodb)
    try:
        database = database_of(client, session.services.database)
        async with database.watch(
            [{"$match": {"ns.coll": ARBITRAGES}}], full_document="updateLookup", max_await_time_ms=500
        ) as stream:
            ready.set()
            async for change in stream:
                document = change["fullDocument"]
                if isinstance(document, dict) and document["state"] == "closed":
                    measured.note("floor", document["_id"])
    finally:
        client.close()


async def watch_socket(dashboard: Served, measured: Measured, ready: asyncio.Event) -> None:
    async with websockets.connect(f"ws://{dashboard.address}/ws/live", max_size=None, compression=None) as socket:
        async for message in socket:
            ready.set()
            reported = orjson.loads(message)
            if reported["type"] == "trade" and reported["state"] == "closed":
                measured.note("socket", reported["arbitrage_id"])


@asynccontextmanager
async def pages(dashboard: Served, count: int) -> AsyncIterator[Page]:
    """Yield the first page, which notes when a trade is in its DOM."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        opened = [await browser.new_page() for _ in range(count)]
        for page in opened:
            await page.goto(f"http://{dashboard.address}/", timeout=60_000)
            await page.locator('[data-part="panel"][data-known="yes"]').wait_for(timeout=60_000)
        await opened[0].bring_to_front()
        await opened[0].locator('[data-part="trades"]').evaluate(OBSERVE)
        yield opened[0]
        await browser.close()


async def trade(store: MongoTradeStore, identity: str, measured: Measured) -> None:
    of = opportunity(identity, wall_now())
    await reserved(store, of, "0.001")
    buy, sell = await granted(store, identity, "buy"), await granted(store, identity, "sell")
    for leg in (buy, sell):
        await store.report_order(result_of(identity, leg, filled(leg)), UNFENCED)
    measured.begun[identity] = wall_now()
    await store.book(identity, close, UNFENCED)
    measured.note("stored", identity)


async def until_shown(page: Page, identity: str, measured: Measured) -> None:
    """Wait until the page shows the trade. Raises AssertionError if it never does."""
    deadline = wall_now() + int(PATIENCE_SECONDS * MICROSECONDS)
    while True:
        at = await page.evaluate("id => window.closedAt[id]", identity)
        if at is not None:
            measured.seen["dom"][identity] = int(at * 1_000)
        if all(identity in measured.seen[stage] for stage in STAGES):
            return
        assert wall_now() < deadline, f"{identity} was not shown"
        await SystemClock().sleep(0.05)


async def measure(dashboard: Served, count: int, page_count: int) -> Measured:
    measured, draw = Measured(), random.Random(SEED)
    ready = asyncio.Event(), asyncio.Event()
    watching = [
        asyncio.create_task(watch_floor(dashboard.session, measured, ready[0])),
        asyncio.create_task(watch_socket(dashboard, measured, ready[1])),
    ]
    async with pages(dashboard, page_count) as page, await open_store(dashboard.session) as store:
        for event in ready:
            await event.wait()
        taken = taken_by(dashboard)
        for number in range(WARM_UP + count):
            identity = f"measured-{number}"
            await trade(store, identity, measured)
            await until_shown(page, identity, measured)
            if number < WARM_UP:
                del measured.begun[identity]
            # not in step with the hub's pulses or the browser's frames
            await SystemClock().sleep(draw.uniform(0.2, 0.7))
        for task in watching:
            task.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        cores = taken.cores
    print(f"ui process: {cores:.3f} cores with {page_count} pages")
    return measured


def row(name: str, milliseconds: Sequence[float]) -> str:
    cuts = quantiles(milliseconds, n=100, method="inclusive")
    return f"{name:34}{cuts[49]:9.1f}{cuts[94]:9.1f}{cuts[98]:9.1f}"


def show(measured: Measured) -> None:
    one, five, fifteen = psutil.getloadavg()
    print(f"{len(measured.milliseconds('dom'))} trades; load {one:.1f} {five:.1f} {fifteen:.1f}")
    print(f"{'milliseconds since the fill':34}{'p50':>9}{'p95':>9}{'p99':>9}")
    for stage, name in STAGES.items():
        print(row(name, measured.milliseconds(stage)))
    print(row("of that: hub (floor → socket)", measured.milliseconds("socket", "floor")))
    print(row("of that: browser (socket → DOM)", measured.milliseconds("dom", "socket")))
    ratio = quantiles(measured.milliseconds("dom"), n=20)[18] / quantiles(measured.milliseconds("floor"), n=20)[18]
    print(f"p95 in the DOM is {ratio:.1f} times the floor's")


def main(count: int, quotes: float, page_count: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        embedded_mongodb(Path(folder)) as mongodb,
        embedded_kafka(Path(folder)) as kafka,
    ):
        session = session_of(Path(folder), mongodb.address, "benchmark", kafka.address)
        session = replace(session, session_id="benchmark")
        asyncio.run(prepare(session))
        with served(session) as dashboard, traffic(dashboard, quotes, trades=0):
            measured = asyncio.run(measure(dashboard, count, page_count))
    show(measured)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--quotes", type=float, default=150.0, help="a second")
    parser.add_argument("--pages", type=int, default=1)
    given = parser.parse_args()
    if not CHROMIUM.exists():
        sys.exit(f"There is no {CHROMIUM}; install Debian's chromium for this benchmark.")
    main(given.count, given.quotes, given.pages)
