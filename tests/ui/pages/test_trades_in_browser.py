"""Trades and backtests in a real Chromium: an arbitrage looked into, a file saved, a backtest asked for and ended."""

import csv
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from playwright.sync_api import Browser, Page, Route, TimeoutError, expect

from runtime.clock import wall_now
from session.session import Session
from store.mongo.store import open_store
from store.records.backtest_requests import BacktestFigures, BacktestRequest, BacktestTrade, TickSetSummary
from tests.backtest.sweep_samples import log_of, tick_set_of
from tests.store.reservation_requests import opportunity
from tests.ui.pages.browser import AT_REST, NEWS_MS, PAINT_MS, Scheme, Watched, awaited, opened
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from tests.ui.trading import made_worst, traded

pytestmark = pytest.mark.browser

OPEN_MS = 3_000
MOST_TRIES = 8
TICK_SET = TickSetSummary("alpha-beta", "a made-up one", ("alpha", "beta"), ("BTC",), 1_000, 1_000_000, 2_000_000)


def test_an_arbitrage_is_looked_into_and_all_of_them_saved(wide: Watched) -> None:
    page = wide.page
    wide.go("Trades & P&L")
    listed = page.get_by_role("region", name="Arbitrages, newest first")
    # the head, the one that there is, and the sum
    expect(listed.get_by_role("row")).to_have_count(3, timeout=PAINT_MS)
    expect(page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    choose_first(page, "Details of one arbitrage")
    steps = page.get_by_role("region", name="Timeline")
    expect(steps.get_by_role("rowheader", name="reserved")).to_have_count(2, timeout=NEWS_MS)
    assert rows_saved(page, "Arbitrages as CSV") == ["the-first-trade"]
    assert wide.complaints == []
    assert wide.hosts == {"127.0.0.1"}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_the_worst_trade_is_found_by_its_column_and_opened_by_its_row(
    chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme
) -> None:
    awaited(traded_badly(served_dashboard.session, f"bad-{width}"))
    with opened(chromium, served_dashboard, width, scheme, path="trades") as watched:
        page = watched.page
        by_net = page.get_by_role("region", name="Arbitrages, by net, smallest first")
        page.get_by_role("button", name="Net", exact=True).press("Enter", timeout=PAINT_MS)
        expect(by_net.locator("tbody tr").first).to_contain_text("closed by a third order", timeout=NEWS_MS)
        expect(page.get_by_role("columnheader", name="Net ↑", exact=True)).to_have_attribute("aria-sort", "ascending")
        expect(page).to_have_url(re.compile(r"[?&]sort=net"))
        # the keyboard stays where it was, though the table is a new one
        expect(page.get_by_role("button", name="Net ↑", exact=True)).to_be_focused()
        page.keyboard.press("Enter")
        largest = page.get_by_role("region", name="Arbitrages, by net, largest first")
        expect(largest.locator("tbody tr").last).to_contain_text("All", timeout=NEWS_MS)
        largest.locator(f'tr[data-open="bad-{width}"] td').nth(1).click()
        heading = page.get_by_role("heading", name=f"Arbitrage bad-{width}")
        expect(heading).to_be_focused(timeout=NEWS_MS)
        expect(heading).to_be_in_viewport()
        expect(page.get_by_role("region", name="Legs").get_by_role("rowheader", name="completing")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert grave_violations(page) == []
        assert watched.complaints == []


def test_somebody_without_a_recording_runs_the_example_and_sees_what_was_rejected(
    wide: Watched, served_dashboard: Served
) -> None:
    page, session = wide.page, served_dashboard.session
    wide.go("Backtests")
    signed_in(page, session)
    said = wide.part("recordings-said")
    page.get_by_role("button", name="Make the example and run a backtest on it").click()
    expect(said).to_contain_text("waiting until backtests know it", timeout=PAINT_MS)
    # as the part that runs backtests would
    awaited(reported(session, replace(TICK_SET, name="example")))
    expect(said).to_contain_text("A backtest of example is queued", timeout=NEWS_MS)
    expect(page.get_by_text("Queued and running")).to_be_visible(timeout=NEWS_MS)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="What is in it").click()
    expect(said).to_contain_text("3 rows rejected", timeout=PAINT_MS)
    rejected = page.get_by_role("table", name="Rejected rows", exact=True)
    expect(rejected.get_by_role("row").filter(has_text="Crossed book")).to_contain_text("60100.0,1,60090.0")
    assert grave_violations(page) == []
    assert wide.complaints == []


def test_a_backtest_is_asked_for_by_the_form_and_cancelled(wide: Watched) -> None:
    page = wide.page
    page.get_by_role("button", name="Start backtest").click()
    expect(page.get_by_text("Queued and running")).to_be_visible(timeout=NEWS_MS)
    page.get_by_role("button", name="Cancel").click()
    results = page.get_by_role("region", name="Finished backtests, newest first")
    # the example's, and this one
    expect(results.get_by_text("cancelled before it began")).to_have_count(2, timeout=NEWS_MS)
    assert wide.complaints == []


def test_a_job_outlives_lost_answers_and_is_stopped(chromium: Browser, served_dashboard: Served) -> None:
    job = {"id": "0" * 32, "state": "running"}
    lost = iter((True, True))

    def answer(route: Route) -> None:
        method = route.request.method
        if method == "DELETE":
            job["state"] = "cancelled"
        if method == "GET" and next(lost, False):
            route.abort()
        else:
            route.fulfill(status=200 if method == "GET" else 202, json=job)

    with opened(chromium, served_dashboard, path="backtests") as watched:
        page, said = watched.page, watched.part("recordings-said")
        page.route("**/api/recordings/jobs**", answer)
        page.route(f"**/api/recordings/jobs/{job['id']}", answer)
        awaited(reported(served_dashboard.session, TICK_SET))
        page.get_by_role("button", name="What is in it").click(timeout=PAINT_MS)
        expect(said).to_have_text("Working…", timeout=NEWS_MS)
        with page.expect_response(lambda one: one.request.method == "GET" and job["id"] in one.url):
            pass
        page.get_by_role("button", name="Stop it").click()
        expect(said).to_have_text("Not done: cancelled", timeout=NEWS_MS)
        expect(page.get_by_role("button", name="Stop it")).to_be_hidden()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_a_sweep_is_drawn_as_a_map_and_a_set_of_it_run(
    chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme
) -> None:
    session = served_dashboard.session
    if not (session.data_home / "ticks" / "swept").exists():
        tick_set_of(log_of(seed=11, rows=120), session.data_home / "ticks" / "swept")
    awaited(reported(session, replace(TICK_SET, name="swept")))
    with opened(chromium, served_dashboard, width, scheme, path="backtests") as watched:
        page, part = watched.page, watched.part("sweeps")
        signed_in(page, session)
        part.get_by_text("Try many settings").click()
        part.get_by_label("Recording to sweep").select_option("swept")
        part.get_by_label("Values down").fill("4, 8")
        part.get_by_label("Across", exact=True).select_option("latency_ms")
        part.get_by_label("Values across").fill("0 50 100")
        part.get_by_role("button", name="Run the sweep").click()
        sets = part.get_by_role("table", name="Net by set").get_by_role("button")
        expect(sets).to_have_count(6, timeout=PAINT_MS)
        expect(part.get_by_role("columnheader").first).to_have_text(
            "Minimum net spread to trade (bps) ↓ · Order latency (ms) →"
        )
        expect(sets.filter(has_text="★")).to_have_count(1)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert grave_violations(page) == []
        sets.nth(4).click()
        expect(watched.part("sweep-picked")).to_contain_text("(bps) 8, Order latency (ms) 50: net")
        part.get_by_role("button", name="Run it as a backtest").click()
        expect(watched.part("sweep-outcome")).to_contain_text("Queued", timeout=NEWS_MS)
        (asked, *_) = awaited(requests_of(session))
        assert (asked.tick_set, asked.settings, asked.latency_ms) == ("swept", {"min_net_bps": "8"}, 50.0)
        part.get_by_role("button", name="Remove").click()
        expect(sets).to_have_count(0, timeout=NEWS_MS)
        assert watched.complaints == []


async def requests_of(session: Session) -> list[BacktestRequest]:
    """Return what was asked for, newest first; none of it waits any more."""
    async with await open_store(session) as store:
        jobs = await store.backtests.jobs()
        for job in jobs:
            await store.backtests.cancel(job.job_id)
    return [job.request for job in jobs]


def signed_in(page: Page, session: Session) -> None:
    page.get_by_label("API key", exact=True).fill((session.home / "api_key").read_text().strip(), timeout=PAINT_MS)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("may change settings")).to_be_visible(timeout=NEWS_MS)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_two_runs_are_compared_by_name(chromium: Browser, served_dashboard: Served, width: int, scheme: Scheme) -> None:
    awaited(backtested(served_dashboard.session))
    with opened(chromium, served_dashboard, width, scheme, path="backtests?first=slow&second=fast") as watched:
        page, part = watched.page, watched.part("comparison")
        expect(part).to_contain_text("1 trade in both, 0 only in A, 1 only in B", timeout=PAINT_MS)
        settings = part.get_by_role("table", name="Settings that differ")
        expect(settings.get_by_role("row").filter(has_text="Order latency")).to_contain_text("250")
        alone = part.get_by_role("table", name="Trades only in B")
        expect(alone.get_by_role("row").nth(1)).to_contain_text("beta BTC/EUR")
        part.get_by_label("A", exact=True).select_option("session")
        expect(part).to_contain_text("only in B", timeout=NEWS_MS)
        expect(page).to_have_url(re.compile("first=session&second=fast"))
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert grave_violations(page) == []
        assert watched.complaints == []


