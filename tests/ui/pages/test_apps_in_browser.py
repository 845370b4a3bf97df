"""The page Apps in Chromium: from an empty page to a published app, and nothing that was typed is lost."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, WebSocketRoute, expect

from tests.ui.pages.app_answers import AT, SAVEPOINT, AnsweredApp, AppAnswers
from tests.ui.pages.browser import AT_REST, NEWS_MS, PAINT_MS, Scheme, Watched, opened
from tests.ui.pages.test_every_page_in_browser import grave_violations
from tests.ui.serving import Served
from ui.auth.api_keys import ensure_api_key

pytestmark = pytest.mark.browser

TEXT = """@App:name('wide')
define stream Orders (symbol string, amount int);
@info(name = 'means')
from quotes#window.time(10 sec) select symbol, avg(bid) as mean group by symbol insert into Means;
from Orders[amount > 3] select symbol insert into Large;
"""
CHANGED = TEXT.replace("10 sec", "20 sec")


class Apps:
    """The page, and the service behind it."""

    def __init__(self, watched: Watched, answers: AppAnswers) -> None:
        self.watched, self.page, self.answers = watched, watched.page, answers

    def open(self) -> None:
        self.watched.go("Apps")
        expect(self.watched.part("app-list")).to_be_visible(timeout=PAINT_MS)

    def editor(self) -> Locator:
        return self.page.get_by_role("textbox", name="Text of the app")

    def text(self) -> str:
        lines: list[str] = self.editor().locator(".cm-line").all_text_contents()
        return "\n".join(lines)

    def write(self, text: str) -> None:
        self.editor().click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def choose(self, app: str) -> None:
        self.page.locator(f'[data-app="{app}"]').click()

    def mark(self, app: str) -> Locator:
        """Return the mark of an app whose text is changed and not saved."""
        return self.page.locator(f'[data-app="{app}"]').get_by_title("changed, not saved")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()

    def expect_said(self, part: str, words: str) -> None:
        expect(self.watched.part(part)).to_contain_text(words, timeout=NEWS_MS)


@pytest.fixture
def apps(chromium: Browser, served_dashboard: Served) -> Iterator[Apps]:
    """Yield the page with an empty service; each test has a browser of its own."""
    answers = AppAnswers()
    with opened(chromium, served_dashboard, path="apps", prepare=answers.serve) as watched:
        expect(watched.part("app-list")).to_be_visible(timeout=PAINT_MS)
        yield Apps(watched, answers)


def test_from_an_empty_page_to_a_published_app_and_its_rows(apps: Apps) -> None:
    apps.press("spread-widening")
    expect(apps.watched.part("app-name")).to_have_value("spread-widening")
    apps.press("Create")
    apps.expect_said("app-verdict", "No mistakes")
    assert apps.answers.requests == []
    apps.press("Publish…")
    publishing = apps.watched.part("app-publish")
    expect(publishing).to_contain_text("Publish version 1 of spread-widening?", timeout=NEWS_MS)
    publishing.get_by_role("button", name="Publish", exact=True).click()
    apps.expect_said("app-said", "Version 1 is published.")
    expect(apps.page.locator('[data-app="spread-widening"]')).to_contain_text("running", timeout=NEWS_MS)
    assert apps.answers.requests == ["POST ", "POST spread-widening/publish"]
    apps.answers.add_row("spread-widening", "Widening", symbol="BTC/USD", first_bps=1.25)
    apps.tab("Rows")
    apps.watched.part("app-stream").select_option("Widening")
    expect(apps.watched.part("app-rows")).to_contain_text("BTC/USD", timeout=NEWS_MS)
    apps.press("Stop")
    expect(apps.page.locator('[data-app="spread-widening"]')).to_contain_text("stopped", timeout=NEWS_MS)


def test_what_is_published_is_asked_also_if_a_list_from_before_the_save_comes_after_it(apps: Apps) -> None:
    apps.press("spread-widening")
    apps.press("Create")
    apps.expect_said("app-verdict", "No mistakes")
    apps.answers.holds_lists = True
    with apps.page.expect_request(re.compile(r"/api/apps$")):
        # it is asked for every two seconds
        pass
    apps.press("Publish…")
    publishing = apps.watched.part("app-publish")
    expect(publishing).to_contain_text("Publish version 1 of spread-widening?", timeout=NEWS_MS)
    apps.answers.release()
    expect(apps.page.locator('[data-app="spread-widening"]')).to_contain_text("not published", timeout=NEWS_MS)
    expect(publishing).to_be_visible()
    publishing.get_by_role("button", name="Publish", exact=True).click()
    apps.expect_said("app-said", "Version 1 is published.")


def test_what_is_published_is_asked_also_if_the_answer_of_the_save_was_lost(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT])
    apps.choose("wide")
    expect(apps.editor()).to_contain_text("10 sec", timeout=NEWS_MS)
    apps.write(CHANGED)
    apps.expect_said("app-verdict", "No mistakes")
    apps.answers.loses_answers = True
    apps.press("Publish…")
    expect(apps.watched.part("app-publish")).to_contain_text("Publish version 2 of wide?", timeout=NEWS_MS)


def test_what_cannot_be_read_is_to_be_tried_again_and_only_a_change_may_have_been_made(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT], "running", 1)
    apps.choose("wide")
    apps.expect_said("app-verdict", "No mistakes")
    apps.answers.is_away = True
    apps.tab("Versions")
    expect(apps.watched.part("app-versions")).to_contain_text("did not answer; try again", timeout=NEWS_MS)
    apps.tab("Query")
    for query, words in (
        ("from Prices select symbol", "try again"),
        ("delete Prices", "may or may not have been made"),
    ):
        apps.page.get_by_role("textbox", name="Query", exact=True).click()
        apps.page.keyboard.press("Control+a")
        apps.page.keyboard.insert_text(query)
        apps.page.keyboard.press("Control+Enter")
        apps.expect_said("app-answer", words)


def test_rows_of_the_open_stream_come_by_a_socket(chromium: Browser, served_dashboard: Served) -> None:
    answers = AppAnswers(apps={"wide": AnsweredApp([TEXT], "running", 1)})
    answers.add_row("wide", "Means", symbol="BTC/USD", mean=1.5)
    row = {"id": "by the socket", "time": AT + 9_000_000, "values": {"symbol": "SOL/USD", "mean": 9.5}}

    def connected(socket: WebSocketRoute) -> None:
        socket.send(json.dumps({"rows": [row, row]}))

    def prepare(page: Page) -> None:
        answers.serve(page)
        page.route_web_socket(re.compile(r"/api/apps/wide/streams/Means/live"), connected)

    with opened(chromium, served_dashboard, path="apps", prepare=prepare) as watched:
        made = Apps(watched, answers)
        made.choose("wide")
        made.tab("Rows")
        made.watched.part("app-stream").select_option("Means")
        rows = watched.part("app-rows").locator("tbody tr")
        expect(watched.part("app-rows-version")).to_have_text("Streams of version 1.", timeout=NEWS_MS)
        expect(rows).to_have_count(2, timeout=NEWS_MS)
        expect(rows.first).to_contain_text("SOL/USD")
        assert watched.complaints == []


def test_the_list_says_what_each_app_is_for_and_the_panels_of_which_version_they_are(apps: Apps) -> None:
    described = TEXT.replace("define stream", "@App:description('Means of prices.')\ndefine stream", 1)
    apps.answers.apps["wide"] = AnsweredApp([TEXT, described.replace("Large", "Huge")], "running", 1)
    expect(apps.page.locator('[data-app="wide"]')).to_contain_text("Means of prices.", timeout=NEWS_MS)
    apps.choose("wide")
    apps.expect_said("app-verdict", "No mistakes")
    apps.tab("Rows")
    expect(apps.watched.part("app-rows-version")).to_have_text("Streams of version 1.", timeout=NEWS_MS)
    streams = apps.watched.part("app-stream").locator("option")
    expect(streams.filter(has_text="Large")).to_have_count(1)
    expect(streams.filter(has_text="Huge")).to_have_count(0)
    apps.tab("Picture")
    expect(apps.page.get_by_text("Of version 2; version 1 is published.")).to_be_visible(timeout=NEWS_MS)


def test_a_mistake_is_underlined_while_typing_and_mended_by_its_nearest_name(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT])
    apps.choose("wide")
    apps.expect_said("app-verdict", "No mistakes")
    apps.write(TEXT.replace("avg(bid)", "avg(bit)"))
    apps.expect_said("app-verdict", "1 mistake")
    apps.expect_said("app-mistakes", "Line 4, column 52: there is no attribute 'bit'; did you mean 'bid'?")
    expect(apps.page.locator(".cm-lintRange-error")).to_have_text("bit")
    apps.press("Publish…")
    apps.expect_said("app-said", "Not published: the text has mistakes.")
    apps.press("Save")
    apps.expect_said("app-saved", "Saved as version 2. It has mistakes, so it cannot be published yet.")
    apps.press("Line 4, column 52")
    expect(apps.editor()).to_be_focused()
    apps.page.keyboard.press("Control+Shift+ArrowRight")
    apps.page.keyboard.insert_text("bid")
    apps.expect_said("app-verdict", "No mistakes")
    expect(apps.page.locator(".cm-lintRange-error")).to_have_count(0)


COMPLETED = [
    ("from quo", "quotes", "the best prices of every market"),
    ("from quotes select sym", "symbol", None),
    ("from quotes#window.timeB", "timeBatch", "t of time, then the next t"),
    ("INSERT INTO A SELECT symbol FROM quotes WINDOW SLIDING_TIME_L", "SLIDING_TIME_LENGTH", "at most n rows"),
    ("from quotes select str:upp", "str:upper", "in capitals"),
    ("define stream Mine (price double);\nfrom Mi", "Mine", "price double"),
    ("define stream Mine (price double);\nfrom every a = Mine -> b = quotes select a.pr", "price", None),
    ("@Prim", "@PrimaryKey('a')", None),
    ("from spreads select base as asset insert into AssetP", "AssetPauses", "nothing new begins in the asset"),
]


@pytest.mark.parametrize(("text", "label", "documented"), COMPLETED, ids=[label for _, label, _ in COMPLETED])
def test_what_is_typed_is_completed_with_its_documentation(
    completing: Apps, text: str, label: str, documented: str | None
) -> None:
    completing.write(text[:-1])
    completing.page.keyboard.type(text[-1])
    options = completing.page.get_by_role("option")
    expect(options.filter(has_text=re.compile(rf"^{re.escape(label)}")).first).to_be_visible(timeout=NEWS_MS)
    if documented:
        expect(completing.page.locator(".cm-completionInfo")).to_contain_text(documented, timeout=NEWS_MS)
    completing.page.keyboard.press("Escape")


@pytest.fixture(scope="module")
def completing(chromium: Browser, served_dashboard: Served) -> Iterator[Apps]:
    answers = AppAnswers(apps={"wide": AnsweredApp([TEXT])})
    with opened(chromium, served_dashboard, path="apps", prepare=answers.serve) as watched:
        made = Apps(watched, answers)
        made.choose("wide")
        expect(made.editor()).to_contain_text("App:name", timeout=NEWS_MS)
        yield made


def test_a_draft_survives_a_rerun_another_page_a_reload_and_a_server_that_is_away(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT])
    apps.choose("wide")
    expect(apps.editor()).to_contain_text("10 sec", timeout=NEWS_MS)
    apps.answers.is_away = True
    apps.write(CHANGED)
    apps.expect_said("app-verdict", "the server does not answer")
    apps.page.locator('[data-zone="local"]').evaluate("button => button.click()")
    expect(apps.page.locator(AT_REST)).to_be_attached(timeout=PAINT_MS)
    assert apps.text() == CHANGED
    apps.watched.go("Bots & thresholds")
    expect(apps.watched.part("kill-switch")).to_be_visible(timeout=PAINT_MS)
    apps.open()
    assert apps.text() == CHANGED
    apps.page.reload()
    expect(apps.editor()).to_contain_text("20 sec", timeout=PAINT_MS)
    assert apps.text() == CHANGED
    apps.answers.is_away = False
    expect(apps.mark("wide")).to_be_visible(timeout=NEWS_MS)
    apps.press("Save")
    apps.expect_said("app-saved", "Saved as version 2.")
    assert apps.answers.apps["wide"].texts == [TEXT, CHANGED]


def test_a_text_whose_answer_was_lost_is_no_draft_once_it_is_there(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT])
    apps.choose("wide")
    expect(apps.editor()).to_contain_text("10 sec", timeout=NEWS_MS)
    apps.write(CHANGED)
    apps.answers.loses_answers = True
    apps.press("Save")
    apps.expect_said("app-saved", "Saved as version 2.")
    expect(apps.mark("wide")).to_be_hidden(timeout=NEWS_MS)
    assert apps.answers.apps["wide"].texts == [TEXT, CHANGED]


def test_two_who_save_the_same_app_lose_nothing(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT])
    apps.choose("wide")
    expect(apps.editor()).to_contain_text("10 sec", timeout=NEWS_MS)
    apps.write(CHANGED)
    theirs = TEXT.replace("10 sec", "30 sec")
    apps.answers.apps["wide"].texts.append(theirs)
    apps.press("Save")
    apps.expect_said("app-saved", "wide is at version 2 by now. Your text is kept in this browser.")
    assert apps.text() == CHANGED
    apps.press("Save mine on top")
    apps.expect_said("app-saved", "Saved as version 3.")
    assert apps.answers.apps["wide"].texts == [TEXT, theirs, CHANGED]


def test_what_publishing_does_is_said_before(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT], "running", 1)
    apps.choose("wide")
    expect(apps.editor()).to_contain_text("10 sec", timeout=NEWS_MS)
    apps.write(CHANGED)
    apps.press("Publish…")
    publishing = apps.watched.part("app-publish")
    expect(publishing).to_contain_text("Version 2 takes over from version 1 at one place", timeout=NEWS_MS)
    expect(publishing).to_contain_text("Keeps the state of: means.")
    expect(publishing).to_contain_text("Begins empty: peaks.")
    expect(publishing.locator(".cm-deletedChunk")).to_contain_text("10 sec")
    assert apps.answers.apps["wide"].published == 1
    publishing.get_by_label("begin empty").check()
    publishing.get_by_role("button", name="Publish", exact=True).click()
    apps.expect_said("app-said", "Version 2 is published.")
    assert apps.answers.apps["wide"].published == 2


def test_an_app_begins_with_a_savepoint_that_was_kept_on_the_page(apps: Apps) -> None:
    apps.answers.apps["wide"] = wide = AnsweredApp([TEXT], "running", 1)
    apps.choose("wide")
    apps.press("Savepoint")
    apps.expect_said("app-said", "Kept as 2026-11-30 08:15:00 UTC (4,096 bytes)")
    apps.press("Publish…")
    publishing = apps.watched.part("app-publish")
    expect(publishing).to_contain_text("Version 1 runs already", timeout=NEWS_MS)
    expect(publishing.get_by_role("group", name="Regions")).to_be_hidden()
    publishing.get_by_label("begin with what it had kept at").check()
    publishing.get_by_role("button", name="Publish", exact=True).click()
    apps.expect_said("app-said", "Version 1 is published.")
    assert wide.orders == [{"version": 1, "state": "keep", "savepoint": SAVEPOINT}]


def test_an_app_is_published_in_some_regions(apps: Apps) -> None:
    regions = json.dumps({"regions": [{"name": name} for name in ("us", "eu", "jp")]})
    apps.page.route("**/api/regions", lambda route: route.fulfill(body=regions, content_type="application/json"))
    apps.answers.apps["wide"] = wide = AnsweredApp([TEXT])
    apps.choose("wide")
    apps.expect_said("app-verdict", "No mistakes")
    apps.press("Publish…")
    chosen = apps.watched.part("app-publish").get_by_role("group", name="Regions")
    for name in ("us", "eu", "jp"):
        chosen.get_by_label(name).uncheck(timeout=NEWS_MS)
    publish = apps.watched.part("app-publish").get_by_role("button", name="Publish", exact=True)
    publish.click()
    expect(apps.watched.part("app-publish").get_by_role("alert")).to_have_text("Choose at least one region.")
    chosen.get_by_label("eu").check()
    publish.click()
    apps.expect_said("app-said", "Version 1 is published.")
    assert wide.orders == [{"version": 1, "regions": ["eu"]}]


def test_an_app_says_what_it_set_and_which_rows_did_nothing(apps: Apps) -> None:
    standing = [
        {"setting": "disabled_assets", "key": "ETH", "since": AT},
        {"setting": "pair_thresholds", "key": "kraken>bitflyer", "value": 12.5, "since": AT},
    ]
    reason = "more actions of its kind within a minute than per_minute allows"
    left_out = [{"reason": reason, "actions": 7, "last": "app.notice notice", "last_at": AT}]
    acting = AnsweredApp([TEXT], "running", 1, actions={"standing": standing, "left_out": left_out})
    apps.answers.apps["wide"] = acting
    apps.choose("wide")
    apps.expect_said("app-standing", "ETH is paused since")
    apps.expect_said("app-standing", "Kraken → bitFlyer trades from 12.5 bps")
    apps.expect_said("app-left-out", f"7 because {reason} (last: app.notice notice")
    acting.state = "stopped"
    apps.answers.left = [{**standing[0], "app": "gone"}]
    apps.expect_said("app-left", "gone: ETH is paused since")
    apps.expect_said("app-standing", "a person does on Bots & thresholds")


def test_rows_are_followed_held_filtered_drawn_and_put_in(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT], "running", 1)
    apps.answers.add_row("wide", "Means", symbol="BTC/USD", mean=1.5)
    apps.answers.add_row("wide", "Means", symbol="ETH/USD", mean=2.5)
    apps.choose("wide")
    apps.expect_said("app-verdict", "No mistakes")
    apps.tab("Rows")
    rows = apps.watched.part("app-rows")
    apps.watched.part("app-stream").select_option("Means")
    expect(rows.locator("tbody tr")).to_have_count(2, timeout=NEWS_MS)
    apps.page.get_by_role("searchbox", name="Filter rows").fill("eth")
    expect(rows.locator("tbody tr")).to_have_count(1)
    apps.page.get_by_role("searchbox", name="Filter rows").fill("")
    rows.get_by_label("Column of the chart").select_option("mean")
    expect(apps.page.get_by_role("img", name="mean over time").locator("canvas")).to_be_visible(timeout=NEWS_MS)
    apps.press("Pause")
    apps.answers.add_row("wide", "Means", symbol="SOL/USD", mean=3.5)
    apps.press("Go on")
    expect(rows.locator("tbody tr")).to_have_count(3, timeout=NEWS_MS)
    apps.watched.part("app-stream").select_option("Orders")
    rows.get_by_text("Put a row in by hand").click()
    rows.get_by_label("symbol string").fill("BTC")
    rows.get_by_label("amount int").fill("four")
    apps.press("Put the row in")
    apps.expect_said("app-injected", "amount: a whole number is expected.")
    rows.get_by_label("amount int").fill("4")
    apps.press("Put the row in")
    apps.expect_said("app-injected", "Put into Orders.")
    apps.watched.part("app-csv").fill('amount,symbol\n5,"A,B"\n,ETH')
    apps.press("Put the lines in")
    apps.expect_said("app-injected", "2 of 2 rows put into Orders.")
    typed = [{"symbol": "BTC", "amount": 4}, {"symbol": "A,B", "amount": 5}, {"symbol": "ETH", "amount": None}]
    assert apps.answers.apps["wide"].injected == [("Orders", values) for values in typed]


def test_a_stream_is_shown_on_live_until_it_is_removed(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT], "running", 1)
    apps.answers.add_row("wide", "Means", symbol="BTC/USD", mean=1.5)
    apps.answers.add_row("wide", "Means", symbol="ETH/USD", mean=2.5)
    apps.choose("wide")
    apps.tab("Rows")
    expect(apps.watched.part("app-rows").locator("tbody tr")).to_have_count(2, timeout=NEWS_MS)
    apps.page.get_by_label("Column of the chart").select_option("mean")
    apps.page.get_by_label("show on Live").check()
    apps.watched.go("Live")
    shown = apps.page.get_by_role("region", name="Means of the app wide")
    expect(shown.locator("tbody tr")).to_have_count(2, timeout=PAINT_MS)
    expect(shown.get_by_role("img", name="mean over time")).to_be_visible(timeout=NEWS_MS)
    apps.answers.add_row("wide", "Means", symbol="SOL/USD", mean=3.5)
    expect(shown.locator("tbody tr").first).to_contain_text("SOL/USD", timeout=NEWS_MS)
    apps.press("Remove Means of wide")
    expect(shown).to_have_count(0)


def test_cases_run_on_every_check(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT])
    apps.choose("wide")
    apps.expect_said("app-verdict", "No mistakes")
    apps.tab("Cases")
    apps.watched.part("app-cases").fill('{"id": "it passes"}\n{"id": "it fails"}')
    apps.expect_said("app-cases-verdict", "1 of 2 cases as expected")
    apps.tab("Text")
    apps.expect_said("app-verdict", "No mistakes; 1 of 2 cases fails")


def test_a_question_is_asked_and_remembered(apps: Apps) -> None:
    apps.answers.apps["wide"] = AnsweredApp([TEXT], "running", 1)
    apps.choose("wide")
    apps.tab("Query")
    apps.page.get_by_role("textbox", name="Query", exact=True).click()
    apps.page.keyboard.insert_text("from Prices select symbol, price")
    apps.page.keyboard.press("Control+Enter")
    apps.expect_said("app-answer", "1 row, as of 2023-11-14 22:13:20.000 UTC, offset 7.")
    expect(apps.page.get_by_role("region", name="Answer")).to_contain_text("BTC1.5")
    expect(apps.page.get_by_label("Queries asked before").locator("option")).to_have_count(2)


def second(number: int) -> int:
    return 1_700_000_000_000_000 + number * 1_000_000


def test_a_dry_run_says_which_rows_and_when(apps: Apps) -> None:
    values = {"exchange": "alpha", "symbol": "BTC/USD", "mean": 1.5}
    row = {"id": "a", "time": second(0), "stream": "Means", "values": values}
    apps.answers.dry_runs["1"] = {
        "state": "done",
        "streams": [{"name": "Means", "rows": 1}],
        "minutes": [{"at": 1_700_000_000_000_000, "rows": 1}, {"at": 1_700_000_060_000_000, "rows": 0}],
        "rows": [row],
        "prices": [
            {"exchange": "beta", "symbol": "BTC/EUR", "points": [[second(0), 1.0], [second(9), 2.0]]},
            {"exchange": "alpha", "symbol": "BTC/USD", "points": [[second(-5), 70.0], [second(5), 71.0]]},
            {"exchange": "alpha", "symbol": "ETH/USD", "points": [[second(-5), 7.0]]},
        ],
        "cpu_seconds": 0.25,
        "state_bytes": 2048,
        "only_here": [row],
        "only_there": [],
    }
    apps.answers.apps["wide"] = AnsweredApp([TEXT], "running", 1)
    apps.choose("wide")
    expect(apps.editor()).to_contain_text("10 sec", timeout=NEWS_MS)
    apps.tab("Dry run")
    offered = apps.watched.part("app-dry-source").locator("option")
    expect(offered.filter(has_text="2023-11-14 22:13 to 22:23, yesterday")).to_be_attached(timeout=NEWS_MS)
    expect(offered.filter(has_text="yesterday")).to_have_count(1)
    apps.page.get_by_label("compare with the published version").check()
    apps.press("Dry run")
    apps.expect_said("app-dry-said", "1 row.")
    asked: Any = apps.answers.dry_runs["1"]["asked"]
    assert asked == {"text": TEXT, "name": "wide", "source": {"minutes": 10}, "against": "wide"}
    panel = apps.watched.part("app-dry-run")
    expect(panel).to_contain_text("2 KiB")
    expect(panel.get_by_role("img", name="Rows a minute, at most 1")).to_be_visible()
    # the market that the row names comes first, and the row lies on its prices alone
    expect(panel.get_by_role("img", name="BTC/USD on alpha with 1 row over time")).to_be_visible()
    expect(panel.locator("canvas")).to_have_count(1)
    panel.get_by_label("Prices of").select_option(label="BTC/EUR beta")
    expect(panel.get_by_role("img", name="BTC/EUR on beta with 0 rows over time")).to_be_visible()
    expect(panel.get_by_label("Prices of").locator("option")).to_have_count(2)
    expect(panel.get_by_role("region", name="Rows of this text alone")).to_contain_text("BTC/USD")
    expect(panel.get_by_role("region", name="Rows of the published version alone")).to_contain_text("None.")


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_tab_on_a_phone_fits_and_is_accessible(
    chromium: Browser, served_dashboard: Served, scheme: Scheme
) -> None:
    answers = AppAnswers(apps={"wide": AnsweredApp([TEXT, CHANGED], "running", 1)})
    with opened(chromium, served_dashboard, width=390, scheme=scheme, path="apps", prepare=answers.serve) as watched:
        made = Apps(watched, answers)
        made.choose("wide")
        made.expect_said("app-verdict", "No mistakes")
        for name in ("Text", "Cases", "Picture", "Rows", "Query", "Errors", "Dry run", "Versions"):
            made.tab(name)
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
            assert grave_violations(watched.page) == []
        assert watched.hosts == {"127.0.0.1"}
        assert watched.complaints == []


def test_the_service_itself_checks_stores_compares_and_deletes(chromium: Browser, served_dashboard: Served) -> None:
    """Nothing stands in for the server here; running an app is tested where its host is."""
    key = ensure_api_key(served_dashboard.session.home).read_text().strip()
    with opened(chromium, served_dashboard, path="apps") as watched:
        made = Apps(watched, AppAnswers())
        watched.page.get_by_role("textbox", name="API key").fill(key)
        made.press("Sign in")
        expect(watched.page.get_by_text("Signed in as owner")).to_be_visible(timeout=PAINT_MS)
        made.press("stale-feed")
        made.press("Create")
        expect(watched.part("app-verdict")).to_have_text("No mistakes; 2 cases as expected", timeout=PAINT_MS)
        made.press("Save")
        made.expect_said("app-saved", "Saved as version 1.")
        made.write(made.text().replace("for 3 sec\n", "for 5 sec\n"))
        made.expect_said("app-verdict", "No mistakes; 2 of 2 cases fail")
        made.press("Save")
        made.expect_said("app-saved", "Saved as version 2.")
        made.tab("Versions")
        made.press("Compare version 1")
        expect(watched.part("app-versions").locator(".cm-deletedChunk")).to_contain_text("for 3 sec", timeout=NEWS_MS)
        made.press("Delete…")
        made.press("Delete it")
        expect(watched.page.locator('[data-app="stale-feed"]')).to_have_count(0, timeout=NEWS_MS)
        assert watched.complaints == []
