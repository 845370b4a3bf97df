"""The badges of the header in Chromium: one truth with the notice below them and with the feeds."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.ui.pages.browser import NEWS_MS, Watched, opened
from tests.ui.serving import Served

pytestmark = pytest.mark.browser

HOLD = """async () => {
  const { liveFeed } = await import("/assets/live_feed.js");
  // from now on the page knows what the test says, while the connection goes on
  liveFeed.take = () => {};
  window.say = (change) => {
    Object.assign(liveFeed.model, { sources: { kafka: true, mongodb: true }, detection: "working" }, change);
    liveFeed.notify("pulse");
  };
  window.feeds = liveFeed.model.ledger.feeds;
  window.settings = liveFeed.model.settings;
}"""


@pytest.fixture(scope="module")
def held(chromium: Browser, served_dashboard: Served) -> Iterator[Watched]:
    """Return a page whose news are the test's; it opens on Live."""
    with opened(chromium, served_dashboard) as watched:
        expect(watched.part("feeds")).to_contain_text("live", timeout=NEWS_MS)
        watched.page.evaluate(HOLD)
        yield watched


@pytest.mark.parametrize(
    ("change", "link", "trading", "tone", "notice"),
    [
        ("{}", "live", "trading on", "on", ""),
        (
            "{sources: {kafka: true, mongodb: false}}",
            "no MongoDB",
            "trading waits",
            "reduce_only",
            "on it is not updated",
        ),
        (
            "{sources: {kafka: false, mongodb: false}}",
            "no Kafka, MongoDB",
            "trading waits",
            "reduce_only",
            "on them is not updated until they are back.",
        ),
        ('{detection: "silent"}', "live", "trading waits", "reduce_only", "Detection does not respond"),
        ('{detection: "starting"}', "live", "trading waits", "reduce_only", "Detection is starting"),
        ('{detection: "unknown"}', "live", "trading on", "on", ""),
        (
            '{ledger: {...stale, feeds: feeds.map((one) => ({...one, status: "stale"}))}}',
            "no prices",
            "trading waits",
            "reduce_only",
            "",
        ),
        (
            '{detection: "silent", settings: {...settings, trading_state: "halted"}}',
            "live",
            "trading halted",
            "off",
            "not respond",
        ),
    ],
)
def test_no_badge_contradicts_the_notice_or_the_feeds(
    held: Watched, change: str, link: str, trading: str, tone: str, notice: str
) -> None:
    held.page.evaluate(
        f"""async () => {{
          const {{ liveFeed }} = await import("/assets/live_feed.js");
          const stale = liveFeed.model.ledger;
          const change = {change};
          window.say({{ ledger: {{ ...stale, feeds }}, settings, ...change }});
        }}"""
    )
    expect(held.part("state")).to_have_text(link)
    expect(held.part("trading")).to_have_text(trading)
    expect(held.part("trading")).to_have_class(f"pill {tone}")
    expect(held.part("state")).to_have_class("pill live" if link == "live" else "pill stale")
    if notice:
        expect(held.part("notice")).to_contain_text(notice)
        if trading == "trading waits":
            assert notice in (held.part("trading").get_attribute("title") or "")
    else:
        expect(held.part("notice")).to_be_hidden()