async def traded_badly(session: Session, identity: str) -> None:
    async with await open_store(session) as store:
        await traded(store, opportunity(identity, wall_now() // 1_000_000), "0.01")
        await made_worst(store, identity)


def choose_first(page: Page, label: str) -> None:
    """Open a list and click its first option, again if the page was just being drawn once more, which closes the
    list or replaces its options."""
    option = page.get_by_role("option").first
    for _ in range(MOST_TRIES):
        try:
            page.get_by_label(label).click(timeout=PAINT_MS)
            option.wait_for(timeout=OPEN_MS)
            option.click(timeout=OPEN_MS)
        except TimeoutError:
            continue
        return
    raise AssertionError(f"no option of {label!r} could be chosen in {MOST_TRIES} tries")


def rows_saved(page: Page, link: str) -> list[str]:
    """Ids in the file behind `link`."""
    with page.expect_download() as saving:
        page.get_by_role("link", name=link).click()
    with saving.value.path().open(newline="") as file:
        return [row["arbitrage_id"] for row in csv.DictReader(file)]


async def backtested(session: Session) -> None:
    """Two backtests with results: the faster one has a trade more."""
    at = TICK_SET.start_time
    trades = [
        BacktestTrade(
            number,
            at + 3_000_000 * number,
            *("BTC", "alpha BTC/USD", "beta BTC/EUR"),
            Decimal("0.1"),
            7.5,
            "closed",
            None,
            net,
            at + 9,
            Decimal(0),
        )
        for number, net in ((1, Decimal(2)), (2, Decimal(-1)))
    ]
    figures = BacktestFigures(
        1_000, 20, 3, 17, Decimal(1), Decimal(0), Decimal(1), "USD", is_balanced=True, settings={"min_net_bps": "5"}
    )
    async with await open_store(session) as store:
        await store.backtests.report_tick_sets([replace(TICK_SET, end_time=90_000_000)])
        for name, latency, of in (("slow", 250.0, trades[:1]), ("fast", None, trades)):
            await store.backtests.ask(name, BacktestRequest("alpha-beta", latency_ms=latency), "rest")
            if await store.backtests.claim_next("test") is not None:
                await store.backtests.finish(name, "test", figures, "<p>fine</p>", of)


async def reported(session: Session, tick_set: TickSetSummary) -> None:
    async with await open_store(session) as store:
        await store.backtests.report_tick_sets([tick_set])
