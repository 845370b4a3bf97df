"""Pictures of every page, dark and light, wide and narrow: `make screenshots`.

Against a whole system of its own on simulated exchanges, or against `--address`. Each line tells what a picture cannot:
the layout shift while the page was put together and, apart, once it stood and only data came; whether it is wider than
the window; exceptions; what the console complained of.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from tests.ui.pages.browser import ARGUMENTS, AT_REST, CHROMIUM, PAGES, PAINT_MS, Scheme, Watched
from tests.whole.running import new_home, running_paper

SCHEMES: tuple[Scheme, ...] = ("dark", "light")
WIDTHS = (1280, 390)
HEIGHT = 900
TALLEST = 5000
SETTLED_MS = 3_500
"""Until the slow parts have come, too."""
MAX_SHIFT = 0.05
STARTED_SECONDS = 300
TRADES = 15

SHIFTS = """
window.layoutShift = 0;
window.moved = [];
const nameOf = (node) => (node?.nodeType === 1 ? node : node?.parentElement)?.outerHTML?.slice(0, 120) ?? "gone";
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    if (entry.hadRecentInput) continue;
    window.layoutShift += entry.value;
    if (entry.value > 0.01) window.moved.push(`${entry.value.toFixed(3)} ${nameOf(entry.sources[0]?.node)}`);
  }
}).observe({ type: "layout-shift", buffered: true });
"""
SIZES = """() => {
  const main = document.querySelector('[data-testid="stMain"]');
  return {
    width: Math.max(document.documentElement.scrollWidth, main?.scrollWidth ?? 0),
    height: Math.max(document.documentElement.scrollHeight, main?.scrollHeight ?? 0),
  };
}"""


@dataclass(frozen=True, slots=True)
class Look:
    """What one page looked like in one theme and width (pixels)."""

    name: str
    loading_shift: float
    shift: float
    moved: tuple[str, ...]
    """What was pushed about, and by how much."""
    width_over: int
    exceptions: int
    complaints: tuple[str, ...]

    @property
    def is_fine(self) -> bool:
        return self.shift < MAX_SHIFT and not (self.width_over or self.exceptions or self.complaints)

    def __str__(self) -> str:
        shifts = f"shift {self.loading_shift:.3f}, then {self.shift:.3f}"
        line = f"{self.name:28} {shifts}  too wide by {self.width_over} px  exceptions {self.exceptions}"
        return "\n    ".join((line, *self.moved, *self.complaints))


def looks(browser: Browser, address: str, folder: Path) -> Iterator[Look]:
    """Return a picture of each into `folder`."""
    for scheme in SCHEMES:
        for width in WIDTHS:
            for title, path in PAGES.items():
                yield look(browser, f"{address}/{path}", folder, f"{path or 'live'}-{scheme}-{width}", scheme, title)


def look(browser: Browser, address: str, folder: Path, name: str, scheme: Scheme, title: str) -> Look:
    """Open it in a browser that has seen nothing yet; `title` says what failed if it does not come."""
    width = int(name.rsplit("-", 1)[1])
    context = browser.new_context(viewport={"width": width, "height": HEIGHT}, color_scheme=scheme)
    watched = Watched(context.new_page()).watch()
    page = watched.page
    try:
        page.add_init_script(SHIFTS)
        page.goto(address, timeout=PAINT_MS)
        page.locator('[data-part="header"][data-known="yes"]').wait_for(timeout=PAINT_MS)
        page.locator(AT_REST).wait_for(state="attached", timeout=PAINT_MS)
        loading_shift: float = page.evaluate("window.layoutShift")
        page.evaluate("window.layoutShift = 0")
        page.wait_for_timeout(SETTLED_MS)
        shift: float = page.evaluate("window.layoutShift")
        moved: list[str] = page.evaluate("window.moved")
        wide_over = _picture(page, width, folder / f"{name}.png")
        exceptions = page.locator('[data-testid="stException"]').count()
        return Look(name, loading_shift, shift, tuple(moved), wide_over, exceptions, tuple(watched.complaints))
    except BrowserError as error:
        return Look(name, 0.0, 0.0, (), 0, 1, (f"{title}: {error}",))
    finally:
        context.close()


def _picture(page: Page, width: int, file: Path) -> int:
    """All of the page, not only what fits the window; by how many pixels it is too wide."""
    sizes: dict[str, int] = page.evaluate(SIZES)
    page.set_viewport_size({"width": width, "height": min(max(sizes["height"], HEIGHT), TALLEST)})
    page.wait_for_timeout(1_000)
    page.screenshot(path=file)
    return max(sizes["width"] - width, 0)


@contextmanager
def full_system() -> Iterator[str]:
    """Return the address of a system on simulated exchanges that has traded a little."""
    with (
        tempfile.TemporaryDirectory() as folder,
        running_paper(new_home(Path(folder) / "home"), market="busy") as system,
    ):
        system.wait_for(system.url, STARTED_SECONDS)
        system.until(
            lambda: len(system.get("/trades")["items"]) >= TRADES, STARTED_SECONDS, "there were not enough trades"
        )
        yield system.url


@contextmanager
def at(address: str | None) -> Iterator[str]:
    if address:
        yield address.rstrip("/")
    else:
        with full_system() as started:
            yield started


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="screenshots", description=__doc__)
    parser.add_argument("--address", help="of a running dashboard; without it, a system is started for the purpose")
    parser.add_argument("--into", type=Path, default=Path("screenshots"), help="folder of the pictures")
    chosen = parser.parse_args(words)
    chosen.into.mkdir(parents=True, exist_ok=True)
    is_fine = True
    with at(chosen.address) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for seen in looks(browser, address, chosen.into):
            sys.stdout.write(f"{seen}\n")
            sys.stdout.flush()
            is_fine = is_fine and seen.is_fine
        browser.close()
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
