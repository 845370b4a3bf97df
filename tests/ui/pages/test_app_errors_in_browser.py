"""The tab Errors of the page Apps in Chromium: rows that failed are found, changed, given again and dropped."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.ui.pages.app_answers import AT, AnsweredApp, AppAnswers
from tests.ui.pages.browser import NEWS_MS, opened
from tests.ui.pages.test_apps_in_browser import TEXT, Apps
from tests.ui.serving import Served

pytestmark = pytest.mark.browser


def failed(key: str, amount: int, error: str) -> dict[str, Any]:
    values = {"symbol": "BTC", "amount": amount}
    times = {"time": AT, "first_at": AT, "at": AT}
    state = {"kind": "row", "state": "waiting", "attempts": 2, "changed_by": ""}
    return {
        "key": key,
        "id": f"wide-1:0:{key}:0",
        "stream": "Orders",
        "values": values,
        "error": error,
        **times,
        **state,
    }


@pytest.fixture
def apps(chromium: Browser, served_dashboard: Served) -> Iterator[Apps]:
    """Yield the tab, with two rows."""
    rows = [failed("k1", 3, "divided by 0"), failed("k2", 4, "no hexadecimal text <b>")]
    answers = AppAnswers(apps={"wide": AnsweredApp([TEXT], "running", 1, errors=rows)})
    with opened(chromium, served_dashboard, path="apps", prepare=answers.serve) as watched:
        made = Apps(watched, answers)
        made.choose("wide")
        made.tab("Errors")
        made.expect_said("app-errors-said", "2 kept.")
        yield made
        assert watched.complaints == []


def row(apps: Apps, key: str) -> Locator:
    return apps.page.locator(f'[data-error="{key}"]')


def values_of(apps: Apps, key: str) -> Locator:
    return row(apps, key).get_by_label("Values of a row of Orders")


def test_a_row_is_changed_before_it_is_given_again(apps: Apps) -> None:
    expect(row(apps, "k2")).to_contain_text("no hexadecimal text <b>")
    values_of(apps, "k2").fill("{} typed")
    values_of(apps, "k1").fill("{")
    row(apps, "k1").get_by_role("button", name="Replay").click()
    apps.expect_said("app-errors-said", "The values are no JSON")
    values_of(apps, "k1").fill('{"symbol": "ETH", "amount": 7}')
    row(apps, "k1").get_by_role("button", name="Replay").click()
    apps.expect_said("app-errors-said", "1 given again.")
    expect(row(apps, "k1")).to_contain_text("replayed", timeout=NEWS_MS)
    expect(values_of(apps, "k2")).to_have_value("{} typed")
    assert apps.answers.requests == ["PUT wide/errors/k1", "POST wide/errors/replay"]
    first, second = apps.answers.apps["wide"].errors
    assert (first["values"], second["state"]) == ({"symbol": "ETH", "amount": 7}, "waiting")


def test_what_is_found_is_dropped_once_it_is_said_twice(apps: Apps) -> None:
    apps.page.get_by_label("Find failed rows").fill("divided")
    apps.page.keyboard.press("Enter")
    apps.expect_said("app-errors-said", "1 kept.")
    apps.press("Drop these…")
    assert apps.answers.requests == []
    apps.press("Drop them")
    apps.expect_said("app-errors-said", "1 dropped.")
    apps.page.get_by_label("Find failed rows").fill("")
    apps.page.keyboard.press("Enter")
    expect(row(apps, "k2")).to_be_visible(timeout=NEWS_MS)
    expect(row(apps, "k1")).to_have_count(0)
    apps.press("Replay all that wait")
    apps.expect_said("app-errors-said", "1 given again.")
