"""What a trader does every day, in a real Chromium: twelve tasks, each in at most four clicks, the first of them on a
link to a page. Typing, and keys that go from field to field, are no clicks; taking one of a list is two.

`TASK_PICTURES=FOLDER` leaves pictures of each task's end there, 1280 and 390 pixels wide.
"""

import csv
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from market.decide.settings import Settings
from market.trade.arbitrages import Arbitrage, ProfitAndLoss, ProfitShare
from market.trade.leases import UNFENCED
from session.session import Session
from store.mongo.store import MongoTradeStore, open_store
from store.server.documents import ARBITRAGES
from tests.store.booking import finish_leg
from tests.store.reservation_requests import filled, granted, opportunity, reserved
from tests.ui.pages.browser import AT_REST, NEWS_MS, PAINT_MS, Watched, awaited, opened
from tests.ui.pages.test_alerts_in_browser import LOOKED_MS, SIGN_IN
from tests.ui.pages.test_arbitrage_in_browser import bought_alone, price_in_an_hour
from tests.ui.pages.test_market_in_browser import quote_and_trade
from tests.ui.pages.test_trades_in_browser import backtested
from tests.ui.reported import reported
from tests.ui.serving import Served
from tests.ui.trading import made_worst, traded
from ui.auth.api_keys import ensure_api_key

pytestmark = pytest.mark.browser

MOST_CLICKS = 4
MARCH = int(datetime(2026, 3, 15, 12, tzinfo=UTC).timestamp()) * 1_000_000
WORST, LATE, OF_MARCH, OPEN = "the-worst", "a-late-one", "of-march", "an-open-leg"
PICTURES = os.environ.get("TASK_PICTURES", "")
WIDTHS = (390, 1280)


@dataclass
class Trader:
    """Somebody who signed in, on one page for all tasks, and the clicks of the present one."""

    watched: Watched
    clicks: int = 0
    shown: Locator | None = field(default=None)
    """What the task was about, for its picture."""

    @property
    def page(self) -> Page:
        return self.watched.page

    def click(self, place: Locator) -> None:
        place.click(timeout=PAINT_MS)
        self.clicks += 1

    def go(self, title: str) -> None:
        self.click(self.page.get_by_role("link", name=title, exact=True).first)

    def take(self, choices: Locator, one: str) -> None:
        """One of a list, which is opened first."""
        choices.select_option(one, timeout=PAINT_MS)
        self.clicks += 2

    def sees(self, place: Locator, words: "str | re.Pattern[str]", patience: int = NEWS_MS) -> None:
        expect(place).to_contain_text(words, timeout=patience)
        self.shown = place


@pytest.fixture(scope="module")
def signed_in(chromium: Browser, served_dashboard: Served) -> Iterator[Trader]:
    session = served_dashboard.session
    awaited(prepared(session))
    with opened(chromium, served_dashboard) as watched:
        watched.page.evaluate(SIGN_IN, ensure_api_key(session.home).read_text().strip())
        yield Trader(watched)


@pytest.fixture
def trader(signed_in: Trader, request: pytest.FixtureRequest) -> Iterator[Trader]:
    signed_in.clicks, signed_in.shown = 0, None
    yield signed_in
    if PICTURES:
        pictured(signed_in, str(request.node.name).removeprefix("test_"))
    assert 0 < signed_in.clicks <= MOST_CLICKS


def pictured(trader: Trader, name: str) -> None:
    for width in WIDTHS:
        trader.page.set_viewport_size({"width": width, "height": 900})
        if trader.shown is not None:
            trader.shown.scroll_into_view_if_needed()
        trader.page.wait_for_timeout(1_500)
        trader.page.screenshot(path=Path(PICTURES) / f"{name}-{width}.png")


async def prepared(session: Session) -> None:
    """Store a day's trades, backtests, bots, quotes of this minute, and a leg that is open."""
    await reported(session)
    await backtested(session)
    await quote_and_trade(session)
    async with await open_store(session) as store:
        await traded(store, opportunity(WORST, 31), "0.01")
        await made_worst(store, WORST)
        await traded_late(store)
        await traded(store, opportunity(OF_MARCH, 33), "0.01")
        await store._database[ARBITRAGES].update_one(
            {"_id": OF_MARCH}, {"$set": {"at": MARCH, "times.reserved": MARCH}}
        )
        await bought_alone(store, OPEN)
    await price_in_an_hour(session)


