"""Many markets in Chromium: the filter and its address, the matrix, rows that keep their places, assets taken off."""

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.ui.pages.browser import NEWS_MS, PAINT_MS, Watched, opened
from tests.ui.serving import Served

pytestmark = pytest.mark.browser

ASSETS, EXCHANGES = 50, ("alpha", "beta", "gamma", "delta", "epsilon")
FED = """async ([assets, exchanges, step]) => {
  const { liveFeed } = await import("/assets/live_feed.js");
  const { model } = liveFeed;
  const bases = Array.from({ length: assets }, (_, i) => `A${String(i).padStart(2, "0")}`);
  const markets = bases.flatMap((base) => exchanges.map((exchange) => ({
    exchange, region: "us", symbol: `${base}/USD`, base, quote_currency: "USD", tick_size: "0.01", lot_step: "0.001",
    points: [[], [], []],
  })));
  // else the session's own markets would come back with the next snapshot
  if (step === 0) liveFeed.connection.close();
  if (step === 0) model.series = new Map(markets.map((one) => [`${one.exchange} ${one.symbol}`, one]));
  model.takeAssets(bases.map((base, i) => ({
    base,
    prices: exchanges.map((exchange, n) => (
      { exchange, symbol: `${base}/USD`, bid: 100 + i + n + step, ask: 101 + i + n + step, is_fresh: true }
    )),
    best: { buy_exchange: exchanges[step % 2], buy_symbol: `${base}/USD`, sell_exchange: exchanges[4],
      sell_symbol: `${base}/USD`, gross_bps: 12.5 + step, net_bps: 2.5 + step },
  })));
  liveFeed.notify(step === 0 ? "all" : "assets");
  await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
}"""
PLACES = """() => {
  const roots = [...document.querySelectorAll("*")].map((node) => node.shadowRoot);
  const matrix = roots.find((root) => root?.querySelector(".matrix")).querySelector(".matrix");
  return [...matrix.tBodies[0].rows].map((row) => {
    const { top, height, width } = row.getBoundingClientRect();
    return [row.dataset.asset, top, height, width];
  });
}"""
SENT = """async () => {
  const { liveFeed } = await import("/assets/live_feed.js");
  const { settings } = liveFeed.model;
  liveFeed.model.settings = { ...settings, version: settings.version + 1, disabled_assets: [] };
  liveFeed.notify("settings");
}"""


def address_of(page: Page) -> str:
    return str(page.evaluate("location.search"))


@pytest.fixture
def fresh(chromium: Browser, served_dashboard: Served) -> Iterator[Watched]:
    with opened(chromium, served_dashboard) as watched:
        yield watched


def test_the_matrix_marks_where_to_buy_and_where_to_sell(fresh: Watched) -> None:
    row = fresh.page.locator('[data-asset="BTC"]')
    # 63,600 EUR at 1.1 are 69,960 USD; the quotes of this session may be old by now, but they are prices
    expect(row).to_contain_text("70,000.0", timeout=NEWS_MS)
    expect(row).to_contain_text("69,960.0")
    expect(fresh.part("matrix-count")).to_have_text("2")


def test_the_search_filters_every_list_and_the_address_is_shared(
    fresh: Watched, chromium: Browser, served_dashboard: Served
) -> None:
    search = fresh.part("asset-search")
    search.fill("et")
    expect(fresh.page.locator("[data-asset]:visible")).to_have_count(1)
    assert address_of(fresh.page) == ""
    search.press("Enter")
    expect(search).to_have_value("ETH")
    assert address_of(fresh.page) == "?base=ETH"
    expect(fresh.page.locator('[data-market="alpha ETH/USD"]')).to_be_visible(timeout=NEWS_MS)
    expect(fresh.part("trades")).to_have_text("No trade matches the filter.")
    expect(fresh.part("feeds")).to_have_text("No feed matches the filter.")
    fresh.part("exchange-filter").select_option("alpha")
    assert address_of(fresh.page) == "?base=ETH&exchange=alpha"
    with opened(chromium, served_dashboard, path="?base=ETH&exchange=alpha") as shared:
        expect(shared.part("asset-search")).to_have_value("ETH", timeout=PAINT_MS)
        expect(shared.part("exchange-filter")).to_have_value("alpha", timeout=NEWS_MS)
        expect(shared.page.locator("[data-asset]:visible")).to_have_count(1)
        assert shared.complaints == []
    fresh.part("clear-filter").click()
    expect(fresh.page.locator("[data-trade]").first).to_be_visible()
    assert (address_of(fresh.page), fresh.complaints) == ("", [])


