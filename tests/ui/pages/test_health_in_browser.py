"""The page Health in a real Chromium."""

import json

import pytest
from playwright.sync_api import Browser, expect

from session.session import Session
from store.operations.processes import MongoProcesses
from store.records.processes import ProcessReport
from store.server.client import connect, database_of
from tests.ui.pages.browser import NEWS_MS, PAINT_MS, awaited, opened
from tests.ui.serving import Served

pytestmark = pytest.mark.browser

SIDEWAYS = "document.querySelector('[data-testid=\"stMain\"]').scrollWidth - window.innerWidth"


def log(session: Session) -> None:
    """Write the log of a process that its supervisor reports."""

    async def tell() -> None:
        client = connect(session.services.mongodb)
        processes = MongoProcesses(database_of(client, session.services.database), session.session_id)
        now = await processes.beat(1)
        await processes.report([ProcessReport("publisher", "publisher", None, "ready", 0, 7)], now)
        client.close()

    awaited(tell())
    events = [("INFO", "settings in the log"), ("ERROR", "rejected, apiKey=a-secret-of-somebody")]
    lines = [json.dumps({"time": "t", "level": level, "logger": "x", "event": event}) for level, event in events]
    (session.home / "logs").mkdir(exist_ok=True)
    (session.home / "logs" / "publisher.log").write_text("\n".join(lines))


def test_what_is_wrong_and_the_log_are_shown_on_a_phone_too(chromium: Browser, served_dashboard: Served) -> None:
    log(served_dashboard.session)
    with opened(chromium, served_dashboard, width=390, path="health") as watched:
        page = watched.page
        # nobody runs the feeds of this session, and its supervisor falls silent after 5 s
        expect(page.locator("[data-verdict]")).to_contain_text("feed", timeout=PAINT_MS)
        expect(page.get_by_role("region", name="Kafka lag")).to_contain_text("ticks/0", timeout=NEWS_MS)
        shown = page.get_by_role("region", name="Log of publisher")
        expect(shown).to_contain_text("settings in the log", timeout=NEWS_MS)
        expect(shown).to_contain_text("apiKey=[hidden]")
        page.get_by_label("Contains").fill("rejected")
        page.get_by_label("Contains").press("Enter")
        expect(shown).not_to_contain_text("settings in the log", timeout=NEWS_MS)
        assert page.evaluate(SIDEWAYS) <= 0
        assert "a-secret" not in page.content()
        assert watched.complaints == []