async def traded_late(store: MongoTradeStore) -> None:
    """Beta's price had moved by 0.4 USD until its order was there."""
    await reserved(store, opportunity(LATE, 32), "0.01")
    for leg in [await granted(store, LATE, "buy"), await granted(store, LATE, "sell")]:
        await finish_leg(store, LATE, leg.role, filled(leg), closed_late, UNFENCED)


def closed_late(arbitrage: Arbitrage, _: Settings, now: int) -> Arbitrage:
    none = Decimal(0)
    alpha = ProfitShare("alpha", *(Decimal(1), none, none, none, none, none, Decimal(1)))
    beta = ProfitShare("beta", *(Decimal(1), Decimal("-0.4"), none, none, none, none, Decimal("0.6")))
    whole = {part: getattr(alpha, part) + getattr(beta, part) for part in ("gross", "latency_decay", "net")}
    profit = ProfitAndLoss("USD", slippage=none, fees=none, fx=none, unwinding=none, shares=(alpha, beta), **whole)
    return replace(arbitrage, state="closed", profit=profit, times=arbitrage.times | {"ended": now})


def test_the_worst_trade_of_the_last_hour_and_why(trader: Trader) -> None:
    page = trader.page
    trader.go("Trades & P&L")
    trader.click(page.get_by_role("radio", name="Last hour"))
    trader.click(page.get_by_role("button", name="Net", exact=True))
    worst = page.get_by_role("region", name="Arbitrages, by net, smallest first").locator("tbody tr").first
    expect(worst).to_contain_text("closed by a third order", timeout=NEWS_MS)
    trader.click(worst.locator("td").nth(1))
    expect(page.get_by_role("heading", name=f"Arbitrage {WORST}")).to_be_in_viewport(timeout=NEWS_MS)
    unwinding = page.get_by_test_id("stHtml").filter(has_text="when detected")
    trader.sees(unwinding, re.compile(r"Unwinding\s*−\$?3\.50"))


def test_what_latency_cost_on_an_exchange_today(trader: Trader) -> None:
    page = trader.page
    trader.go("Trades & P&L")
    trader.click(page.get_by_role("radio", name="Today (UTC)"))
    of_beta = page.get_by_role("table", name="P&L by exchange in USD").get_by_role("row").filter(has_text="beta")
    trader.sees(of_beta, "−$0.40")


def test_a_size_for_one_asset_alone(trader: Trader) -> None:
    page = trader.page
    trader.go("Bots & thresholds")
    trader.click(page.locator("summary").filter(has_text="Maximum open notional of one asset"))
    trader.click(page.locator('[data-setting="asset_limits.ETH"] input'))
    page.keyboard.type("750")
    trader.click(page.get_by_role("button", name="Save settings"))
    trader.sees(trader.watched.part("settings-said"), "Saved as version 2")


def test_who_changed_what_and_when(trader: Trader) -> None:
    trader.go("Bots & thresholds")
    expect(trader.watched.part("limits")).to_contain_text(re.compile("Loss of the day.* of "), timeout=PAINT_MS)
    newest = trader.page.get_by_role("region", name="Settings history").locator("tbody tr").first
    trader.sees(newest, re.compile(r"2026.*owner.*ETH.*750"), PAINT_MS)
    audit = trader.page.get_by_role("region", name="Audit log")
    expect(audit.locator("tbody tr").first).to_contain_text("owner", timeout=PAINT_MS)