def test_an_address_that_names_what_is_not_there_says_so(chromium: Browser, served_dashboard: Served) -> None:
    with opened(chromium, served_dashboard, path="?base=XRP") as watched:
        expect(watched.part("filter-note")).to_have_text("This session has no asset XRP.", timeout=PAINT_MS)
    with opened(chromium, served_dashboard, path="trades?base=XRP") as watched:
        expect(watched.page.get_by_text("This session has no asset 'XRP'; it has BTC, ETH.")).to_be_visible(
            timeout=PAINT_MS
        )


def test_the_other_pages_keep_the_filter_in_their_address(chromium: Browser, served_dashboard: Served) -> None:
    for path in ("opportunities", "trades", "health"):
        with opened(chromium, served_dashboard, path=f"{path}?base=ETH&exchange=alpha") as watched:
            field = watched.page.get_by_role("combobox", name="Asset")
            expect(field).to_have_value("ETH", timeout=PAINT_MS)
            assert address_of(watched.page) == "?base=ETH&exchange=alpha"


def test_250_markets_change_in_place(fresh: Watched) -> None:
    fresh.page.evaluate(FED, [ASSETS, EXCHANGES, 0])
    before = fresh.page.evaluate(PLACES)
    for step in range(1, 5):
        fresh.page.evaluate(FED, [ASSETS, EXCHANGES, step])
    assert len(before) == ASSETS
    assert fresh.page.evaluate(PLACES) == before
    expect(fresh.page.locator('[data-asset="A49"]')).to_contain_text("+6.5")
    fresh.page.locator('[data-asset="A07"] button').focus()
    fresh.page.keyboard.press("Enter")
    expect(fresh.page.locator('[data-asset="A07"] button')).to_have_attribute("aria-pressed", "true")


def asset_row(base: str, enabled: bool) -> dict[str, object]:
    return {"base": base, "enabled": enabled, "is_standby": False, "markets": {}, "settings_version": 2}


def test_an_asset_is_taken_off_and_its_rejection_is_told(chromium: Browser, served_dashboard: Served) -> None:
    asked: list[tuple[str, str]] = []
    is_on = {"BTC": True, "ETH": True}

    def answer(route: Route) -> None:
        method, base = route.request.method, route.request.url.rpartition("/")[2]
        asked.append((method, base))
        if method == "GET":
            rows = [asset_row(name, on) for name, on in is_on.items()]
            route.fulfill(json=rows)
        elif base == "BTC":
            route.fulfill(status=401, body=json.dumps({"detail": "A key is needed."}))
        else:
            is_on[base] = method == "PUT"
            route.fulfill(json=asset_row(base, is_on[base]))

    with opened(chromium, served_dashboard, path="bots") as watched:
        expect(watched.part("kill-switch")).to_be_visible(timeout=PAINT_MS)
        watched.page.route("**/api/assets**", answer)
        watched.page.evaluate(SENT)
        form = watched.part("asset-form")
        expect(form).to_be_visible(timeout=NEWS_MS)
        form.get_by_label("Asset").fill("eth")
        expect(form.get_by_role("button", name="Trade it")).to_be_disabled()
        form.get_by_role("button", name="Take it off").click()
        expect(form.get_by_role("status")).to_have_text("ETH is taken off.")
        expect(watched.part("assets-off")).to_have_text("Taken off: ETH")
        form.get_by_role("button", name="Trade it").click()
        expect(watched.part("assets-traded")).to_have_text("Traded: BTC, ETH")
        form.get_by_label("Asset").fill("BTC")
        form.get_by_role("button", name="Take it off").click()
        expect(form.get_by_role("status")).to_have_text("Not done: sign in with an operator's API key first.")
    assert [one for one in asked if one[0] != "GET"] == [("DELETE", "ETH"), ("PUT", "ETH"), ("DELETE", "BTC")]
