"""Five pages open for a while: the process stays cheap, nothing grows, nothing dims, nothing moves under the cursor."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, CDPSession, Page

from market.time_units import MICROSECONDS
from runtime.clock import wall_now
from tests.ui.pages.browser import PAINT_MS
from tests.ui.serving import Served
from tests.web.serving import MEGABYTE, report, taken_by, traffic

PAGES = 5
WARM_UP_SECONDS = 30
COLLECTIONS = 3
MAX_CORES = 0.25
MAX_HEAP_GROWTH = 5 * MEGABYTE
MAX_NODE_GROWTH = 0.10
MAX_RESIDENT_MEGABYTES = 10
MAX_SHIFT = 0.05
SAMPLE = """() => {
  window.sampled = { frames: 0, stale: 0, shift: 0, moves: [] };
  const look = () => {
    window.sampled.frames += 1;
    if (document.querySelector('[data-stale="true"]')) window.sampled.stale += 1;
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (entry.hadRecentInput) continue;
      window.sampled.shift += entry.value;
      if (entry.value > 0.01) {
        const moved = entry.sources.map(({ node }) => node?.dataset?.testid || node?.className || node?.nodeName);
        window.sampled.moves.push(`${Math.round(entry.startTime)} ms: ${entry.value.toFixed(3)} ${moved.join(", ")}`);
      }
    }
  }).observe({ type: "layout-shift", buffered: true });
}"""


@dataclass(slots=True)
class Looked:
    """A Live page that samples every frame."""

    page: Page
    session: CDPSession

    def after_collection(self) -> tuple[int, int]:
        """Bytes of the JS heap and DOM nodes, once what is not needed is gone."""
        self.session.send("HeapProfiler.collectGarbage")
        heap = self.session.send("Runtime.getHeapUsage")["usedSize"]
        return int(heap), int(self.session.send("Memory.getDOMCounters")["nodes"])

    def sampled(self) -> dict[str, Any]:
        answer: dict[str, Any] = self.page.evaluate("window.sampled")
        return answer


def looked_at(context: BrowserContext, dashboard: Served) -> Looked:
    page = context.new_page()
    page.add_init_script(f"({SAMPLE})()")
    page.goto(f"http://{dashboard.address}/", timeout=PAINT_MS)
    page.locator('[data-part="panel"][data-known="yes"]').wait_for(timeout=PAINT_MS)
    return Looked(page, context.new_cdp_session(page))


@contextmanager
def five_pages(chromium: Browser, dashboard: Served) -> Iterator[list[Looked]]:
    with chromium.new_context(viewport={"width": 1280, "height": 900}) as context:
        yield [looked_at(context, dashboard) for _ in range(PAGES)]


def rest(page: Page, seconds: float) -> None:
    """Wait while the browser's loop and the driver's own run."""
    deadline = wall_now() + int(seconds * MICROSECONDS)
    while wall_now() < deadline:
        page.wait_for_timeout(500)


def settled(pages: list[Looked]) -> list[tuple[int, int]]:
    """Return the counts of pages without news: replaced nodes are swept away only a moment after their collection."""
    for _ in range(COLLECTIONS):
        for page in pages:
            page.after_collection()
        rest(pages[0].page, 1)
    return [page.after_collection() for page in pages]


@pytest.mark.soak
@pytest.mark.parametrize(
    "seconds",
    [pytest.param(45, id="short"), pytest.param(600, id="long")],
)
def test_five_pages_cost_little_and_nothing_grows(chromium: Browser, dashboard: Served, seconds: int) -> None:
    with five_pages(chromium, dashboard) as pages:
        with traffic(dashboard):
            rest(pages[0].page, WARM_UP_SECONDS)
        before = settled(pages)
        for each in pages:
            each.page.evaluate("Object.assign(window.sampled, { frames: 0, stale: 0 })")
        with traffic(dashboard):
            taken = taken_by(dashboard)
            rest(pages[0].page, seconds)
            cores, grown = taken.cores, taken.grown_megabytes
        after = settled(pages)
        sampled = [page.sampled() for page in pages]
    heap = max(late[0] - early[0] for early, late in zip(before, after, strict=True))
    nodes = max(late[1] / early[1] - 1 for early, late in zip(before, after, strict=True))
    shift = max(one["shift"] for one in sampled)
    figures = {"ui_cores": round(cores, 3), "ui_grown_mb": round(grown, 1), "heap_grown_mb": round(heap / MEGABYTE, 2)}
    more = {
        "nodes": [one[1] for one in before],
        "nodes_after": [one[1] for one in after],
        "nodes_grown": round(nodes, 3),
        "shift": round(shift, 4),
        "seconds": seconds,
    }
    frames = {"frames": sum(one["frames"] for one in sampled), "stale": sum(one["stale"] for one in sampled)}
    report("five pages", {**figures, **more, **frames, "moves": sampled[0]["moves"]})
    assert cores <= MAX_CORES
    assert heap <= MAX_HEAP_GROWTH
    assert nodes <= MAX_NODE_GROWTH
    assert grown <= MAX_RESIDENT_MEGABYTES
    assert shift < MAX_SHIFT
    assert frames["frames"] > seconds
    assert frames["stale"] == 0