def test_the_trades_of_march_as_a_file(trader: Trader) -> None:
    page = trader.page
    trader.go("Trades & P&L")
    trader.click(page.get_by_role("radio", name="Month"))
    trader.click(page.get_by_role("combobox", name="Month"))
    page.keyboard.type("March 2026")
    # Enter takes what is marked, and before the others are gone that is another month
    expect(page.get_by_role("option")).to_have_text(["March 2026"], timeout=PAINT_MS)
    page.keyboard.press("Enter")
    listed = page.get_by_role("region", name=re.compile("^Arbitrages, ")).locator("tbody")
    trader.sees(listed, re.compile("2026-03-15|15 Mar"))
    with page.expect_download() as saving:
        trader.click(page.get_by_role("link", name="Arbitrages as CSV"))
    with saving.value.path().open(newline="") as file:
        assert [row["arbitrage_id"] for row in csv.DictReader(file)] == [OF_MARCH]


def test_a_backtest_beside_another_and_beside_the_session(trader: Trader) -> None:
    part = trader.watched.part("comparison")
    trader.go("Backtests")
    expect(part).to_contain_text("1 trade in both", timeout=PAINT_MS)
    drawn = part.get_by_role("img", name=re.compile("Net of both so far"))
    expect(drawn).to_have_accessible_name(re.compile(r"A: .* at the end, between .*; B: "))
    trader.take(part.get_by_label("A", exact=True), "session")
    expect(drawn).to_have_accessible_name(re.compile("A: no trade that ended; B: "), timeout=NEWS_MS)
    trader.sees(part.get_by_role("table", name="Figures of both"), "Max drawdown")


def test_an_alert_is_muted(trader: Trader) -> None:
    trader.go("Health")
    alert = trader.page.get_by_role("list", name="Open alerts").get_by_role("listitem").first
    trader.take(alert.get_by_role("combobox"), "1 hour")
    trader.sees(trader.page.get_by_role("list", name="Open alerts"), "muted by owner until")


def test_candles_with_my_fills(trader: Trader) -> None:
    trader.go("Market")
    drawn = trader.page.locator('[data-chart="buy 1s"]')
    trader.sees(drawn.locator('[data-part="chart-said"]'), "1 bought", PAINT_MS)
    expect(drawn.locator("canvas").first).to_be_visible()


def test_both_books_at_a_decision(trader: Trader) -> None:
    page = trader.page
    trader.go("Live")
    trader.click(page.locator(f'[data-trade="{LATE}"] a.open'))
    for side, price in (("bids", "101.00"), ("asks", "100.00")):
        trader.sees(page.locator(f'[data-book="{side}"] tbody'), price, PAINT_MS)


def test_one_leg_is_closed(trader: Trader) -> None:
    page = trader.page
    trader.go("Live")
    trader.click(page.locator(f'[data-trade="{OPEN}"] a.open'))
    trader.click(page.get_by_role("button", name="Close now…"))
    trader.click(page.get_by_role("button", name="Close it now"))
    trader.sees(page.locator('[data-part="close-said"]'), "it is sent once no order is under way")


def test_an_exchange_is_paused(trader: Trader) -> None:
    page = trader.page
    trader.go("Bots & thresholds")
    trader.click(page.get_by_role("button", name="Stop bot-alpha …"))
    trader.click(page.get_by_role("button", name="Yes, stop bot-alpha"))
    trader.sees(page.get_by_role("group", name="bot-alpha"), "Stopped by owner", PAINT_MS)


def test_a_rule_of_my_own(trader: Trader) -> None:
    page = trader.page
    trader.go("Health")
    trader.click(page.get_by_role("button", name="New rule…"))
    form = page.get_by_role("form", name="Alert rule")
    expect(form.get_by_label("Name")).to_be_focused(timeout=LOOKED_MS)
    page.keyboard.type("short of dollars")
    trader.take(form.get_by_label("Metric"), "arbitrage_balance_free")
    form.get_by_label("Is", exact=True).focus()
    page.keyboard.press("b")
    page.keyboard.press("Tab")
    page.keyboard.type("1000000")
    page.keyboard.press("Enter")
    trader.sees(page.get_by_role("list", name="Alert rules"), "short of dollars: fires")


def test_after_all_that_nothing_complained_and_no_other_host_was_asked(signed_in: Trader) -> None:
    expect(signed_in.page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    assert signed_in.watched.complaints == []
    assert signed_in.watched.hosts == {"127.0.0.1"}
